"""minbert evaluate: the scores of a run on labeled files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from minbert.cli.console import console, escape_markup, progress_bar, shell_path, show_hint, show_lines, text_table
from minbert.cli.options import (
    DataOption,
    DataRootOption,
    JsonOption,
    PrecisionOption,
    RunArgument,
    SkipBadRowsOption,
)
from minbert.cli.outcome_table import show_task_outcomes
from minbert.cli.score_lines import score_lines
from minbert.cli.unfinished import warn_if_unfinished
from minbert.errors import UserError
from minbert.plural import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minbert.config.task import Task
    from minbert.data.dataset import Dataset
    from minbert.data.source import DataSource
    from minbert.inference.predictor import Predictor
    from minbert.runs.events import Scores
    from minbert.runs.outcomes import TaskOutcome
    from minbert.runs.scoring import Scoring


def evaluate(
    run: RunArgument,
    data: DataOption = None,
    data_root: DataRootOption = None,
    precision: PrecisionOption = "auto",
    skip_bad_rows: SkipBadRowsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a run on the dev files of its tasks, or on other labeled files.

    Shows the main metric with its 95 % interval next to the constant answer of the training data and, for the run's own
    dev rows, the untrained backbone, the test score and the scores without leaked rows; then all metrics.

    Example: minbert evaluate runs/baseline --data sst=more-reviews.csv --json
    """
    from minbert.data.overall_score import overall
    from minbert.data.source import DataSource
    from minbert.inference.predictor import load_predictor
    from minbert.runs.directory import declared_overall, read_run
    from minbert.runs.trained_rows import count_trained_rows

    files = dict(split_data_option(option) for option in data or [])
    predictor, source = load_predictor(run, precision), DataSource(data_root, skip_bad_rows)
    tasks = chosen_for_evaluation(predictor, list(files))
    datasets = labeled_rows(run, tasks, files, source)
    about = read_run(run) if (run / "run.json").is_file() else {}
    warn_if_unfinished(run, "The constant answer and the untrained backbone are not known yet.")
    scoring = scored_rows(predictor, tasks, datasets)
    scores, outcomes = scoring.scores, outcomes_of(scoring, about)
    total = overall(scores, tasks, declared_overall(run))
    trained = count_trained_rows(run, tasks, {name: datasets[name] for name in files}, source)
    known = known_leaks(about, tasks, datasets) | {"unseen_labels": known_unseen(scoring, outcomes, about)}
    if as_json:
        records = {"outcomes": {name: each.as_record() for name, each in outcomes.items()}, "trained_rows": trained}
        typer.echo(json.dumps({"tasks": scores, "overall": total} | records | known, indent=2))
        return
    show_task_outcomes(outcomes, total)
    show_lines(score_lines(outcomes, **known))
    show_trained_rows(run, trained, datasets)
    show_metrics(scores, total, tasks, datasets)


def chosen_for_evaluation(predictor: "Predictor", names: list[str]) -> "dict[str, Task]":
    """The tasks of these names; without names, all of the model."""
    return {name: predictor.task(name) for name in names or predictor.tasks}


def labeled_rows(
    run: Path, tasks: "Mapping[str, Task]", files: "Mapping[str, str]", source: "DataSource"
) -> "dict[str, Dataset]":
    """The rows of the files that are named; without a file, the dev rows of the run."""
    from minbert.runs.directory import dev_rows

    return {
        name: source.read_file(Path(files[name]), task) if name in files else dev_rows(run, task, source)
        for name, task in tasks.items()
    }


def scored_rows(predictor: "Predictor", tasks: "Mapping[str, Task]", datasets: "Mapping[str, Dataset]") -> "Scoring":
    """All metrics of each task, and its predictions."""
    from minbert.runs.scoring import Scoring

    scoring = Scoring(tasks, datasets, lambda name, values: predictor.fill(name, datasets[name].texts, values))
    watch_evaluation(scoring)
    return scoring


def outcomes_of(scoring: "Scoring", about: "Mapping[str, Any]") -> "dict[str, TaskOutcome]":
    """The main metric of each task next to its controls. `about`: run.json, if there is one."""
    from minbert.runs.outcomes import evaluated_outcome

    return {
        name: evaluated_outcome(
            task, scoring.rows[name], scoring.predicted[name], scoring.scores[name][task.metric], about
        )
        for name, task in scoring.tasks.items()
    }


def known_unseen(
    scoring: "Scoring", outcomes: "Mapping[str, TaskOutcome]", about: "Mapping[str, Any]"
) -> dict[str, dict[str, Any]]:
    """The rows of each task whose label no training row has, and those of the test file as the run recorded them."""
    from minbert.runs.unseen_labels import unseen_record

    found: dict[str, dict[str, Any]] = {}
    for name, task in scoring.tasks.items():
        record = unseen_record(task, scoring.rows[name], scoring.predicted[name], outcomes[name].constant_answer)
        test = about.get("unseen_labels", {}).get(name, {}).get("test") if outcomes[name].test is not None else None
        splits = {split: each for split, each in (("dev", record), ("test", test)) if each}
        found |= {name: splits} if splits else {}
    return found


def known_leaks(
    about: "Mapping[str, Any]", tasks: "Mapping[str, Task]", datasets: "Mapping[str, Dataset]"
) -> dict[str, dict[str, Any]]:
    """The leaks that the run recorded, of the tasks that are evaluated on the run's own dev rows."""
    from minbert.runs.outcomes import are_own_dev_rows

    own = [name for name, task in tasks.items() if are_own_dev_rows(task, datasets[name], about)]
    return {
        kind: {name: found for name, found in about.get(kind, {}).items() if name in own}
        for kind in ("leaks", "test_leaks")
    }


def show_trained_rows(run: Path, trained: "Mapping[str, int]", datasets: "Mapping[str, Dataset]") -> None:
    """The tasks that are evaluated on training rows. `trained`: how many of them."""
    for name, count in trained.items():
        console.print(
            f"[bold red]{escape_markup(name)}: the model was trained on {count:,} of these "
            f"{plural(len(datasets[name]), 'row')}, so its score is too good.[/]"
        )
        show_hint(f"On the rows that were set aside:  minbert evaluate {shell_path(run)}")


def show_metrics(
    scores: "Scores", overall: float, tasks: "Mapping[str, Task]", datasets: "Mapping[str, Dataset]"
) -> None:
    """All metrics, the main metric of each task first."""
    made = text_table("task", "rows", "metric", "score", right=("rows", "score"))
    for name, metrics in scores.items():
        shown = {metric_label(tasks[name], metric): value for metric, value in metrics.items()}
        if len(tasks[name].labels) > 2 and tasks[name].metric != "f1":
            # the mean over the labels, which macro_f1 is already
            del shown["f1 (macro)"]
        for i, (metric, value) in enumerate(shown.items()):
            task, count, style = (name, f"{len(datasets[name]):,}", "bold") if i == 0 else ("", "", "dim")
            made.add_row(task, count, f"[{style}]{escape_markup(metric)}[/]", f"[{style}]{value:.4f}[/]")
    made.add_row("overall", "", "", f"[bold]{overall:.4f}[/]")
    console.print()
    console.print(made)


def metric_label(task: "Task", metric: str) -> str:
    """With two labels, f1, precision and recall are those of the second; with more, means over the labels."""
    if metric not in ("f1", "precision", "recall"):
        return metric
    return f"{metric} ({task.display_labels[1] if len(task.labels) == 2 else 'macro'})"


def watch_evaluation(scoring: "Scoring") -> None:
    with progress_bar() as bar:
        bar_task = bar.add_task("evaluating", total=None, note="")
        for event in scoring:
            bar.update(bar_task, completed=event.done, total=event.total)


def split_data_option(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not equals or not name or not value:
        raise UserError(f"--data {option}: not in the form TASK=FILE.", "For example: --data sst=reviews.csv")
    return name, value
