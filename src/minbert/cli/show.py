"""minbert show: a resolved recipe and its parameter counts."""

import json
from typing import TYPE_CHECKING, Any

import typer

from minbert.cli.console import stderr, text_table
from minbert.cli.options import JsonOption, RecipeArgument, SetOption, ShapeOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from minbert.config.recipe import Recipe


def show(
    recipe: RecipeArgument, set_: SetOption = None, shape: ShapeOption = None, as_json: JsonOption = False
) -> None:
    """Show a recipe with all defaults filled in, and its parameter counts.

    Example: minbert show baseline --set tasks.sst.pooling=cls --shape base
    """
    import tomli_w

    from minbert.config.loading import read_recipe
    from minbert.encoder.bert import CONFIGS
    from minbert.encoder.hub import find_backbone
    from minbert.encoder.pretrained import read_config
    from minbert.training.prepare import parameter_counts

    chosen = read_recipe(recipe, set_ or [])
    resolved = resolved_with_tasks(chosen)
    config = CONFIGS[shape] if shape else read_config(find_backbone(chosen.backbone))[0]
    counts = parameter_counts(chosen, config)
    if as_json:
        typer.echo(json.dumps({"recipe": resolved, **counts}, indent=2))
        return
    typer.echo(tomli_w.dumps(resolved))
    # on standard error, so that `minbert show X > x.toml` writes a recipe
    stderr.print(parameter_table(counts))


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
