"""minbert models: the backbones that have a short name."""

from dataclasses import asdict

from minbert.cli.console import console, show_hint, show_json, text_table
from minbert.cli.options import JsonOption


def models(as_json: JsonOption = False) -> None:
    """List the backbones that have a short name, and whether they are on this machine."""
    from minbert.encoder.hub import KNOWN, find_local

    local = {name: find_local(name) for name in KNOWN}
    if as_json:
        folders = {name: folder and str(folder) for name, folder in local.items()}
        show_json([asdict(known) | {"folder": folders[name]} for name, known in KNOWN.items()])
        return
    made = text_table(
        "backbone", "layers x width", "parameters", "local", "about", right=("parameters",), wrap=("about",)
    )
    for known in KNOWN.values():
        here = "[green]yes[/]" if local[known.name] else "no"
        about = f"{known.about}\n[dim]{known.hub}[/]"
        made.add_row(f"[bold]{known.name}[/]", f"{known.layers} x {known.width}", known.parameters, here, about)
    console.print(made)
    show_hint("\nAny other BERT works by its hub id or directory.\nMINBERT_MODELS lists directories that hold models.")
