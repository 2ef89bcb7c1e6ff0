"""The folder of a comparison -> everything that it found."""

import json
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minbert.comparison.caveats import caveats
from minbert.comparison.contrasts import DevAnswers
from minbert.comparison.ranking import Ranking, rank_systems, soundness
from minbert.comparison.results import ComparisonResults, TrialResult
from minbert.comparison.store import Store
from minbert.comparison.transfer import does_sharing_help
from minbert.config.task import Task, read_task
from minbert.errors import UserError
from minbert.runs.directory import declared_overall, read_run

# of a long sha256, so much is enough to tell two files apart
SHOWN = 16


def conclude(folder: Path) -> ComparisonResults:
    """From what was asked last; the folder may hold more."""
    plan = read_plan(folder)
    results = planned(folder, plan)
    baseline: str = plan["baseline"]
    about = first_run(folder, [each for each in results if each.label == baseline] + results)
    tasks = tasks_of_run(about)
    labels: list[str] = plan["compared"]
    competing = [each for each in results if each.label in labels]
    verdicts = rank_systems(competing, labels, baseline, tasks, folder, declared_overall(about["folder"]))
    sound, beside = sound_results(results, verdicts, tasks, folder)
    gains, transfers = does_sharing_help(sound, baseline, plan["tasks"], tasks, folder)
    given = {trial["label"]: (trial.get("seconds"), trial.get("steps")) for trial in plan["trials"]}
    return ComparisonResults(
        title=f"{baseline} and {len(labels) - 1} other{'s' if len(labels) != 2 else ''}",
        baseline=baseline,
        tasks=tasks,
        measures=verdicts.measures,
        seeds=verdicts.seeds,
        systems=verdicts.systems,
        # cells that only show whether sharing helps count too
        complete=verdicts.complete and not beside,
        budget=plan["budget"],
        backbone=", ".join(backbones(sound, labels, folder)),
        tested=verdicts.tested,
        commands=(plan["command"], shlex.join(["minbert", "report", str(folder)])),
        provenance=provenance(about),
        gains=gains,
        transfers=transfers,
        beside=beside,
        overall=verdicts.overall,
        caveats=caveats(sound, given, folder, [baseline, *labels]),
    )


def sound_results(
    results: Sequence[TrialResult], verdicts: Ranking, tasks: Mapping[str, Task], folder: Path
) -> tuple[list[TrialResult], dict[str, dict[int, str]]]:
    """What can be compared; of the trainings that only show whether sharing helps, why the others cannot."""
    runs = {each.label: each.runs for each in verdicts.systems}
    sound = [each for each in results if each.run and runs.get(each.label, {}).get(each.seed) == each.run]
    answers, beside = DevAnswers(folder), dict[str, dict[int, str]]()
    # the rows of those that compete are what the others' are held against
    soundness(sound[:1], tasks, answers)
    for label in dict.fromkeys(each.label for each in results if each.label not in runs):
        trials = [each for each in results if each.label == label]
        good, failed = soundness(trials, tasks, answers)
        sound += good
        failed |= {each.seed: each.reason for each in trials if each.state == "missing"}
        if failed:
            beside[label] = failed
    return sound, beside


def backbones(sound: Sequence[TrialResult], labels: Sequence[str], folder: Path) -> list[str]:
    """What the recipes were trained from; usually one."""
    found = (read_run(folder / each.run).get("backbone", "") for each in sound if each.label in labels)
    return list(dict.fromkeys(found))


def read_plan(folder: Path) -> dict[str, Any]:
    path = folder / "compare.json"
    try:
        plan: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder}: not a comparison.", "`minbert compare RECIPE... --out DIR` makes one.") from None
    except ValueError as wrong:
        raise UserError(f"{path}: not JSON: {wrong}", "Run the same `minbert compare` again.") from None
    return plan


def planned(folder: Path, plan: Mapping[str, Any]) -> list[TrialResult]:
    """What came of each cell that was asked for; two labels may have the same training."""
    known, found = Store(folder / "results.sqlite").results(), []
    for trial in plan["trials"]:
        nothing = TrialResult(trial["key"], trial["label"], trial["seed"], "missing", "not trained yet")
        found.append(replace(known.get(trial["key"], nothing), label=trial["label"], seed=trial["seed"]))
    return found


def first_run(folder: Path, results: Sequence[TrialResult]) -> dict[str, Any]:
    """What the first finished training says of itself; the baseline's if it has one."""
    for each in results:
        # one that was removed or damaged is shown as such beside the others
        if each.state == "finished" and (folder / each.run / "run.json").is_file():
            return read_run(folder / each.run) | {"folder": folder / each.run}
    reasons = "\n".join(dict.fromkeys(f"{each.label}: {each.reason}" for each in results))
    raise UserError(f"{folder}: nothing is finished yet.\n{reasons}", "The same `minbert compare` goes on.")


def tasks_of_run(about: Mapping[str, Any]) -> dict[str, Task]:
    names = about["recipe"]["tasks"]
    return {name: read_task(name, str((about["folder"] / "tasks" / f"{name}.toml").resolve())) for name in names}


def provenance(about: Mapping[str, Any]) -> dict[str, str]:
    versions = {f"{name} version": value for name, value in about["versions"].items()}
    data = {f"{name} data": value[:SHOWN] for name, value in about["sha256"]["data"].items()}
    return {
        **versions,
        "computes in": about["computes_in"],
        "device": about["device"],
        "report made on": platform.platform(),
        "code": about["sha256"]["code"][:SHOWN],
        **data,
    }
