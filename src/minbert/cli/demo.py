"""minbert demo: train and predict with data that ships with the package."""

from pathlib import Path
from typing import TYPE_CHECKING

from minbert.cli.console import command_line, console, score_table, shell_path, text_table
from minbert.cli.options import DemoOutOption, ForceOption
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


def demo(out: DemoOutOption = Path("runs/demo"), force: ForceOption = False) -> None:
    """Train one model on three small tasks and try it out. Takes about two minutes on two cores.

    Sentiment, paraphrase and similarity are learned jointly, from a few hundred sentences per task that were written
    for this project. The scores are shown next to those of the untrained model.
    """
    from minbert.config.loading import read_recipe
    from minbert.inference.predictor import load_predictor
    from minbert.runs.run import start_run

    console.print("[bold]One small BERT, three tasks[/]: sentiment, paraphrase and similarity, learned jointly")
    finished = watch_training(
        start_run(read_recipe("demo"), out, force=force, measure_before=True, command=command_line())
    )
    console.print()
    console.print(score_table(finished.scores, finished.overall, finished.before, finished.before_overall))
    predictor = load_predictor(out)
    for task, texts in QUESTIONS.items():
        console.print()
        console.print(prediction_table(predictor, task, texts))
    where = shell_path(out)
    console.print(f'\nTry it yourself:  minbert predict {where} sentiment "I could not put this book down."')
    console.print("Then train on your own files:  minbert recipes; minbert train --help")


def prediction_table(predictor: "Predictor", task: str, texts: list[tuple[str, ...]]) -> "Table":
    made = text_table(task, "prediction", "", right=("",))
    for text, prediction in zip(texts, predictor.predict(task, texts), strict=True):
        if prediction.probabilities is not None:
            value, confidence = prediction.label or "", f"{max(prediction.probabilities.values()):.0%}"
        else:
            value, confidence = f"{prediction.score:.1f} of 5", ""
        made.add_row("\n".join(text), f"[bold]{value}[/]", f"[dim]{confidence}[/]")
    return made
