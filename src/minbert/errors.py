"""Mistakes a user can make, each with its next step."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class UserError(Exception):
    """Something the user can mend. The command line shows it without a traceback and exits with 2."""

    def __init__(self, problem: str, next_step: str = "") -> None:
        super().__init__(f"{problem}\n{next_step}" if next_step else problem)
        self.problem = problem
        self.next_step = next_step

    def __reduce__(self) -> tuple[type["UserError"], tuple[str, str]]:
        """The same on its way from another process."""
        return UserError, (self.problem, self.next_step)


def short_path(path: Path) -> str:
    """A path as a message should name it: as short as it can be from here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that names the closest known word, or lists what is known."""
    known = sorted(known)
    close = get_close_matches(word, known, n=1)
    if close:
        return f"Did you mean '{close[0]}'?"
    return f"Known: {', '.join(known)}." if known else "None are known."
