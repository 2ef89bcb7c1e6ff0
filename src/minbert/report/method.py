"""Findings -> how they were computed, in plain words."""

from minbert.comparison.results import Findings
from minbert.report.numbers import fixed
from minbert.report.words import count, decimals, listed, main_measure, measure_name, measures_in_order, seeds_of


def method(findings: Findings) -> tuple[tuple[str, str], ...]:
    """(what, how)."""
    pairs = [
        ("Training", training(findings)),
        ("Scores", scores(findings)),
        ("± and intervals of scores", spread(findings)),
        ("Differences", differences(findings)),
        ("Verdicts", verdicts(findings)),
        ("What could be seen", smallest(findings)),
        (
            "Cost",
            "Seconds of training without reading and measuring, and everything else, are means over the seeds. "
            "Memory is that of the process at its largest; size is that of the saved model.",
        ),
    ]
    return tuple((what, how) for what, how in pairs if how)


def training(findings: Findings) -> str:
    seeds = ", ".join(str(seed) for seed in findings.seeds)
    times = "once, with seed" if len(findings.seeds) == 1 else f"{len(findings.seeds)} times, with the seeds"
    start = f"from {findings.backbone}" if "," not in findings.backbone else "each from its own backbone"
    return (
        f"Each of {count(len(findings.contestants), 'recipe')} was trained {times} {seeds}, {start}, "
        f"under the same budget: {findings.budget}. A seed decides the order of the data, dropout and fresh weights."
    )


def scores(findings: Findings) -> str:
    said = "After training, each model answers all rows of the dev files."
    if main_measure(findings) != "overall":
        return said
    if {"sst", "quora", "sts"} <= set(findings.tasks):
        return f"{said} The overall score is (sst + quora + (sts + 1) / 2) / 3, of two accuracies and Pearson's r."
    return f"{said} The overall score is the mean of the tasks' main metrics; errors count as negative."


def spread(findings: Findings) -> str:
    if len(findings.seeds) == 1:
        return "With one seed there is no spread over seeds, so scores have neither ± nor interval."
    return (
        "After ± stands one standard deviation over seeds. The interval beside a mean is a 95 % interval over seeds "
        "(Student's t): it covers the luck of the seeds, not that of the dev rows."
    )


def differences(findings: Findings) -> str:
    if len(findings.contestants) < 2:
        return ""
    known = {seeds_of(each) for each in findings.contestants} - {None}
    covers = "the luck of the seeds and of the dev rows"
    if known == {1}:
        covers = "the luck of the dev rows alone"
    elif 1 in known:
        covers += "; of the dev rows alone where there is one seed that both have"
    return (
        f"A difference is a recipe's mean minus that of {findings.baseline} over the seeds that both have; above 0 is "
        f"better, also for errors. Its 95 % interval covers {covers}."
    )


def verdicts(findings: Findings) -> str:
    if not findings.tested:
        return ""
    return (
        f"{count(findings.tested, 'difference')} {'was' if findings.tested == 1 else 'were'} tested together. Their p "
        "values are corrected by Holm's method, so that the chance of calling any difference real where there is none "
        "stays below 5 %. “Better” and “worse” are said below a corrected p of 0.05; anything else is “no evidence of "
        "a difference”, which is not the same as “equal”."
    )


def smallest(findings: Findings) -> str:
    said = []
    for measure in measures_in_order(findings):
        found = [each.differences[measure].smallest for each in findings.contestants if measure in each.differences]
        if found:
            digits = decimals(findings, measure)
            low, high = fixed(min(found), digits), fixed(max(found), digits)
            said.append(f"{low if low == high else f'{low} to {high}'} in {measure_name(measure)}")
    if not said:
        return ""
    return (
        "With these seeds and dev rows, four in five times this comparison finds a true difference of "
        f"{listed(said)}. Smaller ones can hide in “no evidence”."
    )
