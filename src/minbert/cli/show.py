"""minbert show: a resolved recipe and its parameter counts."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from minbert.cli.console import escape_markup, stderr, text_table
from minbert.cli.options import JsonOption, RecipeArgument, SetOption, ShapeOption
from minbert.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from minbert.config.recipe import Recipe
    from minbert.encoder.bert import BertConfig


def show(
    recipe: RecipeArgument, set_: SetOption = None, shape: ShapeOption = None, as_json: JsonOption = False
) -> None:
    """Show a recipe with all defaults filled in, and its parameter counts.

    RECIPE may also be the last part of a shipped name (hybrid), or a row of a report (e13; see docs/recipes.md).

    Example: minbert show baseline --set tasks.sst.pooling=cls --shape base
    """
    import tomli_w

    from minbert.config.loading import read_recipe
    from minbert.encoder.bert import CONFIGS
    from minbert.encoder.hub import find_backbone, find_local, known_config
    from minbert.encoder.pretrained import read_config
    from minbert.training.prepare import parameter_counts

    chosen = read_recipe(recipe_of_row(recipe), set_ or [])
    # the sizes of a built-in backbone are known without downloading it
    local = None if shape else find_local(chosen.backbone)
    config = CONFIGS[shape] if shape else None if local else known_config(chosen.backbone)
    if config is None:
        config = read_config(local or find_backbone(chosen.backbone))[0]
    chosen = with_settings_for_data(chosen, config)
    resolved = resolved_with_tasks(chosen)
    counts = parameter_counts(chosen, config)
    if as_json:
        typer.echo(json.dumps({"recipe": resolved, **counts}, indent=2))
        return
    typer.echo(tomli_w.dumps(resolved))
    # on standard error, so that `minbert show X > x.toml` writes a recipe
    stderr.print(parameter_table(counts))
    if chosen.deviations:
        stderr.print("\nWhere it departs from its source, or fills in what the source leaves open:", style="bold")
        for topic, sentence in chosen.deviations.items():
            stderr.print(f"- {escape_markup(topic)}: {escape_markup(sentence)}")


def recipe_of_row(name: str) -> str:
    """The recipe of a row of the reports' tables by its id; any other name as it is."""
    from minbert.comparison.published import read_published

    rows = {row.id: row for report in read_published().values() for row in (*report.rows, *report.extras)}
    if name not in rows or Path(name).is_file():
        return name
    # a row that is composed of others has no recipes of its own
    parts = sorted({*rows[name].models.values()} or {*rows[name].compose.values()})
    if len(parts) > 1:
        raise UserError(f"Row {name} has several recipes.", f"Show one of them: {', '.join(parts)}.")
    return recipe_of_row(parts[0])


def with_settings_for_data(recipe: "Recipe", config: "BertConfig") -> "Recipe":
    """A recipe without stages as it would be trained; where its data cannot be read, for assumed sizes."""
    from minbert.data.source import DEFAULT_SOURCE
    from minbert.training.auto import ASSUMED_ROWS, choose_settings
    from minbert.training.prepare import read_data

    if recipe.stages:
        return recipe
    tasks = recipe.read_tasks()
    try:
        data = read_data(recipe, DEFAULT_SOURCE)
    except UserError as wrong:
        # the whole message is that of `minbert check`
        why = escape_markup(wrong.problem.splitlines()[0])
        stderr.print(f"The data cannot be read: {why}", style="dim")
        stderr.print(f"So settings are chosen for {ASSUMED_ROWS:,} rows per task.", style="dim")
        return choose_settings(recipe, tasks, config)
    return choose_settings(recipe, data.tasks, config, {name: len(rows) for name, rows in data.train.items()})


def resolved_with_tasks(recipe: "Recipe") -> dict[str, Any]:
    """The resolved recipe, with the task files that it names."""
    from minbert.training.resolve import resolve_recipe

    resolved = resolve_recipe(recipe, recipe.read_tasks())
    for name, plan in recipe.tasks.items():
        # a standard task is found by its name alone
        resolved["tasks"][name] |= {"task": plan.task} if plan.task else {}
    return resolved


def parameter_table(counts: "Mapping[str, Any]") -> "Table":
    made = text_table("parameters", "count", right=("count",))
    made.add_row("encoder", f"{counts['encoder']:,}")
    for name, count in counts["tasks"].items():
        labels = "" if count["labels_known"] else " (assuming two labels; the data decides)"
        adapters = f", including {count['adapters']:,} in adapters" if count["adapters"] else ""
        made.add_row(f"{name} only{labels}{adapters}", f"{count['own']:,}")
    for name, count in counts["shared"].items():
        made.add_row(f"{name} (shared by tasks)", f"{count:,}")
    made.add_row("[bold]total[/]", f"[bold]{counts['total']:,}[/]")
    for i, trainable in enumerate(counts["stages"]):
        made.add_row(f"trainable in stage {i}", f"{trainable:,}")
    return made
