"""minbert predict: predictions for one text, one pair, or a file of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Mapping

    from rich.table import Table

    from minbert.inference.predict_file import FilePrediction
    from minbert.inference.predictor import Prediction, Predictor
    from minbert.inference.resumable_job import Progress

# some rows were rejected; 2 is an error, as everywhere
EXIT_WITH_REJECTS = 3
# in place of a task: all that read as many texts as are given
ALL_TASKS = "all"


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

    Invalid rows of a file are listed with line and reason in OUTPUT.rejects.jsonl; all others are in OUTPUT. Exit
    codes for a file: 0 all rows predicted, 3 some rejected, 2 error and no output, 130 or 143 interrupted.

    Examples:
      minbert predict runs/demo sentiment "The staff were friendly and the food was delicious."
      minbert predict runs/demo paraphrase "How old is the Earth?" "What is the Earth's age?"
      minbert predict runs/mail spam,topic "You have won a prize!"
      minbert predict runs/demo sentiment --input reviews.csv --output predictions.parquet
      minbert predict runs/mail --tasks spam,topic --input mails.jsonl --output predictions.jsonl
    """
    from minbert.inference.predictor import load_predictor

    names = task_names(task, tasks)
    texts = check_texts_or_files(task, [each for each in (text, text2) if each is not None], input_, output)
    if input_ is None or output is None:
        predict_texts(load_predictor(run, precision), names, texts, as_json)
        return
    check_paths(input_, output, format_)
    model = load_predictor(run, precision)
    names = chosen_tasks(model, names)
    bulk = model.bulk(names, input_, output, output_format=format_, resume=resume, force=force)
    predict_file(bulk, skip_bad_rows, as_json)


def task_names(task: str | None, tasks: str | None) -> list[str]:
    if (task is None) == (tasks is None):
        raise UserError("Name one task, or several with --tasks.", "For example: minbert predict RUN TASK TEXT")
    return [name.strip() for name in (tasks or task or "").split(",")]


def chosen_tasks(predictor: "Predictor", names: list[str], texts: int | None = None) -> list[str]:
    """The tasks of these names; `all` are those of the model that read as many texts as there are."""
    if names != [ALL_TASKS] or ALL_TASKS in predictor.tasks:
        return names
    found = [name for name, task in predictor.tasks.items() if texts in (None, len(task.text))]
    if not found:
        raise UserError(f"No task of this model reads {texts} text{'s' * (texts != 1)}.")
    return found


def check_texts_or_files(task: str | None, texts: list[str], input_: Path | None, output: Path | None) -> list[str]:
    """Either texts for one task, or both files."""
    files = [path for path in (input_, output) if path is not None]
    if any(not text.strip() for text in texts):
        raise UserError("The text is empty.", 'Write it in quotes: minbert predict RUN TASK "A fine day."')
    if (task is not None and texts and not files) or (not texts and len(files) == 2):
        return texts
    raise UserError("Give either a text, or --input and --output.", "`minbert predict --help` shows examples of both.")


def check_paths(input_: Path, output: Path, format_: str) -> None:
    """Find wrong paths before the model is loaded."""
    from minbert.data.readers import format_of
    from minbert.inference.formats import output_format_of
    from minbert.inference.resumable_job import check_output

    check_output(input_, output)
    format_of(input_)
    if format_ == "auto":
        output_format_of(output)


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


def predict_texts(predictor: "Predictor", names: list[str], texts: list[str], as_json: bool) -> None:
    tasks = chosen_tasks(predictor, names, len(texts))
    for task in tasks:
        expected = len(predictor.task(task).text)
        if len(texts) != expected:
            raise UserError(f"Task '{task}' reads {expected} text{'s' * (expected > 1)}, not {len(texts)}.")
    found = {task: with_label_keys(predictor.predict(task, [texts])[0]) for task in tasks}
    if as_json:
        fields = {task: prediction_fields(prediction) for task, prediction in found.items()}
        typer.echo(json.dumps(fields if len(tasks) > 1 else fields[tasks[0]], ensure_ascii=False))
    elif len(tasks) > 1:
        console.print(answer_table(found))
    else:
        show_prediction(found[tasks[0]])


def with_label_keys(prediction: "Prediction") -> "Prediction":
    """With labels as files of predictions have them: texts."""
    from minbert.config.task import Label, label_key

    if prediction.probabilities is None:
        return prediction
    probabilities: dict[Label, float] = {label_key(label): value for label, value in prediction.probabilities.items()}
    return replace(prediction, label=label_key(prediction.label), probabilities=probabilities)


def prediction_fields(prediction: "Prediction") -> dict[str, Any]:
    return {key: value for key, value in vars(prediction).items() if value is not None}


def answer_table(found: "Mapping[str, Prediction]") -> "Table":
    """One line per task: its label with the probability, or its score."""
    made = text_table("task", "prediction", "probability", right=("probability",))
    for task, prediction in found.items():
        if prediction.probabilities is None:
            made.add_row(task, f"[bold]{prediction.score:.2f}[/]", "")
        else:
            label = prediction.label or ""
            made.add_row(task, f"[bold]{escape_markup(label)}[/]", f"{prediction.probabilities[label]:.3f}")
    return made


def show_prediction(prediction: "Prediction") -> None:
    label, score, probabilities = prediction.label, prediction.score, prediction.probabilities
    if probabilities is None:
        console.print(f"[bold]{score:.2f}[/]")
    else:
        console.print(f"[bold]{escape_markup(label)}[/]")
        made = text_table("label", "probability", right=("probability",))
        for name, probability in probabilities.items():
            made.add_row(escape_markup(name), f"{probability:.3f}")
        console.print(made)
