"""minbert predict: answers for one text, one pair, or a file of them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minbert.cli.options import AsJson, Force, Precision, RunFolder, SkipBadRows
from minbert.cli.screen import console, errors, plain, progress, table
from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.predict import Predictor


def predict(
    run: RunFolder,
    task: Annotated[str, typer.Argument(help="Which of the model's tasks should answer.")],
    text: Annotated[str | None, typer.Argument(help="The text to answer for.", show_default=False)] = None,
    text2: Annotated[str | None, typer.Argument(help="The second text of a pair.", show_default=False)] = None,
    input_: Annotated[
        Path | None,
        typer.Option("--input", help="A csv, tsv, jsonl or parquet file with the task's text columns."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Where the answers go; the ending names the format.")
    ] = None,
    format_: Annotated[
        Literal["auto", "course"],
        typer.Option("--format", help="course: `id , prediction`, as the course's graders read."),
    ] = "auto",
    precision: Precision = "auto",
    skip_bad_rows: SkipBadRows = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Answer one text or pair, or a whole file.

    Examples:

    minbert predict runs/demo sentiment "I could not put this book down."

    minbert predict runs/demo paraphrase "How old is the Earth?" "What is the Earth's age?"

    minbert predict runs/demo sentiment --input reviews.csv --output answers.parquet
    """
    from minbert.predict import load

    if input_ is None and output is None and text is not None:
        answer_one(load(run, precision), task, [text] if text2 is None else [text, text2], as_json)
    elif input_ is not None and output is not None and text is None:
        check_output(input_, output, force)
        from minbert.answers import write_answers, write_course
        from minbert.columns import format_of
        from minbert.evaluate import no_answers
        from minbert.table import read_examples

        if format_ == "auto":
            format_of(output)
        predictor = load(run, precision)
        chosen = predictor.task(task)
        examples = read_examples(input_, chosen, labelled=False, skip_bad_rows=skip_bad_rows)
        answers = no_answers(chosen, len(examples))
        with progress() as bar:
            answering = bar.add_task("answering", total=len(examples), note="")
            for done in predictor.fill(task, examples.texts, answers):
                bar.advance(answering, done)
        (write_course if format_ == "course" else write_answers)(output, chosen, examples, answers)
        left_out = f", {len(examples.skipped)} bad rows left out" if examples.skipped else ""
        errors.print(f"{len(examples):,} answers in {output}{left_out}", markup=False)
    else:
        raise UserError(
            "Give either a text, or --input and --output.",
            "`minbert predict --help` shows an example of each.",
        )


def check_output(input_: Path, output: Path, force: bool) -> None:
    if output.is_dir():
        raise UserError(f"{output}: is a folder.", "Name a file as --output.")
    if output.exists() and input_.exists() and output.samefile(input_):
        raise UserError(f"{output}: is the input file.", "Name another --output.")
    if output.exists() and not force:
        raise UserError(f"{output}: exists already.", "Name another --output, or replace it with --force.")


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
