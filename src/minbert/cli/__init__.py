"""The command `minbert`: one thin file a command. Heavy parts are imported by the command that needs them."""

import importlib
import io
import os
import signal
import sys
from collections.abc import Callable

import typer

from minbert.errors import UserError

app = typer.Typer(
    name="minbert",
    help="One small BERT, many sentence tasks.\n\nBring labelled sentences, name a recipe, get one model that "
    "answers all of them. Start with `minbert demo`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

LEARN = "Learn"
ANSWER = "Answer"
DISCOVER = "Discover"
# command: (panel of --help); the module of the same name defines a function of the same name
COMMANDS = {
    "demo": LEARN,
    "check": LEARN,
    "train": LEARN,
    "resume": LEARN,
    "ensemble": LEARN,
    "soup": LEARN,
    "compare": LEARN,
    "reproduce": LEARN,
    "evaluate": ANSWER,
    "predict": ANSWER,
    "embed": ANSWER,
    "report": ANSWER,
    "runs": DISCOVER,
    "recipes": DISCOVER,
    "techniques": DISCOVER,
    "show": DISCOVER,
    "tasks": DISCOVER,
    "models": DISCOVER,
}
for name, panel in COMMANDS.items():
    function: Callable[..., None] = getattr(importlib.import_module(f"minbert.cli.{name}"), name)
    app.command(name, rich_help_panel=panel)(function)


def version(value: bool) -> None:
    if value:
        from minbert import __version__

        typer.echo(f"minbert {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: bool = typer.Option(False, "--version", callback=version, is_eager=True, help="Show the version."),
) -> None:
    pass


def main() -> None:
    """Run the command line. A user's mistake is one message on standard error and exit code 2."""
    # as Ctrl-C does: leave through the code that tidies up and writes down what happened
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr) if os.name == "nt" else ():
        if isinstance(stream, io.TextIOWrapper):
            # into a file or a pipe, Windows writes in a code page that lacks many signs: a "?" is better than an end
            stream.reconfigure(errors="replace")
    try:
        app()
    except UserError as wrong:
        mistake = wrong
    except OSError as wrong:
        # a file that cannot be read or written, a full disk: the system's own words say what is wrong
        mistake = UserError(f"{wrong.filename or 'input/output'}: {wrong.strerror or wrong}.")
    else:
        return
    from minbert.cli.console import show_error

    show_error(mistake)
    sys.exit(2)
