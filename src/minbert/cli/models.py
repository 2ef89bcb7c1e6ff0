"""minbert models: the backbones known by name."""

from minbert.cli.console import console, table


def models() -> None:
    """List the backbones that have a short name, and whether they are on this machine."""
    from minbert.encoder.hub import KNOWN, find_local

    shown = table("backbone", "layers x width", "parameters", "here", "about", right=("parameters",))
    for known in KNOWN.values():
        here = "[green]yes[/]" if find_local(known.name) else "no"
        shape = f"{known.layers} x {known.width}"
        about = f"{known.about}\n[dim]{known.hub}[/]"
        shown.add_row(f"[bold]{known.name}[/]", shape, known.parameters, here, about)
    console.print(shown)
    console.print(
        "\nAny other BERT works by its hub id or folder; MINBERT_MODELS names folders of models.",
        style="dim",
    )
