"""What `train`, `check` and `init` are given -> a recipe: data files, or a recipe file, or the name of a recipe."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minbert.cli.console import console, escape_markup
from minbert.errors import UserError, short_path
from minbert.plural import plural

if TYPE_CHECKING:
    from minbert.config.recipe import Recipe
    from minbert.data.infer_task import ColumnChoice, FoundData, FoundTask


@dataclass(frozen=True)
class DataFlags:
    """The options that say what is in data files."""

    text: Sequence[str] | None = None
    label: Sequence[str] | None = None
    kind: str | None = None
    task: str | None = None
    # a recipe whose settings are used for the tasks of the files
    recipe: str | None = None
    metric: str | None = None
    max_length: int | None = None
    keep_na: bool = False

    def given(self) -> list[str]:
        return [f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value]

    @property
    def columns(self) -> "ColumnChoice":
        from minbert.data.infer_task import ColumnChoice

        text = tuple(name for each in self.text or () for name in split_names(each))
        return ColumnChoice(text, tuple(self.label or ()), self.kind or "", self.task or "", self.keep_na)


def choose_recipe(
    given: Sequence[str],
    flags: DataFlags,
    overrides: Sequence[str] = (),
    *,
    stdin_for: Path | None = None,
    quiet: bool = False,
) -> "Recipe":
    """The recipe that was named, or one for the tasks of the data files that were named, which are shown.

    `stdin_for`: the run, beside which standard input is kept, because runs read their files again.
    """
    from minbert.config.loading import read_recipe, recipe_from_files

    if not are_data_files(given):
        if flags.given():
            raise UserError(
                f"Only data files have {' and '.join(flags.given())}; '{given[0]}' is a recipe.",
                "Name data files (csv, tsv, jsonl, json, parquet, xlsx), or write the setting into the task.",
            )
        return read_recipe(given[0], overrides)
    found = find_tasks(given, flags, stdin_for and stdin_for.with_name(f"{stdin_for.name}-stdin"))
    if not quiet:
        show_found(found)
    tasks = {task.name: {"task": task.settings} for data in found for task in data.tasks}
    return recipe_from_files(tasks, ", ".join(given), flags.recipe, overrides)


def are_data_files(given: Sequence[str]) -> bool:
    """Whether these are data files; else it is one recipe."""
    data = [is_data_file(each) for each in given]
    if all(data):
        return True
    if any(data):
        raise UserError(
            f"'{given[data.index(False)]}' is not a data file.",
            "Name data files only; to train them with the settings of a recipe, use --recipe NAME.",
        )
    if len(given) > 1:
        raise UserError(f"One recipe at a time: {', '.join(given)}.", "`minbert compare` trains several.")
    return False


def is_data_file(given: str) -> bool:
    from minbert.data.readers import format_of

    if given == "-":
        return True
    path = Path(given)
    if path.suffix.lower() == ".toml" or not (path.suffix or path.is_file()):
        return False
    try:
        format_of(path)
    except UserError:
        # names of recipes have dots too; a file that is there is meant as data
        if path.is_file():
            raise
        return False
    return True


def find_tasks(given: Sequence[str], flags: DataFlags, stdin_copy: Path | None) -> "list[FoundData]":
    from minbert.data.infer_task import infer_tasks
    from minbert.data.standard_input import store_standard_input

    if list(given).count("-") > 1:
        raise UserError("Standard input can be read once.", "Name '-' once.")
    paths = [store_standard_input(sys.stdin.buffer, stdin_copy) if each == "-" else Path(each) for each in given]
    found = infer_tasks(paths, flags.columns)
    set_metric([task for data in found for task in data.tasks], flags.metric)
    if flags.max_length is not None:
        for task in (task for data in found for task in data.tasks):
            task.settings["max_length"], task.reasons["max_length"] = flags.max_length, "named by --max-length"
    return found


def set_metric(tasks: "Sequence[FoundTask]", metric: str | None) -> None:
    """--metric for the tasks that have it; the others keep their own."""
    from minbert.config.task import TASK_METRICS

    if metric is None:
        return
    fitting = [task for task in tasks if metric in TASK_METRICS[task.settings["kind"]]]
    if not fitting:
        kinds = dict.fromkeys(task.settings["kind"] for task in tasks)
        known = "; ".join(f"kind {kind}: {', '.join(TASK_METRICS[kind])}" for kind in kinds)
        raise UserError(f"--metric {metric}: no task has this metric.", f"Choose one of: {known}.")
    for task in fitting:
        task.settings["metric"], task.reasons["metric"] = metric, "named by --metric"


def split_names(given: str) -> list[str]:
    """--text a,b is short for --text a --text b."""
    return [name.strip() for name in given.split(",")]


def show_found(found: "Sequence[FoundData]", in_memory: Mapping[Path, str] | None = None) -> None:
    """Every file, its tasks, and the reasons. `in_memory`: files of what was given in memory, and what to call it."""
    in_memory = in_memory or {}
    for data in found:
        for role, profile in data.profiles.items():
            where, rows = f"[bold]{escape_markup(short_path(profile.path))}[/] ({role})", plural(profile.rows, "row")
            if profile.path in in_memory:
                where = f"[bold]{escape_markup(in_memory[profile.path])}[/]"
            else:
                rows = f"{rows}, {escape_markup(profile.description)}"
            console.print(f"{where}: {rows}")
        for task in data.tasks:
            console.print(f"  task [bold]{escape_markup(task.name)}[/]")
            for line in reason_lines(task):
                console.print(f"    {escape_markup(line)}")
        for warning in data.warnings:
            console.print(f"  [yellow]warning:[/] {escape_markup(warning)}")
        for note in data.notes:
            console.print(f"  {escape_markup(note)}", style="dim")


def reason_lines(task: "FoundTask") -> list[str]:
    """What was found and why: "text = review: the longest texts"."""
    return [f"{setting} = {shown(task.settings[setting])}: {why}" for setting, why in task.reasons.items()]


def shown(value: Any, most: int = 8) -> str:
    if not isinstance(value, list):
        return str(value)
    cut = f", ... ({len(value)} of them)" if len(value) > most else ""
    return ", ".join(shown_value(each) for each in value[:most]) + cut


def shown_value(value: Any) -> str:
    """As predictions show it: true, not Python's True."""
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
