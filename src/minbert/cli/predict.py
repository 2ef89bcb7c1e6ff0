"""minbert predict: answers for one text, one pair, or a file of them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minbert.cli.console import console, errors, plain, table
from minbert.cli.file_progress import watch_file
from minbert.cli.options import AsJson, Force, Precision, RunFolder
from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.inference.predict_file import FilePrediction
    from minbert.inference.predictor import Predictor

# not all rows could be answered; 2 is a mistake, as everywhere
WITH_REJECTS = 3


def predict(
    run: RunFolder,
    task: Annotated[
        str | None, typer.Argument(help="Which of the model's tasks should answer.", show_default=False)
    ] = None,
    text: Annotated[str | None, typer.Argument(help="The text to answer for.", show_default=False)] = None,
    text2: Annotated[str | None, typer.Argument(help="The second text of a pair.", show_default=False)] = None,
    input_: Annotated[
        Path | None,
        typer.Option("--input", help="A csv, tsv, jsonl or parquet file with the task's text columns."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Where the answers go; the ending names the format.")
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(metavar="TASK,TASK", help="Several tasks in one pass over a file, each text encoded once."),
    ] = None,
    format_: Annotated[
        Literal["auto", "course"],
        typer.Option("--format", help="course: `id , prediction`, as the course's graders read."),
    ] = "auto",
    precision: Precision = "auto",
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Rows that cannot be answered are all right: exit with 0.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the same call, which was interrupted, to the same result.")
    ] = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Answer one text or pair, or a whole file.

    A file may be of any length: it is read, answered and written in chunks. Rows that cannot be answered are listed
    with line and reason in OUTPUT.rejects.jsonl; every row of the input is in the output or there. What is done so
    far is in the folder OUTPUT.parts, from which --resume goes on, until all is done.

    Exit codes of a file: 0 all rows are answered; 3 all but those in the rejects file; 2 a mistake, nothing was
    written; 130 or 143 interrupted.

    Examples:

    minbert predict runs/demo sentiment "I could not put this book down."

    minbert predict runs/demo paraphrase "How old is the Earth?" "What is the Earth's age?"

    minbert predict runs/demo sentiment --input reviews.csv --output answers.parquet

    minbert predict runs/mail --tasks spam,topic --input mails.jsonl --output answers.jsonl
    """
    from minbert.inference.predictor import load_predictor

    if (task is None) == (tasks is None):
        raise UserError("Name a task, or several of them with --tasks.", "For example: minbert predict RUN TASK TEXT")
    if input_ is None and output is None and text is not None and task is not None:
        answer_one(load_predictor(run, precision), task, [text] if text2 is None else [text, text2], as_json)
    elif input_ is not None and output is not None and text is None:
        check_paths(input_, output, format_)
        names = [name.strip() for name in (tasks or task or "").split(",")]
        bulk = load_predictor(run, precision).bulk(
            names, input_, output, output_format=format_, resume=resume, force=force
        )
        answer_file(bulk, skip_bad_rows, as_json)
    else:
        raise UserError(
            "Give either a text, or --input and --output.",
            "`minbert predict --help` shows an example of each.",
        )


def check_paths(input_: Path, output: Path, format_: str) -> None:
    """What needs no model to be seen."""
    from minbert.data.readers import format_of
    from minbert.inference.job import check_output

    check_output(input_, output)
    format_of(input_)
    if format_ == "auto":
        format_of(output)


def answer_file(bulk: "FilePrediction", skip_bad_rows: bool, as_json: bool) -> None:
    from minbert.inference.job import rejects_of

    done = watch_file(bulk)
    rejects = rejects_of(bulk.output)
    if as_json:
        files = {"output": str(bulk.output), "rejects": str(rejects) if done.rejected else None}
        counts = {"rows": done.rows, "answered": done.written, "rejected": done.rejected, "truncated": done.truncated}
        typer.echo(json.dumps(counts | files))
    else:
        errors.print(f"{done.rows:,} rows: {done.written:,} answered in {bulk.output}", markup=False)
        if done.truncated:
            errors.print(f"{done.truncated:,} of them were too long to be read to their ends (column 'truncated')")
        if done.rejected:
            errors.print(f"{done.rejected:,} rejected, with line and reason in {rejects}", markup=False)
    if done.rejected and not skip_bad_rows:
        raise typer.Exit(WITH_REJECTS)


def answer_one(predictor: "Predictor", task: str, texts: list[str], as_json: bool) -> None:
    wanted = len(predictor.task(task).text)
    if len(texts) != wanted:
        raise UserError(f"Task '{task}' reads {wanted} text{'s' * (wanted > 1)}, not {len(texts)}.")
    answer = predictor.predict(task, [texts])[0]
    if as_json:
        given = {"label": answer.label, "score": answer.score, "probabilities": answer.probabilities}
        typer.echo(json.dumps({key: value for key, value in given.items() if value is not None}, ensure_ascii=False))
    elif answer.probabilities is None:
        console.print(f"[bold]{answer.score:.2f}[/]")
    else:
        console.print(f"[bold]{plain(answer.label)}[/]")
        shown = table("label", "probability", right=("probability",))
        for label, probability in answer.probabilities.items():
            shown.add_row(plain(label), f"{probability:.3f}")
        console.print(shown)
