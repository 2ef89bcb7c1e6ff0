"""minbert recipes: the recipes that ship with minbert."""

from minbert.cli.console import console, escape_markup, text_table


def recipes() -> None:
    """List the recipes that ship with minbert."""
    from minbert.config.loading import read_recipe, shipped_recipes

    made = text_table("recipe", "tasks", "about")
    for name in shipped_recipes():
        recipe = read_recipe(name)
        made.add_row(f"[bold]{name}[/]", ", ".join(recipe.tasks), escape_markup(recipe.about))
    console.print(made)
    console.print(
        "\nShow one:  minbert show baseline      Train one:  minbert train baseline --out runs/baseline",
        style="dim",
    )
