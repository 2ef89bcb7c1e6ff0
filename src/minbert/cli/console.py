"""What all commands share on the screen: errors, tables, progress bars, commands to copy."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from minbert.cli.text_table import TextTable, wrapped
from minbert.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress

# columns of a file or a pipe: a line there is never cut
UNLIMITED = 10_000


class WholeLines(Console):
    """A console that cuts no line, and breaks lines only at words, to fit a terminal; not with soft_wrap=True."""

    # how messages are worded: `minbert.train` shows them in Python's words
    wording: Callable[[str], str] = staticmethod(str)

    def print(self, *objects: Any, crop: bool = False, **options: Any) -> None:
        worded = [self.wording(each) if isinstance(each, str) else each for each in objects]
        super().print(*worded, crop=crop, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        options = options or self.options
        if not isinstance(renderable, Text) or renderable.no_wrap or options.no_wrap:
            yield from super().render(renderable, options)
            return
        lines = wrapped(renderable, options.max_width)
        whole = options.update(no_wrap=True, overflow="ignore")
        for number, line in enumerate(lines, 1):
            line.end = renderable.end if number == len(lines) else "\n"
            line.justify = renderable.justify
            yield from super().render(line, whole)

    @contextmanager
    def worded(self, wording: Callable[[str], str]) -> Iterator[None]:
        self.wording = wording
        try:
            yield
        finally:
            self.wording = str

    @property
    def options(self) -> ConsoleOptions:
        found = super().options
        if not self.is_terminal and "COLUMNS" not in os.environ:
            found.max_width = UNLIMITED
        return found


def no_terminal() -> bool | None:
    """False in the kernel of a notebook, which sets FORCE_COLOR and cannot show a bar that moves; else unknown."""
    return False if "ipykernel" in sys.modules else None


# in a notebook, plain lines: a bar would need ipywidgets, and each line would be an output of its own
# without emoji: `:100:` in a file name or a label is not a code for one
console = WholeLines(highlight=False, emoji=False, force_jupyter=False, force_terminal=no_terminal())
stderr = WholeLines(stderr=True, highlight=False, emoji=False, force_jupyter=False, force_terminal=no_terminal())


def show_error(error: UserError) -> None:
    stderr.print(f"[bold red]error:[/] {escape_markup(error.problem)}")
    if error.next_step:
        # a command in it can be copied whole
        stderr.print(as_typed(error.next_step), style="dim", markup=False, soft_wrap=True)


def program_name() -> str:
    """What to type to start this program: minbert, or its path if the shell does not find it by that name."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return f"{program_path('python', Path(sys.executable))} -m minbert"
    return program_path("minbert", started)


def program_path(name: str, started: Path) -> str:
    found = shutil.which(name)
    if not started.is_file() or (found and Path(found).absolute() == started.absolute()):
        return name
    path = os.path.relpath(started) if started.is_relative_to(Path.cwd()) else str(started)
    return shlex.quote(path if os.sep in path else os.path.join(".", path))  # noqa: PTH118 (Path drops the dot)


def as_typed(text: str) -> str:
    """A text with commands, as they work here: `.venv/bin/minbert train` where the shell does not find `minbert`."""
    from minbert.cli import COMMANDS

    return re.sub(rf"(?<![\w./-])minbert(?= (?:{'|'.join(COMMANDS)})\b)", lambda _: program_name(), text)


def show_hint(text: str) -> None:
    """What to do next, in lines that can be copied whole; rich reads its markup."""
    for line in text.split("\n"):
        console.print(as_typed(line), soft_wrap=True)


def show_lines(lines: Iterable[str]) -> None:
    """Plain text, which may have square brackets."""
    for line in lines:
        console.print(line, markup=False)


def show_json(value: Any) -> None:
    """For programs: whole values, and characters as they are."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def escape_markup(value: object) -> str:
    """The user's text as it is: rich must not read its square brackets as styles."""
    return escape(str(value))


def shell_path(path: Path) -> str:
    """A path to paste into a shell."""
    return escape_markup(shlex.quote(str(path)))


def command_line(*more: str, without: Collection[str] = ()) -> str:
    """This command as the user typed it, without some of its options and with some more."""
    words = [word for word in sys.argv[1:] if word not in without]
    return shlex.join(["minbert", *words, *more])


def text_table(*columns: str, right: Sequence[str] = (), wrap: Sequence[str] = ()) -> TextTable:
    """A table without lines: the columns in `right` are right-aligned, those in `wrap` are broken at words."""
    return TextTable(columns, right, wrap)


def progress_bar(unit: str = "") -> "Progress":
    """A bar with elapsed and remaining time on standard error, removed at the end; it counts steps, or `bytes`.

    Every task of it has a field `note`, plain text that is shown below."""
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    from minbert.cli.bars import Bars, RemainingTime

    return Bars(
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        DownloadColumn() if unit == "bytes" else MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        RemainingTime(),
        TextColumn("remaining"),
        console=stderr,
        transient=True,
        # FORCE_COLOR asks for colors in a file or a pipe, not for a bar
        disable=not sys.stderr.isatty(),
    )
