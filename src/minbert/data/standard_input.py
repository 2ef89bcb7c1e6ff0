"""Standard input -> a file, with the ending that its first bytes say."""

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from minbert.errors import STDIN_FOLDER, UserError

START_BYTES = 2**16


def store_standard_input(stream: BinaryIO, stem: Path | None = None) -> Path:
    """All of a stream in a file `stem` + its ending; without a stem, in a temporary file that outlives the command."""
    start = stream.read(START_BYTES)
    if not start.strip():
        raise UserError("Standard input is empty.", "Pipe rows with a header line into it, or name a file.")
    if stem is None:
        stem = Path(tempfile.mkdtemp(prefix=STDIN_FOLDER)) / "stdin"
    path = stem.with_name(stem.name + ending_of(start))
    if path.exists():
        raise UserError(
            f"{path}: exists already; standard input would replace it.", "Remove it, or name another --out."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(stream, file)
    return path


def ending_of(start: bytes) -> str:
    for magic, ending in ((b"PAR1", ".parquet"), (b"PK\x03\x04", ".xlsx"), (b"\x1f\x8b", ".csv.gz")):
        if start.startswith(magic):
            return ending
    text = start.decode("utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "ignore").lstrip()
    if text.startswith("["):
        return ".json"
    # .json: one object per line, or one object around the rows
    return ".json" if text.startswith("{") else ".tsv" if "\t" in text.partition("\n")[0] else ".csv"
