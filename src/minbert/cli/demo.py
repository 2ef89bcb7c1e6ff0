"""minbert demo: the main job on data that ships with the package."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from minbert.cli.console import command_line, console, score_table, table
from minbert.cli.options import Force
from minbert.cli.training_progress import watch

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


def demo(
    out: Annotated[Path, typer.Option("--out", help="The directory of the run.")] = Path("runs/demo"),
    force: Force = False,
) -> None:
    """Train one model on three small tasks and ask it questions: about two minutes on two cores.

    Sentiment, paraphrase and similarity are learned jointly from a few hundred sentences a task that were
    written for this project. Shows the scores beside those of the untrained model.
    """
    from minbert.config.loading import read_recipe
    from minbert.inference.predictor import load_predictor
    from minbert.runs.run import start_run

    console.print("[bold]One small BERT, three tasks[/]: sentiment, paraphrase and similarity, learned jointly")
    finished = watch(start_run(read_recipe("demo"), out, force=force, measure_before=True, command=command_line()))
    console.print()
    console.print(score_table(finished.scores, finished.overall, finished.before, finished.before_overall))
    model = load_predictor(out)
    for task, texts in QUESTIONS.items():
        answers = table(task, "answer", "", right=("",))
        for text, answer in zip(texts, model.predict(task, texts), strict=True):
            if answer.probabilities is not None:
                said, sure = answer.label or "", f"{max(answer.probabilities.values()):.0%}"
            else:
                said, sure = f"{answer.score:.1f} of 5", ""
            answers.add_row("\n".join(text), f"[bold]{said}[/]", f"[dim]{sure}[/]")
        console.print()
        console.print(answers)
    where = shlex.quote(str(out))
    console.print(f'\nNext, ask it yourself:  minbert predict {where} sentiment "I could not put this book down."')
    console.print("Then train on your own files:  minbert recipes; minbert train --help")
