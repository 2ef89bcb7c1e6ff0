"""(a file of gold labels, files of predictions by system) -> results, in the form of a comparison's."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from minbert.comparison.given_predictions import JudgedPredictions, check_systems, judge_predictions
from minbert.comparison.prediction_files import PredictionColumns, read_gold, read_predictions, sorted_labels
from minbert.comparison.resampling import CLASSIFICATION_METRICS
from minbert.comparison.results import ComparisonResults, ScoreDifference, System
from minbert.comparison.statistics import summarize
from minbert.data.metrics import direction
from minbert.files import sha256
from minbert.plural import plural

DIGEST_CHARACTERS = 16
BY_NAME = PredictionColumns()


def results_from_files(
    gold: Path,
    systems: Mapping[str, Sequence[Path]],
    metric: str | None = None,
    baseline: str | None = None,
    columns: PredictionColumns = BY_NAME,
    command: str = "",
) -> ComparisonResults:
    """`metric`: by default accuracy, or Pearson's r if the gold values are numbers with fractions."""
    check_systems(systems, metric or "accuracy", baseline)
    truth = read_gold(gold, columns)
    metric = metric or ("pearson" if truth.has_fractions else "accuracy")
    classes = metric in CLASSIFICATION_METRICS
    read = {name: [read_predictions(path, truth, metric, columns) for path in paths] for name, paths in systems.items()}
    files = [each for seeds in read.values() for each in seeds]
    labels = sorted_labels({*truth.labels, *(label for each in files for label in each.known_labels(classes))})
    judged = judge_predictions(
        truth.array(classes),
        {name: [each.array(labels) for each in seeds] for name, seeds in read.items()},
        metric=metric,
        baseline=baseline,
        labels=labels if classes else None,
    )
    found = judged_results(judged, systems, metric)
    digests = file_digests([gold, *(each.path for each in files)])
    source = {"gold": f"{plural(judged.rows, 'row')} of {gold.name}", **digests}
    return replace(found, commands=(command,) if command else (), provenance=source)


def judged_results(judged: JudgedPredictions, systems: Mapping[str, Sequence[Path]], metric: str) -> ComparisonResults:
    """`systems`: the files of each one's seeds."""
    made = [given_system(name, judged.scores[name], judged.found.get(name), metric, paths)
            for name, paths in systems.items()]  # fmt: skip
    made.sort(key=lambda each: -direction(metric) * each.summaries[metric].mean)
    return ComparisonResults(
        title=f"{judged.baseline} and {plural(len(made) - 1, 'other system')}",
        baseline=judged.baseline,
        tasks={},
        measures=(metric,),
        seeds=tuple(range(max(map(len, systems.values())))),
        systems=tuple(made),
        complete=True,
        budget="",
        backbone="",
        tested=len(judged.found),
        commands=(),
        provenance={},
        caveats=tuple(given_caveats(systems, judged.baseline)),
    )


def given_system(
    name: str, scores: Sequence[float], found: ScoreDifference | None, metric: str, paths: Sequence[Path]
) -> System:
    return System(
        label=name,
        about="",
        changes=(),
        seeds=tuple(range(len(scores))),
        failed={},
        missing=(),
        summaries={metric: summarize(dict(enumerate(scores)))},
        differences={} if found is None else {metric: found},
        cost=None,
        curves={},
        cosines={},
        runs={seed: str(path) for seed, path in enumerate(paths)},
    )


def file_digests(paths: Sequence[Path]) -> dict[str, str]:
    from minbert import __version__

    files = {str(path): f"SHA-256 {sha256(path)[:DIGEST_CHARACTERS]}" for path in paths}
    return {"minbert version": __version__, "report made on": platform.platform(), **files}


def given_caveats(systems: Mapping[str, Sequence[Path]], baseline: str) -> list[str]:
    """What makes given predictions less comparable than the table suggests."""
    found = []
    fewer = [name for name, paths in systems.items() if len(paths) != len(systems[baseline])]
    if fewer:
        counts = ", ".join(f"{name} {len(paths)}" for name, paths in systems.items())
        found.append(
            f"The systems have different numbers of seeds ({counts}): a difference uses as many as both systems have."
        )
    owners: dict[str, list[str]] = {}
    for name, paths in systems.items():
        for path in paths:
            owners.setdefault(sha256(path), []).append(f"{name} ({path.name})")
    found += [f"{' and '.join(same)} are the same predictions." for same in owners.values() if len(same) > 1]
    return found
