"""(the results of a comparison, their runs) -> in words, what makes them less comparable than a table looks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minbert.findings import Result
from minbert.rundir import read_run

# a training that took more or less of its time than this was not given what the others were
LONGEST, SHORTEST = 1.5, 0.67


def reservations(results: Sequence[Result], seconds: Mapping[str, float | None], folder: Path) -> tuple[str, ...]:
    """`seconds`: what a training of each label was given, where that was a time."""
    done = [each for each in results if each.state == "finished"]
    runs = {each.run: read_run(folder / each.run) for each in done}
    return (*other_times(done, seconds), *other_circumstances(list(runs.values())))


def other_times(done: Sequence[Result], seconds: Mapping[str, float | None]) -> Iterator[str]:
    """Recipes that could not be cut to the budget, or whose steps were timed while the machine did something else."""
    for label in dict.fromkeys(each.label for each in done):
        given = seconds.get(label)
        spent = [each.cost.seconds for each in done if each.label == label and each.cost is not None]
        if not given or not spent:
            continue
        mean = sum(spent) / len(spent)
        if mean > LONGEST * given:
            why = "not even the least of it fits, or the machine was busier than when its steps were timed"
        elif mean < SHORTEST * given:
            why = "the whole recipe is shorter, or the machine was less busy than when its steps were timed"
        else:
            continue
        yield f"{label} trained {mean:,.0f} s where {given:,.0f} s were given: {why}."


def other_circumstances(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Trainings that were made by other code or on another machine than the rest."""
    for name, found in {
        "code of minbert": [run["sha256"]["code"][:8] for run in runs],
        "versions of torch": [run["versions"]["torch"] for run in runs],
        "precisions": [run["computes_in"] for run in runs],
        "devices": [run["device"] for run in runs],
    }.items():
        counts = Counter(map(str, found)).most_common()
        if len(counts) > 1:
            shown = ", ".join(f"{value} ({number})" for value, number in counts)
            yield f"The trainings are not all alike in their {name}: {shown}."
