"""The command `minbert`: one thin file per command. Each command imports heavy modules only when it runs."""

import importlib
import inspect
import io
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

import typer
import typer.core

from minbert.errors import UserError


class CommandGroup(typer.core.TyperGroup):
    """All commands; usage errors are shown without the words that pydantic adds."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as wrong:
            if isinstance(getattr(wrong, "message", None), str):
                wrong.message = wrong.message.replace("Value error, ", "")  # type: ignore[attr-defined]
            if isinstance(getattr(wrong, "option_name", None), str):
                explain_unknown_option(wrong)
            raise


class PlainCommand(typer.core.TyperCommand):
    """A command whose help names no type for flags: they take no value."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        for each in params:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return params


def explain_unknown_option(wrong: Any) -> None:
    """--lr 3e-5 is a setting of a recipe: the message of click gets the --set that means it."""
    from minbert.config.other_names import setting_path

    path = setting_path(wrong.option_name.lstrip("-").replace("-", "_"), first_stage="")
    options = {option for each in wrong.ctx.command.params for option in each.opts} if wrong.ctx else set()
    if not path or "--set" not in options:
        return
    at = sys.argv.index(wrong.option_name) if wrong.option_name in sys.argv[:-1] else -1
    value = sys.argv[at + 1] if at >= 0 and not sys.argv[at + 1].startswith("-") else "..."
    wrong.possibilities = []
    wrong.message = f"{wrong.message} Write --set {path}={value}"


app = typer.Typer(
    name="minbert",
    cls=CommandGroup,
    help="One small BERT, many sentence tasks.\n\nTrain one model on all your labeled sentence tasks: choose a recipe, "
    "train, predict. Start with `minbert demo`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

TRAIN_PANEL = "Train and compare"
PREDICT_PANEL = "Predict and evaluate"
LIST_PANEL = "Look up"
# command: panel of --help; the module of the same name defines a function of the same name
COMMANDS = {
    "demo": TRAIN_PANEL,
    "init": TRAIN_PANEL,
    "check": TRAIN_PANEL,
    "train": TRAIN_PANEL,
    "resume": TRAIN_PANEL,
    "ensemble": TRAIN_PANEL,
    "soup": TRAIN_PANEL,
    "tune": TRAIN_PANEL,
    "compare": TRAIN_PANEL,
    "significance": TRAIN_PANEL,
    "reproduce": TRAIN_PANEL,
    "evaluate": PREDICT_PANEL,
    "predict": PREDICT_PANEL,
    "embed": PREDICT_PANEL,
    "report": PREDICT_PANEL,
    "runs": LIST_PANEL,
    "recipes": LIST_PANEL,
    "techniques": LIST_PANEL,
    "show": LIST_PANEL,
    "tasks": LIST_PANEL,
    "models": LIST_PANEL,
}


def help_text(function: Callable[..., None]) -> str:
    """The docstring with one line per paragraph, so that it wraps at any width; indented lines stay as they are."""
    return re.sub(r"(?<!\n)\n(?=\S)", " ", inspect.getdoc(function) or "")


for name, panel in COMMANDS.items():
    function: Callable[..., None] = getattr(importlib.import_module(f"minbert.cli.{name}"), name)
    app.command(name, cls=PlainCommand, rich_help_panel=panel, help=help_text(function))(function)


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
    """Run the command line. A UserError becomes one message on standard error and exit code 2."""
    # like Ctrl-C: exit through the code that cleans up and records what happened
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr) if os.name == "nt" else ():
        if isinstance(stream, io.TextIOWrapper):
            # in files and pipes, Windows uses a code page that lacks many characters: print "?" instead of failing
            stream.reconfigure(errors="replace")
    try:
        app()
    except UserError as wrong:
        error = wrong
    except OSError as wrong:
        # an unreadable file, a full disk: the system's own message says what is wrong
        error = UserError(f"{wrong.filename or 'input/output'}: {wrong.strerror or wrong}.")
    else:
        return
    from minbert.cli.console import show_error

    show_error(error)
    sys.exit(2)
