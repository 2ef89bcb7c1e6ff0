"""minbert recipes: what can be trained by name."""

from minbert.cli.console import console, plain, table


def recipes() -> None:
    """List the recipes that ship with minbert."""
    from minbert.config.loading import read_recipe, shipped_recipes

    shown = table("recipe", "tasks", "about")
    for name in shipped_recipes():
        recipe = read_recipe(name)
        shown.add_row(f"[bold]{name}[/]", ", ".join(recipe.tasks), plain(recipe.about))
    console.print(shown)
    console.print(
        "\nLook at one:  minbert show baseline      Use one:  minbert train baseline --out runs/baseline",
        style="dim",
    )
