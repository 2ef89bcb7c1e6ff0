"""minbert predict: predictions for one text, one pair, or a file of them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from minbert.cli.console import console, escape_markup, stderr, text_table
from minbert.cli.file_progress import watch_file
from minbert.cli.options import (
    AcceptRejectsOption,
    ForceOption,
    FormatOption,
    InputOption,
    JsonOption,
    OutputOption,
    PrecisionOption,
    ResumeFileOption,
    RunArgument,
    SecondTextArgument,
    TaskArgument,
    TasksOption,
    TextArgument,
)
from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.inference.predict_file import FilePrediction
    from minbert.inference.predictor import Prediction, Predictor
    from minbert.inference.resumable_job import Progress

# some rows were rejected; 2 is an error, as everywhere
EXIT_WITH_REJECTS = 3


def predict(
    run: RunArgument,
    task: TaskArgument = None,
    text: TextArgument = None,
    text2: SecondTextArgument = None,
    input_: InputOption = None,
    output: OutputOption = None,
    tasks: TasksOption = None,
    format_: FormatOption = "auto",
    precision: PrecisionOption = "auto",
    skip_bad_rows: AcceptRejectsOption = False,
    resume: ResumeFileOption = False,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """Predict for one text or pair, or for a file of any length.

    Invalid rows of a file are listed with line and reason in OUTPUT.rejects.jsonl; all others are in OUTPUT.
    Unfinished work is kept in OUTPUT.parts, and --resume continues from there.

    Exit codes for a file: 0 all rows predicted, 3 some rejected, 2 error and no output, 130 or 143 interrupted.

    Examples:
      minbert predict runs/demo sentiment "I could not put this book down."
      minbert predict runs/demo paraphrase "How old is the Earth?" "What is the Earth's age?"
      minbert predict runs/demo sentiment --input reviews.csv --output predictions.parquet
      minbert predict runs/mail --tasks spam,topic --input mails.jsonl --output predictions.jsonl
    """
    from minbert.inference.predictor import load_predictor

    names = task_names(task, tasks)
    texts = check_texts_or_files(task, [each for each in (text, text2) if each is not None], input_, output)
    if input_ is None or output is None:
        predict_texts(load_predictor(run, precision), task or "", texts, as_json)
        return
    check_paths(input_, output, format_)
    bulk = load_predictor(run, precision).bulk(names, input_, output, output_format=format_, resume=resume, force=force)
    predict_file(bulk, skip_bad_rows, as_json)


def task_names(task: str | None, tasks: str | None) -> list[str]:
    if (task is None) == (tasks is None):
        raise UserError("Name one task, or several with --tasks.", "For example: minbert predict RUN TASK TEXT")
    return [name.strip() for name in (tasks or task or "").split(",")]


def check_texts_or_files(task: str | None, texts: list[str], input_: Path | None, output: Path | None) -> list[str]:
    """Either texts for one task, or both files."""
    files = [path for path in (input_, output) if path is not None]
    if (task is not None and texts and not files) or (not texts and len(files) == 2):
        return texts
    raise UserError("Give either a text, or --input and --output.", "`minbert predict --help` shows examples of both.")


def check_paths(input_: Path, output: Path, format_: str) -> None:
    """Find wrong paths before the model is loaded."""
    from minbert.data.readers import format_of
    from minbert.inference.resumable_job import check_output

    check_output(input_, output)
    format_of(input_)
    if format_ == "auto":
        format_of(output)


def predict_file(bulk: "FilePrediction", skip_bad_rows: bool, as_json: bool) -> None:
    done = watch_file(bulk)
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
    stderr.print(f"{done.rows:,} rows: {done.written:,} predictions in {output}", markup=False)
    if done.truncated:
        stderr.print(f"{done.truncated:,} with truncated texts (see column 'truncated')")
    if done.rejected:
        stderr.print(f"{done.rejected:,} rejected, with line and reason in {rejects}", markup=False)


def predict_texts(predictor: "Predictor", task: str, texts: list[str], as_json: bool) -> None:
    expected = len(predictor.task(task).text)
    if len(texts) != expected:
        raise UserError(f"Task '{task}' reads {expected} text{'s' * (expected > 1)}, not {len(texts)}.")
    show_prediction(predictor.predict(task, [texts])[0], as_json)


def show_prediction(prediction: "Prediction", as_json: bool) -> None:
    label, score, probabilities = prediction.label, prediction.score, prediction.probabilities
    if as_json:
        fields = {"label": label, "score": score, "probabilities": probabilities}
        typer.echo(json.dumps({key: value for key, value in fields.items() if value is not None}, ensure_ascii=False))
    elif probabilities is None:
        console.print(f"[bold]{score:.2f}[/]")
    else:
        console.print(f"[bold]{escape_markup(label)}[/]")
        made = text_table("label", "probability", right=("probability",))
        for name, probability in probabilities.items():
            made.add_row(escape_markup(name), f"{probability:.3f}")
        console.print(made)
