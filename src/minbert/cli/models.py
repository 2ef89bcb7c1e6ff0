"""minbert models: the backbones known by name."""

from minbert.cli.screen import console, table


def models() -> None:
    """List the backbones that have a short name, and whether they are on this machine."""
    from minbert.hub import KNOWN, find_nearby

    shown = table(
        "backbone",
        "layers",
        "width",
        "parameters",
        "here",
        "hub",
        "about",
        right=("layers", "width", "parameters"),
    )
    for known in KNOWN.values():
        here = "[green]yes[/]" if find_nearby(known.name) else "no"
        shown.add_row(
            f"[bold]{known.name}[/]",
            str(known.layers),
            str(known.width),
            known.parameters,
            here,
            known.hub,
            known.about,
        )
    console.print(shown)
    console.print(
        "\nAny other BERT works by its hub id or its folder. MINBERT_MODELS names folders to look in first.",
        style="dim",
    )
