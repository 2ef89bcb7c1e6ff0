"""minbert predict: predictions for one text, one pair, or a file of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from minbert.cli.console import console, escape_markup, text_table
from minbert.cli.options import (
    AcceptRejectsOption,
    ForceOption,
    FormatOption,
    InputOption,
    JsonOption,
    OutputOption,
    PrecisionOption,
    PredictColumnOption,
    ResumeFileOption,
    RunArgument,
    SecondTextArgument,
    TaskArgument,
    TasksOption,
    TextArgument,
)
from minbert.cli.predict_file import FileFlags, means_all, predict_whole_file
from minbert.cli.unfinished import warn_if_unfinished
from minbert.errors import UserError
from minbert.plural import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from minbert.config.recipe import Precision
    from minbert.inference.predictor import Prediction, Predictor


def predict(
    run: RunArgument,
    task: TaskArgument = None,
    text: TextArgument = None,
    text2: SecondTextArgument = None,
    input_: InputOption = None,
    output: OutputOption = None,
    text_column: PredictColumnOption = None,
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
    names = task_names(run, task, tasks)
    texts = [each for each in (text, text2) if each is not None]
    check_texts_or_files(task, texts, input_, output, text_column)
    if input_ is None or output is None:
        predict_texts(run, names, texts, precision, as_json)
    else:
        flags = FileFlags(text_column, format_, precision, skip_bad_rows, as_json, resume, force)
        predict_whole_file(run, names, input_, output, flags)


def task_names(run: Path, task: str | None, tasks: str | None) -> list[str]:
    if (task is None) == (tasks is None):
        known = names_of_tasks(run)
        how = f"This model has {', '.join(known)}. " if known else ""
        example = f"minbert predict {run} {known[0] if known else 'TASK'} TEXT"
        raise UserError("Name one task, or several with --tasks.", f"{how}For example: {example}")
    return [name.strip() for name in (tasks or task or "").split(",")]


def names_of_tasks(run: Path) -> list[str]:
    """The names of a run's tasks, without loading its model; none if they are not known."""
    return sorted(path.stem for path in (run / "tasks").glob("*.toml"))


def chosen_tasks(predictor: "Predictor", names: list[str], texts: int) -> list[str]:
    """The tasks of these names; `all` are those of the model that read as many texts as there are."""
    if not means_all(predictor, names):
        return names
    found = [name for name, task in predictor.tasks.items() if len(task.text) == texts]
    if not found:
        raise UserError(
            f"No task of this model reads {plural(texts, 'text')}.",
            f"Its tasks read {' and '.join(plural(n, 'text') for n in text_counts(predictor))}.",
        )
    return found


def text_counts(predictor: "Predictor") -> list[int]:
    return sorted({len(task.text) for task in predictor.tasks.values()})


def check_texts_or_files(
    task: str | None, texts: list[str], input_: Path | None, output: Path | None, text_column: list[str] | None
) -> None:
    """Either texts for one task, or both files."""
    files = [path for path in (input_, output) if path is not None]
    if any(not text.strip() for text in texts):
        raise UserError("The text is empty.", 'Write it in quotes: minbert predict RUN TASK "A fine day."')
    if text_column and input_ is None:
        raise UserError("--text names a column of --input.", "Give a text without it, or --input and --output.")
    if task is not None and not texts and not files:
        raise UserError(
            f"'{task}' is read as the name of a task, and no text follows.",
            'Name the task first: minbert predict RUN TASK "A fine day." (for many texts: --input and --output)',
        )
    if not ((task is not None and texts and not files) or (not texts and len(files) == 2)):
        raise UserError(
            "Give either a text, or --input and --output.", "`minbert predict --help` shows examples of both."
        )


def predict_texts(run: Path, names: list[str], texts: list[str], precision: "Precision", as_json: bool) -> None:
    from minbert.inference.predictor import load_predictor

    predictor = load_predictor(run, precision)
    warn_if_unfinished(run)
    tasks = chosen_tasks(predictor, names, len(texts))
    for task in tasks:
        expected = len(predictor.task(task).text)
        if len(texts) != expected:
            raise wrong_number_of_texts(run, task, expected, len(texts))
    found = {task: with_written_labels(predictor.predict(task, [texts])[0]) for task in tasks}
    # `all` names each task, however many there are
    by_task = len(tasks) > 1 or means_all(predictor, names)
    if as_json:
        fields = {task: prediction_fields(prediction) for task, prediction in found.items()}
        typer.echo(json.dumps(fields if by_task else fields[tasks[0]], ensure_ascii=False))
    elif by_task:
        console.print(answer_table(found))
    else:
        show_prediction(found[tasks[0]])


def wrong_number_of_texts(run: Path, task: str, expected: int, given: int) -> UserError:
    words = " ".join(['"..."'] * expected)
    return UserError(
        f"Task '{task}' reads {plural(expected, 'text')}, not {given}.",
        f"Write {'both, each in quotes' if expected == 2 else 'it in quotes'}: minbert predict {run} {task} {words}",
    )


def with_written_labels(prediction: "Prediction") -> "Prediction":
    """With labels as files of predictions have them: texts."""
    from minbert.config.task import Label, written_label

    if prediction.probabilities is None or prediction.label is None:
        return prediction
    probabilities: dict[Label, float] = {written_label(label): p for label, p in prediction.probabilities.items()}
    return replace(prediction, label=written_label(prediction.label), probabilities=probabilities)


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
