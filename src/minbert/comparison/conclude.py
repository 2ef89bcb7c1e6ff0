"""The folder of a comparison -> all its results."""

import json
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minbert.comparison.budget import Budget
from minbert.comparison.caveats import find_caveats
from minbert.comparison.control_differences import ranked_controls
from minbert.comparison.history import PLAN_FILE, exploratory_reasons
from minbert.comparison.ranking import Ranking, comparable_results, rank_systems
from minbert.comparison.results import ComparisonResults, TrialResult
from minbert.comparison.run_differences import PredictionsCache
from minbert.comparison.selection_rows import validation_fractions
from minbert.comparison.store import Store
from minbert.comparison.transfer import measure_transfer
from minbert.comparison.trial import read_result
from minbert.config.task import Task, read_task
from minbert.errors import UserError
from minbert.runs.directory import declared_overall, read_run

# characters of a SHA-256 that are shown
DIGEST_LENGTH = 16


def conclude(folder: Path) -> ComparisonResults:
    """The results of the last plan; the folder may hold more trials."""
    plan = read_plan(folder)
    results = planned_results(folder, plan)
    baseline: str = plan["baseline"]
    about = reference_run(folder, [each for each in results if each.label == baseline] + results)
    tasks = tasks_of_run(about)
    labels: list[str] = plan["compared"]
    competing = [each for each in results if each.label in labels]
    ranking = rank_systems(competing, labels, baseline, tasks, folder, declared_overall(about["folder"]))
    comparable, beside = split_comparable(results, ranking, tasks, folder)
    gains, transfers = measure_transfer(comparable, baseline, plan["tasks"], tasks, folder)
    reasons = Store(folder / "results.sqlite").results()
    controls, unmeasured = ranked_controls(ranking, baseline, tasks, folder, reasons)
    caveats = (*find_caveats(comparable, planned_limits(plan), folder, [baseline, *labels]), *unmeasured)
    return ComparisonResults(
        title=f"{baseline} and {len(labels) - 1} other{'s' if len(labels) != 2 else ''}",
        baseline=baseline,
        tasks=tasks,
        measures=ranking.measures,
        seeds=ranking.seeds,
        systems=ranking.systems,
        # trials that only measure transfer count too
        complete=ranking.complete and not beside,
        budget=plan["budget"],
        backbone=", ".join(backbones_of(comparable, labels, folder)),
        tested=ranking.tested,
        commands=tuple(filter(None, (plan["command"], shlex.join(["minbert", "report", str(folder)])))),
        provenance=provenance(about),
        gains=gains,
        transfers=transfers,
        beside=beside,
        overall=ranking.overall,
        validation=validation_fractions(comparable, labels, folder),
        controls=controls,
        caveats=(*exploratory_reasons(plan), *caveats),
    )


def planned_limits(plan: Mapping[str, Any]) -> dict[str, Budget]:
    """The budget of the trials of each label."""
    found = ((each["label"], [each.get(name) for name in ("seconds", "steps", "examples")]) for each in plan["trials"])
    return {label: Budget(*limits) for label, limits in found}


def split_comparable(
    results: Sequence[TrialResult], ranking: Ranking, tasks: Mapping[str, Task], folder: Path
) -> tuple[list[TrialResult], dict[str, dict[int, str]]]:
    """The trials that can be compared; of those that only measure transfer, why the others cannot."""
    runs = {each.label: each.runs for each in ranking.systems}
    comparable = [each for each in results if each.run and runs.get(each.label, {}).get(each.seed) == each.run]
    cache, beside = PredictionsCache(folder), dict[str, dict[int, str]]()
    # the dev rows of the ranked systems are the reference for the others
    comparable_results(comparable[:1], tasks, cache)
    for label in dict.fromkeys(each.label for each in results if each.label not in runs):
        trials = [each for each in results if each.label == label]
        good, failed = comparable_results(trials, tasks, cache)
        comparable += good
        failed |= {each.seed: each.reason for each in trials if each.state == "missing"}
        if failed:
            beside[label] = failed
    return comparable, beside


def backbones_of(results: Sequence[TrialResult], labels: Sequence[str], folder: Path) -> list[str]:
    """The backbones that the recipes were trained from; usually one."""
    found = (read_run(folder / each.run).get("backbone", "") for each in results if each.label in labels)
    return list(dict.fromkeys(found))


def read_plan(folder: Path) -> dict[str, Any]:
    path = folder / PLAN_FILE
    try:
        plan: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder}: not a comparison.", "`minbert compare RECIPE... --out DIR` makes one.") from None
    except ValueError as wrong:
        raise UserError(f"{path}: not JSON: {wrong}", "Run the same `minbert compare` again.") from None
    return plan


def planned_results(folder: Path, plan: Mapping[str, Any]) -> list[TrialResult]:
    """The result of each planned trial; two labels may have the same one."""
    rows, found = Store(folder / "results.sqlite").results(), []
    for trial in plan["trials"]:
        key, label, seed = trial["key"], trial["label"], trial["seed"]
        # run.json is the record of a finished trial; the table has the reasons of failed ones
        result = read_result(folder, key, label) or rows.get(key)
        missing = TrialResult(key, label, seed, "missing", "not trained yet")
        found.append(replace(result or missing, label=label, seed=seed))
    return found


def reference_run(folder: Path, results: Sequence[TrialResult]) -> dict[str, Any]:
    """run.json of the first finished trial; of the baseline if possible."""
    for each in results:
        # a run that was removed or damaged is reported later, in its place
        if each.state == "finished" and (folder / each.run / "run.json").is_file():
            return read_run(folder / each.run) | {"folder": folder / each.run}
    reasons = "\n".join(dict.fromkeys(f"{each.label}: {each.reason}" for each in results))
    raise UserError(f"{folder}: no trial is finished yet.\n{reasons}", "Run the same `minbert compare` again.")


def tasks_of_run(about: Mapping[str, Any]) -> dict[str, Task]:
    names = about["recipe"]["tasks"]
    return {name: read_task(name, str((about["folder"] / "tasks" / f"{name}.toml").resolve())) for name in names}


def provenance(about: Mapping[str, Any]) -> dict[str, str]:
    versions = {f"{name} version": value for name, value in about["versions"].items()}
    data = {f"{name} data": value[:DIGEST_LENGTH] for name, value in about["sha256"]["data"].items()}
    return {
        **versions,
        "computes in": about["computes_in"],
        "device": about["device"],
        "report made on": platform.platform(),
        "code": about["sha256"]["code"][:DIGEST_LENGTH],
        **data,
    }
