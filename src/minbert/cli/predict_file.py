"""`minbert predict` with files: the input, its columns, the tasks that can read it, and what was written."""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from minbert.cli.console import stderr
from minbert.cli.data_files import split_names
from minbert.cli.file_progress import watch_file
from minbert.cli.unfinished import warn_if_unfinished
from minbert.errors import UserError
from minbert.plural import plural

if TYPE_CHECKING:
    from minbert.config.recipe import Precision
    from minbert.config.task import Task
    from minbert.inference.predict_file import FilePrediction, FormatChoice
    from minbert.inference.predictor import Predictor
    from minbert.inference.resumable_job import Progress

# some rows were rejected; 2 is an error, as everywhere
EXIT_WITH_REJECTS = 3
# in place of a task: all that can read what is given
ALL_TASKS = "all"
NAME_COLUMNS = "If the file calls its texts otherwise, name the column with --text COLUMN (twice for pairs)."


@dataclass(frozen=True)
class FileFlags:
    """The options of a prediction for a file."""

    # names of the text columns in the file, if they are not those of the tasks
    text: Sequence[str] | None
    output_format: "FormatChoice"
    precision: "Precision"
    skip_bad_rows: bool
    as_json: bool
    resume: bool
    force: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for each in self.text or () for name in split_names(each))


def predict_whole_file(run: Path, names: list[str], input_: Path, output: Path, flags: FileFlags) -> None:
    from minbert.inference.predictor import load_predictor

    with opened_input(input_) as source:
        check_paths(source, output, flags.output_format)
        predictor = load_predictor(run, flags.precision)
        warn_if_unfinished(run)
        all_names = fitting_tasks(predictor, source, flags.columns) if means_all(predictor, names) else names
        bulk = predictor.bulk(
            all_names,
            source,
            output,
            text=flags.columns,
            output_format=flags.output_format,
            resume=flags.resume,
            force=flags.force,
        )
        predict_to_end(bulk, flags.skip_bad_rows, flags.as_json)


def means_all(predictor: "Predictor", names: list[str]) -> bool:
    return names == [ALL_TASKS] and ALL_TASKS not in predictor.tasks


@contextmanager
def opened_input(given: Path) -> Iterator[Path]:
    """The input file; standard input becomes one."""
    if str(given) != "-":
        yield given
        return
    from minbert.data.standard_input import store_standard_input

    with tempfile.TemporaryDirectory(prefix="minbert-") as folder:
        yield store_standard_input(sys.stdin.buffer, Path(folder) / "stdin")


def check_paths(source: Path, output: Path, output_format: "FormatChoice") -> None:
    """Find wrong paths before the model is loaded."""
    from minbert.data.readers import format_of
    from minbert.inference.formats import output_format_of
    from minbert.inference.resumable_job import check_output

    check_output(source, output)
    format_of(source)
    if output_format == "auto":
        output_format_of(output)


def fitting_tasks(predictor: "Predictor", source: Path, named: Sequence[str]) -> list[str]:
    """The tasks whose text columns are in the file, or that read as many texts as columns are named."""
    from minbert.data.readers import read_layout

    columns = read_layout(source, next(iter(predictor.tasks.values())).delimiter).columns

    def fits(task: "Task") -> bool:
        return len(named) == len(task.text) if named else set(task.text) <= set(columns)

    found = [name for name, task in predictor.tasks.items() if fits(task)]
    others = [f"{name} ({' and '.join(task.text)})" for name, task in predictor.tasks.items() if name not in found]
    if not found:
        raise UserError(
            f"{source}: no task of this model finds its text columns: {', '.join(others)}.",
            f"The file has the columns {', '.join(columns)}. {NAME_COLUMNS}",
        )
    if others:
        stderr.print(f"Left out, because the file lacks their columns: {', '.join(others)}.", markup=False)
    return found


def predict_to_end(bulk: "FilePrediction", skip_bad_rows: bool, as_json: bool) -> None:
    from minbert.data.column_request import MissingColumn

    try:
        done = watch_file(bulk)
    except MissingColumn as missing:
        raise UserError(missing.problem, f"{missing.next_step} {NAME_COLUMNS}") from None
    if not done.rows:
        bulk.output.unlink(missing_ok=True)
        raise UserError(
            f"{bulk.source}: a file without rows, so there is nothing to predict.", "Name a file with rows."
        )
    show_file_counts(done, bulk.output, as_json)
    if done.rejected and not skip_bad_rows:
        raise typer.Exit(EXIT_WITH_REJECTS)


def show_file_counts(done: "Progress", output: Path, as_json: bool) -> None:
    from minbert.inference.resumable_job import rejects_of

    rejects = rejects_of(output)
    if as_json:
        files = {"output": str(output), "rejects": str(rejects) if done.rejected else None}
        counts = {"rows": done.rows, "written": done.written, "rejected": done.rejected, "truncated": done.truncated}
        typer.echo(json.dumps(counts | files))
        return
    written = plural(done.written, "prediction")
    stderr.print(f"{plural(done.rows, 'row')}: {written} in {output}", markup=False)
    if done.truncated:
        stderr.print(f"{done.truncated:,} with truncated texts (see column 'truncated')")
    if done.rejected:
        stderr.print(f"{done.rejected:,} rejected, with line and reason in {rejects}", markup=False)
