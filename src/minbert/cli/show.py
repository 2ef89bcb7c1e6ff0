"""minbert show: a recipe as resolved, with what it costs."""

import json
from typing import Annotated, Literal

import typer

from minbert.cli.console import errors, table
from minbert.cli.options import AsJson, RecipeName, Set


def show(
    recipe: RecipeName,
    set_: Set = None,
    shape: Annotated[
        Literal["base", "large", "minilm"] | None,
        typer.Option(help="Count for an encoder of this size, whose weights need not be here.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a recipe with every default written out, and its parameter counts.

    Example: minbert show baseline --set tasks.sst.pooling=cls --shape base
    """
    import tomli_w

    from minbert.config.loading import read_recipe
    from minbert.encoder.bert import CONFIGS
    from minbert.encoder.hub import find_backbone
    from minbert.encoder.pretrained import read_config
    from minbert.training.prepare import parameter_counts
    from minbert.training.resolve import resolve_recipe

    chosen = read_recipe(recipe, set_ or [])
    full = resolve_recipe(chosen, chosen.read_tasks())
    for name, plan in chosen.tasks.items():
        # how it is learned comes first, where it is described last; a name alone needs no telling
        full["tasks"][name] |= {"task": plan.task} if plan.task else {}
    size = CONFIGS[shape] if shape else read_config(find_backbone(chosen.backbone))[0]
    counts = parameter_counts(chosen, size)
    if as_json:
        typer.echo(json.dumps({"recipe": full, **counts}, indent=2))
        return
    typer.echo(tomli_w.dumps(full))
    shown = table("parameters", "count", right=("count",))
    shown.add_row("encoder", f"{counts['encoder']:,}")
    for name, count in counts["tasks"].items():
        unknown = "" if count["labels_known"] else " (as if for two labels: the data will tell)"
        adapters = f", adapters {count['adapters']:,} of them" if count["adapters"] else ""
        shown.add_row(f"{name}: its own{unknown}{adapters}", f"{count['own']:,}")
    for name, count in counts["shared"].items():
        shown.add_row(f"{name}: shared by tasks", f"{count:,}")
    shown.add_row("[bold]total[/]", f"[bold]{counts['total']:,}[/]")
    for i, trainable in enumerate(counts["stages"]):
        shown.add_row(f"trainable in stage {i}", f"{trainable:,}")
    errors.print(shown)  # so that `minbert show X > x.toml` is a recipe
