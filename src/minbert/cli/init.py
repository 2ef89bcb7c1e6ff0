"""minbert init: data files -> a recipe and a task file for each task, with comments, ready to edit."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from minbert.cli.console import console, shell_path, show_hint
from minbert.cli.data_files import DataFlags, are_data_files, find_tasks, show_found
from minbert.cli.options import (
    DataFilesArgument,
    ForceOption,
    InitOutOption,
    KeepNaOption,
    KindOption,
    LabelOption,
    MetricOption,
    TaskLengthOption,
    TaskNameOption,
    TextOption,
)
from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.data.infer_task import FoundTask

# what a task may have beside what was found
TASK_SETTINGS = {
    "metric": '# metric = "{metric}"',
    "max_length": "# max_length = 256          # tokens per example; `minbert check` shows how long the texts are",
}


def init(
    files: DataFilesArgument,
    out: InitOutOption,
    text: TextOption = None,
    label: LabelOption = None,
    kind: KindOption = None,
    keep_na: KeepNaOption = False,
    task: TaskNameOption = None,
    metric: MetricOption = None,
    max_length: TaskLengthOption = None,
    force: ForceOption = False,
) -> None:
    """Write a recipe and task files for your data files, without training.

    They have what `minbert train FILE...` would assume, with the reasons as comments. Edit them, then check and train
    the recipe.

    Example: minbert init reviews.csv --out stars
    """
    if not are_data_files(files):
        raise UserError(f"'{files[0]}' is not a data file.", "Name csv, tsv, jsonl, json, parquet or xlsx files.")
    if (out / "recipe.toml").exists() and not force:
        raise UserError(f"{out / 'recipe.toml'}: exists already.", "Name another --out, or replace it with --force.")
    flags = DataFlags(text, label, kind, task, metric=metric, max_length=max_length, keep_na=keep_na)
    found = find_tasks(files, flags, out / "stdin")
    tasks = [each for data in found for each in data.tasks]
    written = {out / "tasks" / f"{each.name}.toml": task_toml(each, out / "tasks") for each in tasks}
    written[out / "recipe.toml"] = recipe_toml(tasks, out)
    for path in written:
        if path.exists() and not force:
            raise UserError(f"{path}: exists already.", "Name another --out, or replace it with --force.")
    (out / "tasks").mkdir(parents=True, exist_ok=True)
    for path, content in written.items():
        path.write_text(content, encoding="utf-8")
    show_found(found)
    recipe = shell_path(out / "recipe.toml")
    console.print(f"Written: {', '.join(str(path) for path in written)}", markup=False)
    show_hint(f"Check it:  minbert check {recipe}")
    show_hint(f"Train it:  minbert train {recipe} --out runs/{shell_path(Path(out.resolve().name))}")


def task_toml(task: "FoundTask", folder: Path) -> str:
    """A task file: each setting below the reason for it."""
    import tomli_w

    lines = []
    for setting, value in task.settings.items():
        if setting == "files":
            continue
        if setting in task.reasons:
            lines.append(f"# {task.reasons[setting]}")
        lines.append(toml_line(setting, value))
    metrics = {"classify": "macro_f1", "score": "spearman"}
    lines += [
        line.format(metric=metrics[task.settings["kind"]])
        for setting, line in TASK_SETTINGS.items()
        if setting not in task.settings
    ]
    lines.append("")
    files = {role: relative_path(Path(path), folder) for role, path in task.settings["files"].items()}
    lines.append("# relative to this file\n" + tomli_w.dumps({"files": files}).rstrip())
    if "dev" not in files:
        lines.append(
            '# dev = "..."     # without it, a tenth of the training rows is held out (up to a fifth, with rare labels)'
        )
    return "\n".join(lines) + "\n"


def toml_line(setting: str, value: object) -> str:
    """A setting in one line, or in several if it is a long list."""
    import tomli_w

    whole = tomli_w.dumps({setting: value}).rstrip()
    if isinstance(value, list):
        items = [tomli_w.dumps({"item": item}).rstrip().removeprefix("item = ") for item in value]
        short = f"{setting} = [{', '.join(items)}]"
        return short if len(short) <= 100 else whole
    return whole


def recipe_toml(tasks: "list[FoundTask]", out: Path) -> str:
    import tomli_w

    lines = [
        "# One model for all tasks below. Settings that are not written here are chosen for the data.",
        f"# Check:  minbert check {out / 'recipe.toml'}",
        f"# Train:  minbert train {out / 'recipe.toml'} --out runs/{out.resolve().name}",
        "",
        '# backbone = "minilm"      # `minbert models` lists the others',
        "# seed = 0",
    ]
    named = {"tasks": {task.name: {"task": f"tasks/{task.name}.toml"} for task in tasks}}
    return "\n".join(lines) + "\n\n" + tomli_w.dumps(named)


def relative_path(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:
        # on another drive
        return str(path)
