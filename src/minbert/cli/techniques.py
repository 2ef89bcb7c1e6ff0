"""minbert techniques: what a recipe can choose from."""

import json

import typer

from minbert.cli.console import console, escape_markup, text_table
from minbert.cli.options import FamilyArgument, JsonOption
from minbert.errors import UserError, did_you_mean


def techniques(family: FamilyArgument = None, as_json: JsonOption = False) -> None:
    """List all techniques with their settings and defaults.

    Formulas and sources are in docs/techniques.md.

    Example: minbert techniques balancer
    """
    from minbert.training.registry import FAMILIES, list_techniques

    if family is not None and family not in FAMILIES:
        raise UserError(f"There is no family '{family}'. {did_you_mean(family, FAMILIES)}")
    found = [each for each in list_techniques() if family in (None, each.family)]
    if as_json:
        typer.echo(json.dumps([vars(each) for each in found], indent=2))
        return
    made = text_table("family", "name", "settings", "description")
    last = ""
    for each in found:
        settings = ", ".join(f"{key} = {escape_markup(default)}" for key, default in each.settings.items())
        about = escape_markup(each.about)
        made.add_row(each.family if each.family != last else "", f"[bold]{each.name}[/]", settings, about)
        last = each.family
    console.print(made)
