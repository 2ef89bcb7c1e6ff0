"""minbert models: the backbones that have a short name."""

from minbert.cli.console import console, text_table


def models() -> None:
    """List the backbones that have a short name, and whether they are on this machine."""
    from minbert.encoder.hub import KNOWN, find_local

    made = text_table("backbone", "layers x width", "parameters", "local", "about", right=("parameters",))
    for known in KNOWN.values():
        local = "[green]yes[/]" if find_local(known.name) else "no"
        size = f"{known.layers} x {known.width}"
        about = f"{known.about}\n[dim]{known.hub}[/]"
        made.add_row(f"[bold]{known.name}[/]", size, known.parameters, local, about)
    console.print(made)
    console.print(
        "\nAny other BERT works by its hub id or directory; MINBERT_MODELS lists directories of models.",
        style="dim",
    )
