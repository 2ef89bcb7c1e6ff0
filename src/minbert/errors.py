"""Errors that a user can fix, each with its next step."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

# standard input is copied to a folder of this name, which means nothing to the user
STDIN_FOLDER = "minbert-stdin-"
STDIN_COPY = re.compile(rf"[^\s'\"]*{STDIN_FOLDER}\w+[/\\]stdin(\.\w+)+")

# of a long list, a message names these
MOST_KNOWN_NAMES = 24


class UserError(ValueError):
    """An error that the user can fix. The command line shows it without a traceback and exits with 2.

    A ValueError, as scikit-learn and pandas raise it for wrong input.
    """

    def __init__(self, problem: str, next_step: str = "") -> None:
        problem = STDIN_COPY.sub("standard input", problem)
        super().__init__(f"{problem}\n{next_step}" if next_step else problem)
        self.problem = problem
        self.next_step = next_step

    def __reduce__(self) -> tuple[type["UserError"], tuple[Any, ...]]:
        """Pickled when it comes from another process."""
        return UserError, (self.problem, self.next_step)

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines instead of a traceback."""
        return [f"UserError: {self}"]


def short_repr(value: object, most: int = 80) -> str:
    """A value for a message, as Python writes it; "..." shows that it is cut."""
    text = repr(value)
    # the quote or bracket at the end stays
    return text if len(text) <= most else f"{text[: most - 4]}...{text[-1]}"


def cut_text(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def short_path(path: Path) -> str:
    """A path for a message: relative to the working directory if it is below it."""
    if STDIN_COPY.fullmatch(str(path)):
        return "standard input"
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def missing_file(path: Path) -> UserError:
    """The error about a path that should be a file."""
    if path.is_dir():
        return UserError(f"{path}: a directory, not a file.", "Name a file in it.")
    near = closest(path.name, (each.name for each in path.parent.iterdir())) if path.parent.is_dir() else ""
    return UserError(f"{path}: no such file.", f"Did you mean {path.parent / near}?" if near else "")


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant; else nothing."""
    known = list(known)
    # another spelling of the same word is closer than any other word
    same = [each for each in known if each.lower() == word.lower()]
    return next(iter(same or get_close_matches(word, known, n=1)), "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that names the closest known word, or lists all of them."""
    known = sorted(known)
    close = closest(word, known)
    if close:
        return f"Did you mean '{close}'?"
    more = f" and {len(known) - MOST_KNOWN_NAMES} more" if len(known) > MOST_KNOWN_NAMES else ""
    return f"Known: {', '.join(known[:MOST_KNOWN_NAMES])}{more}." if known else "None are known."
