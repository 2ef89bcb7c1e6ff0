"""Findings -> how they were computed, in plain words."""

from minbert.comparison.results import ComparisonResults
from minbert.report.number_format import fixed
from minbert.report.sentences import count, decimals, listed, main_measure, measure_name, measures_in_order, seeds_of


def method(results: ComparisonResults) -> tuple[tuple[str, str], ...]:
    """(what, how)."""
    pairs = [
        ("Training", training(results)),
        ("Scores", scores(results)),
        ("± and intervals of scores", spread(results)),
        ("Differences", differences(results)),
        ("Verdicts", verdicts(results)),
        ("What could be seen", smallest(results)),
        (
            "Cost",
            "Seconds of training without reading and measuring, and everything else, are means over the seeds. "
            "Memory is that of the process at its largest; size is that of the saved model.",
        ),
    ]
    return tuple((what, how) for what, how in pairs if how)


def training(results: ComparisonResults) -> str:
    seeds = ", ".join(str(seed) for seed in results.seeds)
    times = "once, with seed" if len(results.seeds) == 1 else f"{len(results.seeds)} times, with the seeds"
    start = f"from {results.backbone}" if "," not in results.backbone else "each from its own backbone"
    return (
        f"Each of {count(len(results.systems), 'recipe')} was trained {times} {seeds}, {start}, "
        f"under the same budget: {results.budget}. A seed decides the order of the data, dropout and fresh weights."
    )


def scores(results: ComparisonResults) -> str:
    said = "After training, each model answers all rows of the dev files."
    if main_measure(results) != "overall":
        return said
    if {"sst", "quora", "sts"} <= set(results.tasks):
        return f"{said} The overall score is (sst + quora + (sts + 1) / 2) / 3, of two accuracies and Pearson's r."
    return f"{said} The overall score is the mean of the tasks' main metrics; errors count as negative."


def spread(results: ComparisonResults) -> str:
    if len(results.seeds) == 1:
        return "With one seed there is no spread over seeds, so scores have neither ± nor interval."
    return (
        "After ± stands one standard deviation over seeds. The interval beside a mean is a 95 % interval over seeds "
        "(Student's t): it covers the luck of the seeds, not that of the dev rows."
    )


def differences(results: ComparisonResults) -> str:
    if len(results.systems) < 2:
        return ""
    known = {seeds_of(each) for each in results.systems} - {None}
    covers = "the luck of the seeds and of the dev rows"
    if known == {1}:
        covers = "the luck of the dev rows alone"
    elif 1 in known:
        covers += "; of the dev rows alone where there is one seed that both have"
    return (
        f"A difference is a recipe's mean minus that of {results.baseline} over the seeds that both have; above 0 is "
        f"better, also for errors. Its 95 % interval covers {covers}."
    )


def verdicts(results: ComparisonResults) -> str:
    if not results.tested:
        return ""
    return (
        f"{count(results.tested, 'difference')} {'was' if results.tested == 1 else 'were'} tested together. Their p "
        "values are corrected by Holm's method, so that the chance of calling any difference real where there is none "
        "stays below 5 %. “Better” and “worse” are said below a corrected p of 0.05; anything else is “no evidence of "
        "a difference”, which is not the same as “equal”."
    )


def smallest(results: ComparisonResults) -> str:
    said = []
    for measure in measures_in_order(results):
        found = [
            each.differences[measure].minimum_detectable_effect
            for each in results.systems
            if measure in each.differences
        ]
        if found:
            digits = decimals(results, measure)
            low, high = fixed(min(found), digits), fixed(max(found), digits)
            said.append(f"{low if low == high else f'{low} to {high}'} in {measure_name(measure)}")
    if not said:
        return ""
    return (
        "With these seeds and dev rows, four in five times this comparison finds a true difference of "
        f"{listed(said)}. Smaller ones can hide in “no evidence”."
    )
