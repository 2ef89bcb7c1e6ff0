"""The requests that a comparison's folder has concluded -> why the tests of its current request are exploratory.

p-values are corrected for the tests of one comparison. Whoever looks at its results and then tests other recipes,
against another baseline, or with more seeds, on some of the same trials, has more chances than these p-values say.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minbert.files import write_json

PLAN_FILE = "compare.json"
# the content of that file, or an entry of its "history"
PlanTable = Mapping[str, Any]


def read_history(path: Path) -> list[dict[str, Any]]:
    """The requests that were concluded before, the first first; none if the file is new, or damaged."""
    try:
        history: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")).get("history", [])
    except (FileNotFoundError, ValueError):
        return []
    return history


def tests_of(plan: PlanTable) -> dict[str, Any]:
    """What the tests of a request depend on: its trials, without those that only measure transfer."""
    trials = [trial for trial in plan["trials"] if trial["label"] in plan["compared"]]
    return {
        "command": plan["command"],
        "baseline": plan["baseline"],
        "compared": plan["compared"],
        "seeds": list(plan["seeds"]),
        "trials": [{name: trial[name] for name in ("key", "label", "seed")} for trial in trials],
    }


def keys_of(tests: PlanTable, seeds: Sequence[int], label: str | None = None) -> set[str]:
    """The trials with these seeds; of one label, or of all."""
    return {each["key"] for each in tests["trials"] if each["seed"] in seeds and label in (None, each["label"])}


def is_same(one: PlanTable, other: PlanTable) -> bool:
    """Whether two requests make the same tests, whatever the recipes are called."""
    return all(
        keys_of(one, one["seeds"], label) == keys_of(other, other["seeds"], label_there)
        for label, label_there in ((None, None), (one["baseline"], other["baseline"]))
    )


def record_conclusion(folder: Path) -> None:
    """Add the tests of the current request, which have been shown, to the history, once."""
    plan = json.loads((folder / PLAN_FILE).read_text(encoding="utf-8"))
    tests, history = tests_of(plan), plan["history"]
    if not any(is_same(tests, each) for each in history):
        write_json(folder / PLAN_FILE, plan | {"history": [*history, tests]})


def exploratory_reasons(plan: PlanTable) -> Iterator[str]:
    """One sentence for each earlier request that made other tests with some of the same trials."""
    tests = tests_of(plan)
    if len(tests["compared"]) < 2:
        return
    said = dict[str, None]()
    for earlier in plan.get("history", []):
        if is_same(tests, earlier):
            # what follows was concluded later
            break
        if len(earlier["compared"]) > 1 and keys_of(tests, tests["seeds"]) & keys_of(earlier, earlier["seeds"]):
            said[what_changed(tests, earlier)] = None
    yield from (
        f"Exploratory: {reason}. p-values are corrected for the tests of one comparison only, so confirm these results "
        "with new seeds in a new folder."
        for reason in said
    )


def what_changed(tests: PlanTable, earlier: PlanTable) -> str:
    """What a request changes of an earlier one."""
    both = [seed for seed in tests["seeds"] if seed in earlier["seeds"]]
    if keys_of(tests, both, tests["baseline"]) != keys_of(earlier, both, earlier["baseline"]):
        return f"some of these trials were compared with another baseline before ({earlier['baseline']})"
    if keys_of(tests, both) != keys_of(earlier, both):
        return "some of these trials were compared with another set of recipes before"
    if set(tests["seeds"]) > set(earlier["seeds"]):
        return "seeds were added after the first look"
    return "the same recipes were compared with other seeds before"
