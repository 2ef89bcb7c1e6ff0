"""Comparison results -> sentences, and the names of measures and metrics."""

from collections.abc import Sequence

from minbert.comparison.results import BETTER, OVERALL, WORSE, ComparisonResults, ScoreDifference, System
from minbert.data.metrics import direction
from minbert.report.number_format import decimals_for, fixed

METRIC_NAMES = {
    "macro_f1": "macro F1",
    "f1": "F1",
    "log_loss": "log loss",
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "mse": "mean squared error",
    "mae": "mean absolute error",
}
RESULT_SYMBOLS = {BETTER: "▲", WORSE: "▼"}
RESULT_TONES = {BETTER: "better", WORSE: "worse"}
# a longer list names only this many
MOST_NAMES = 4


def join_names(names: Sequence[str], last: str = "and", most: int = MOST_NAMES) -> str:
    """a, b and c; a long list names the first few."""
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} others"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def measure_name(measure: str) -> str:
    """sst.accuracy -> sst accuracy; predictions of other tools have no task."""
    task, _, metric = measure.rpartition(".")
    name = METRIC_NAMES.get(metric, metric)
    return f"{task} {name}" if task else f"{OVERALL} score" if measure == OVERALL else name


def higher_is_better(measure: str) -> bool:
    return direction(measure.rpartition(".")[2]) > 0


def main_measure(results: ComparisonResults) -> str:
    """The measure that ranks the systems; with a single task the task's own, because overall is the same number."""
    if len(results.measures) == 2 and OVERALL in results.measures and set(results.overall) <= set(results.measures):
        return next(measure for measure in results.measures if measure != OVERALL)
    return OVERALL if OVERALL in results.measures else results.measures[-1]


def measures_in_order(results: ComparisonResults) -> list[str]:
    """The main measure first."""
    main = main_measure(results)
    return [main, *(measure for measure in results.measures if measure not in (main, OVERALL))]


def measure_decimals(results: ComparisonResults, measure: str) -> int:
    """The decimals of a measure's scores and differences, by their standard errors over seeds and dev rows."""
    differences = [each.differences[measure] for each in results.systems if measure in each.differences]
    summaries = [each.summaries[measure] for each in results.systems if measure in each.summaries]
    return decimals_for(
        [
            *(standard_error(each) for each in differences),
            *(each.sd / len(each.values) ** 0.5 for each in summaries if each.sd is not None),
        ]
    )


def standard_error(difference: ScoreDifference) -> float:
    """About a quarter of the 95 % interval."""
    return (difference.high - difference.low) / 4


def comparison_headline(results: ComparisonResults, what: str = "recipe") -> tuple[str, ...]:
    """Which systems are ahead of the baseline, behind it, or not known to differ, on the main measure."""
    measure = main_measure(results)
    name, decimals = measure_name(measure), measure_decimals(results, measure)
    others = [each for each in results.systems if each.label != results.baseline]
    ahead = [each for each in others if result_on(each, measure) == BETTER]
    behind = [each for each in others if result_on(each, measure) == WORSE]
    unclear = [each for each in others if result_on(each, measure) not in (BETTER, WORSE, None)]
    unknown = [each for each in others if result_on(each, measure) is None]
    base, sentences = quoted(results.baseline), []
    if ahead:
        verb = "is" if len(ahead) == 1 else "are"
        amount = by_how_much(ahead, measure, decimals)
        sentences.append(f"{join_names(quoted_labels(ahead))} {verb} ahead of {base} by {amount} in {name}.")
    if behind:
        amount = by_how_much(behind, measure, decimals)
        sentences.append(f"{base} is ahead of {join_names(quoted_labels(behind))} by {amount} in {name}.")
    if unclear and not ahead and not behind and len(others) > 1:
        sentences.append(f"There is no evidence that any {what} differs from {base} in {name}.")
    elif unclear:
        both = f"{base} and {join_names(quoted_labels(unclear), 'or')}"
        sentences.append(f"There is no evidence of a difference between {both} in {name}.")
    if unknown:
        sentences.append(f"{join_names(quoted_labels(unknown))} cannot be compared in {name}.")
    return tuple(sentences) or (single_system_sentence(results, measure, name, decimals),)


def difference_caption(what: str, baseline: str) -> str:
    """How to read a forest plot."""
    return (
        f"Dots are mean differences from {baseline}, with 95 % intervals. A filled dot is better or worse; a hollow "
        "dot means no evidence of a difference. The thin line extends the interval by the correction for all tests: "
        f"a {what} whose thin line crosses 0 is not known to differ. The band is the minimum detectable effect: a true "
        "difference at its edge would be detected about four times in five."
    )


def quoted_labels(systems: Sequence[System]) -> list[str]:
    return [quoted(each.label) for each in systems]


def quoted(label: str) -> str:
    """A label of several words is quoted, so that it stands out in a sentence."""
    return f"“{label}”" if " " in label else label


def result_on(system: System, measure: str) -> str | None:
    difference = system.differences.get(measure)
    return difference.result if difference else None


def by_how_much(systems: Sequence[System], measure: str, decimals: int) -> str:
    """The size of one difference, or the range of several."""
    sizes = [fixed(size, decimals) for size in sorted(abs(each.differences[measure].value) for each in systems)]
    return sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"


def single_system_sentence(results: ComparisonResults, measure: str, name: str, decimals: int) -> str:
    for each in results.systems:
        if summary := each.summaries.get(measure):
            score = f"{fixed(summary.mean, decimals)} in {name}"
            return f"{quoted(each.label)} scores {score}; there is nothing to compare it with."
    return "There are no results yet."


def cautions(results: ComparisonResults) -> tuple[str, ...]:
    """What a reader must know before reading the numbers."""
    said = []
    main = main_measure(results)
    first = results.systems[0] if results.systems else None
    if first and first.label != results.baseline and result_on(first, main) not in (BETTER, None):
        said.append(f"{quoted(first.label)} has the best mean, but that is not evidence that it is better.")
    single = [each for each in results.systems if fewest_shared_seeds(each) == 1]
    if single and len(single) == sum(bool(each.differences) for each in results.systems):
        said.append("There is only one seed: intervals cover the dev rows only, and another seed may change the order.")
    elif single:
        said.append(
            f"{join_names(quoted_labels(single))} {'shares' if len(single) == 1 else 'share'} only one seed with "
            f"{quoted(results.baseline)}: those intervals cover the dev rows only, and another seed may change them."
        )
    return tuple(said)


def fewest_shared_seeds(system: System) -> int | None:
    """The smallest number of seeds that any of its differences is based on."""
    return min((each.seeds for each in system.differences.values()), default=None)
