"""minbert demo: train and predict with data that ships with the package."""

from pathlib import Path
from typing import TYPE_CHECKING

from minbert.cli.console import command_line, console, shell_path, show_hint, text_table
from minbert.cli.options import DemoOutOption, ForceOption
from minbert.cli.outcome_table import show_task_outcomes
from minbert.cli.training_progress import watch_training

if TYPE_CHECKING:
    from rich.table import Table

    from minbert.inference.predictor import Predictor

QUESTIONS: dict[str, list[tuple[str, ...]]] = {
    "sentiment": [
        ("The soup was cold, the waiter was rude, and we will never come back.",),
        ("The shop opens at nine and closes at six.",),
        ("What a wonderful surprise, I have not laughed so much in years!",),
    ],
    "paraphrase": [
        ("How do I stop my bread from going stale?", "What keeps a loaf fresh for longer?"),
        ("How do I stop my bread from going stale?", "How do I stop my dog from barking?"),
    ],
    "similarity": [
        ("A woman is riding a bicycle through the rain.", "Someone cycles in wet weather."),
        ("A woman is riding a bicycle through the rain.", "The parliament passed a new budget."),
    ],
}


# a question that the model of this recipe answers rightly and without doubt
SUGGESTED = "The staff were friendly and the food was delicious."


def demo(out: DemoOutOption = Path("runs/demo"), force: ForceOption = False) -> None:
    """Train one model on three small tasks and try it out. Takes about two minutes on two cores.

    Sentiment, paraphrase and similarity are learned jointly, from a few hundred sentences per task that were written
    for this project. The scores are shown next to the constant answer and to what the untrained backbone can do.
    """
    from minbert.config.loading import read_recipe
    from minbert.inference.predictor import load_predictor
    from minbert.runs.run import start_run

    console.print("[bold]One small BERT, three tasks[/]: sentiment, paraphrase and similarity, learned jointly")
    finished = watch_training(start_run(read_recipe("demo"), out, force=force, command=command_line()))
    console.print()
    show_task_outcomes(finished.outcomes, finished.overall)
    predictor = load_predictor(out)
    for task, texts in QUESTIONS.items():
        console.print()
        console.print(prediction_table(predictor, task, texts))
    console.print()
    show_next_steps(out)


def show_next_steps(out: Path) -> None:
    """Commands to copy, each on a line of its own."""
    where = shell_path(out)
    show_hint(f'Try it yourself:\n  minbert predict {where} sentiment "{SUGGESTED}"')
    show_hint("Then train on a file of your own:\n  minbert train FILE.csv --out runs/mine")


def prediction_table(predictor: "Predictor", task: str, texts: list[tuple[str, ...]]) -> "Table":
    made = text_table(task, "prediction", "", right=("",), wrap=(task,))
    for text, prediction in zip(texts, predictor.predict(task, texts), strict=True):
        if prediction.probabilities is not None:
            value = prediction.label or ""
            confidence = f"{prediction.probabilities[value]:.0%}"
        else:
            value, confidence = f"{prediction.score:.1f} of 5", ""
        made.add_row("\n".join(text), f"[bold]{value}[/]", f"[dim]{confidence}[/]")
    return made
