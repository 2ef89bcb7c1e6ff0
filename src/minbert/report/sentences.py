"""Findings -> sentences."""

from collections.abc import Sequence

from minbert.comparison.results import BETTER, OVERALL, WORSE, ComparisonResults, System
from minbert.data.metrics import direction
from minbert.report.number_format import fixed, places

METRICS = {
    "macro_f1": "macro F1",
    "f1": "F1",
    "log_loss": "log loss",
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "mse": "mean squared error",
    "mae": "mean absolute error",
}
SYMBOLS = {BETTER: "▲", WORSE: "▼"}
TONES = {BETTER: "better", WORSE: "worse"}
# more names than these tire a reader
NAMES = 4


def listed(names: Sequence[str], last: str = "and") -> str:
    """a, b and c; of many, the first few."""
    if len(names) > NAMES + 1:
        names = [*names[:NAMES], f"{len(names) - NAMES} others"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def measure_name(measure: str) -> str:
    """sst.accuracy -> sst accuracy."""
    task, _, metric = measure.rpartition(".")
    return f"{task} {METRICS.get(metric, metric)}" if task else f"{measure} score"


def rising(measure: str) -> bool:
    """Whether more is better."""
    return direction(measure.rpartition(".")[2]) > 0


def main_measure(results: ComparisonResults) -> str:
    """The one that ranks; of a single task, overall is the same number by another name."""
    if len(results.measures) == 2 and OVERALL in results.measures:
        return next(measure for measure in results.measures if measure != OVERALL)
    return OVERALL if OVERALL in results.measures else results.measures[-1]


def measures_in_order(results: ComparisonResults) -> list[str]:
    """The one that ranks first."""
    main = main_measure(results)
    return [main, *(measure for measure in results.measures if measure not in (main, OVERALL))]


def decimals(results: ComparisonResults, measure: str) -> int:
    spreads: list[float | None] = []
    for system in results.systems:
        if summary := system.summaries.get(measure):
            spreads.append(summary.sd)
        if difference := system.differences.get(measure):
            spreads.append((difference.high - difference.low) / 4)
    return places(spreads)


def headline(results: ComparisonResults) -> tuple[str, ...]:
    """Who is ahead, who is behind, and of whom nobody knows: from the verdicts on the measure that ranks."""
    measure = main_measure(results)
    name, digits = measure_name(measure), decimals(results, measure)
    others = [each for each in results.systems if each.label != results.baseline]
    ahead = [each for each in others if verdict(each, measure) == BETTER]
    behind = [each for each in others if verdict(each, measure) == WORSE]
    unclear = [each for each in others if verdict(each, measure) not in (BETTER, WORSE, None)]
    unknown = [each for each in others if verdict(each, measure) is None]
    base, sentences = quoted(results.baseline), []
    if ahead:
        verb = "is" if len(ahead) == 1 else "are"
        sentences.append(f"{listed(labels(ahead))} {verb} ahead of {base}{by(ahead, measure, name, digits)}.")
    if behind:
        sentences.append(f"{base} is ahead of {listed(labels(behind))}{by(behind, measure, name, digits)}.")
    if unclear and not ahead and not behind and len(others) > 1:
        sentences.append(f"There is no evidence that any recipe differs from {base} in {name}.")
    elif unclear:
        between_whom = f"{base} and {listed(labels(unclear), 'or')}"
        sentences.append(f"There is no evidence of a difference between {between_whom} in {name}.")
    if unknown:
        sentences.append(f"{listed(labels(unknown))} cannot be compared in {name}.")
    return tuple(sentences) or (alone(results, measure, name, digits),)


def labels(systems: Sequence[System]) -> list[str]:
    return [quoted(each.label) for each in systems]


def quoted(label: str) -> str:
    """A label of several words would be lost in a sentence."""
    return f"“{label}”" if " " in label else label


def verdict(system: System, measure: str) -> str | None:
    difference = system.differences.get(measure)
    return difference.result if difference else None


def by(systems: Sequence[System], measure: str, name: str, digits: int) -> str:
    """By how much: one difference, or the range of several."""
    found = [each.differences[measure] for each in systems]
    sizes = [fixed(size, digits) for size in sorted(abs(each.value) for each in found)]
    return f" by {sizes[0]} in {name}" if len(sizes) == 1 else f" by {sizes[0]} to {sizes[-1]} in {name}"


def alone(results: ComparisonResults, measure: str, name: str, digits: int) -> str:
    for each in results.systems:
        if summary := each.summaries.get(measure):
            score = f"{fixed(summary.mean, digits)} in {name}"
            return f"{quoted(each.label)} has {score}; there is nothing to compare it with."
    return "There is no result yet."


def cautions(results: ComparisonResults) -> tuple[str, ...]:
    """What a reader must know before the numbers."""
    said = []
    main = main_measure(results)
    first = results.systems[0] if results.systems else None
    if first and first.label != results.baseline and verdict(first, main) not in (BETTER, None):
        said.append(f"{quoted(first.label)} has the best mean, which is not evidence that it is better.")
    single = [each for each in results.systems if seeds_of(each) == 1]
    if single and len(single) == sum(bool(each.differences) for each in results.systems):
        said.append("There is one seed: intervals cover the dev rows only, and another seed may change the order.")
    elif single:
        said.append(
            f"{listed(labels(single))} {'has' if len(single) == 1 else 'have'} one seed in common with "
            f"{quoted(results.baseline)}: those intervals cover the dev rows only, and another seed may change them."
        )
    return tuple(said)


def seeds_of(system: System) -> int | None:
    """How many its differences are of, at least."""
    return min((each.seeds for each in system.differences.values()), default=None)
