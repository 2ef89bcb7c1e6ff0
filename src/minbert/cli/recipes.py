"""minbert recipes: the recipes that ship with minbert."""

from minbert.cli.console import console, escape_markup, show_hint, show_json, text_table
from minbert.cli.options import JsonOption


def recipes(as_json: JsonOption = False) -> None:
    """List the recipes that ship with minbert."""
    from minbert.config.loading import read_recipe, shipped_recipes

    found = {name: read_recipe(name) for name in shipped_recipes()}
    if as_json:
        show_json(
            [
                {"recipe": name, "tasks": list(recipe.tasks), "backbone": recipe.backbone, "about": recipe.about}
                for name, recipe in found.items()
            ]
        )
        return
    made = text_table("recipe", "tasks", "about", wrap=("about",))
    for name, recipe in found.items():
        made.add_row(f"[bold]{name}[/]", ", ".join(recipe.tasks), escape_markup(recipe.about))
    console.print(made)
    show_hint("\nShow one:   minbert show baseline\nTrain one:  minbert train baseline --out runs/baseline")
