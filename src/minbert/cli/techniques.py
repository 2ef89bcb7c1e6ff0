"""minbert techniques: what a recipe may say."""

import json
from typing import Annotated

import typer

from minbert.cli.console import console, plain, table
from minbert.cli.options import AsJson
from minbert.errors import UserError, did_you_mean


def techniques(
    family: Annotated[str | None, typer.Argument(help="Only these: pairing, head, sampler, ...")] = None,
    as_json: AsJson = False,
) -> None:
    """List every technique with its settings and their defaults; docs/techniques.md has formulas and sources.

    Example: minbert techniques balancer
    """
    from minbert.training.registry import FAMILIES, list_techniques

    if family is not None and family not in FAMILIES:
        raise UserError(f"There is no family '{family}'. {did_you_mean(family, FAMILIES)}")
    found = [each for each in list_techniques() if family in (None, each.family)]
    if as_json:
        typer.echo(json.dumps([vars(each) for each in found], indent=2))
        return
    shown = table("family", "name", "settings", "what it does")
    last = ""
    for each in found:
        settings = ", ".join(f"{key} = {plain(default)}" for key, default in each.settings.items())
        shown.add_row(each.family if each.family != last else "", f"[bold]{each.name}[/]", settings, plain(each.about))
        last = each.family
    console.print(shown)
