"""A terminal of 80 columns: what a command leaves on it."""

import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

COLUMNS, LINES = 80, 40


def start_on_terminal(words: Sequence[object], folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The process of a minbert command, and the terminal's end to read from. Only where there are terminals."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    hidden = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "minbert", *map(str, words)]
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment,
        start_new_session=True,
        # the terminal that controls the process: its Ctrl-C is a signal
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    return process, ours


def read_some(terminal: int) -> str:
    """What arrives next; empty at the end."""
    try:
        return os.read(terminal, 65536).decode(errors="ignore")
    except OSError:
        return ""


def read_to_end(terminal: int) -> str:
    found = ""
    while some := read_some(terminal):
        found += some
    os.close(terminal)
    return found


class Screen:
    """The lines that a terminal shows after these characters: as much of a VT100 as rich's progress bars need."""

    def __init__(self, written: str) -> None:
        self.lines: list[list[str]] = [[]]
        self.row = self.column = 0
        for code, character in re.findall(r"\x1b\[([0-9;?]*[A-Za-z])|(.)", written, re.DOTALL):
            if code:
                self.control(code)
            else:
                self.put(character)

    def control(self, code: str) -> None:
        kind, number = code[-1], code[:-1]
        if kind == "A":
            self.row = max(0, self.row - int(number or 1))
        elif code == "2K":
            self.lines[self.row] = []
        elif kind not in "mhl":
            raise AssertionError(f"unknown control sequence {code}")

    def put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.move_down()
        elif character >= " ":
            if self.column == COLUMNS:
                self.column = 0
                self.move_down()
            line = self.lines[self.row]
            line.extend(" " * (self.column + 1 - len(line)))
            line[self.column] = character
            self.column += 1

    def move_down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    @property
    def text(self) -> list[str]:
        return ["".join(line).rstrip() for line in self.lines]
