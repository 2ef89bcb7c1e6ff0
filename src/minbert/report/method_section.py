"""Comparison results -> how they were computed, in plain words."""

from minbert.comparison.results import ComparisonResults
from minbert.config.overall_terms import overall_terms
from minbert.data.overall_score import describe_overall
from minbert.plural import plural
from minbert.report.blocks import Facts, Section
from minbert.report.control_sentences import controls_text
from minbert.report.number_format import fixed
from minbert.report.selection_sentences import selection_sentence
from minbert.report.sentences import (
    fewest_shared_seeds,
    join_names,
    main_measure,
    measure_decimals,
    measure_name,
    measures_in_order,
)


def method_section(results: ComparisonResults) -> Section:
    pairs = (
        ("Training", training_text(results)),
        ("Model selection", selection_sentence(results)),
        ("Scores", scores_text(results)),
        ("± and intervals of scores", spread_text(results)),
        ("Differences", differences_text(results)),
        ("Results", results_text(results)),
        ("Minimum detectable effect", detectable_text(results)),
        ("Controls", controls_text(results)),
        (
            "Cost",
            "All costs are means over seeds. Training time excludes reading the data and evaluation. Memory is the "
            "peak of the process; size is that of the saved model.",
        ),
    )
    facts = Facts(tuple((name, text) for name, text in pairs if text))
    return Section("method", "Method", "How this was computed", "", (facts,))


def training_text(results: ComparisonResults) -> str:
    seeds = ", ".join(str(seed) for seed in results.seeds)
    times = "once, with seed" if len(results.seeds) == 1 else f"{len(results.seeds)} times, with seeds"
    start = f"from {results.backbone}" if "," not in results.backbone else "each from its own backbone"
    recipes = "The recipe" if len(results.systems) == 1 else f"Each of the {len(results.systems)} recipes"
    return (
        f"{recipes} was trained {times} {seeds}, {start}, with the same budget: {results.budget}. "
        "The seed determines the order of the data, dropout, and the initial values of new weights."
    )


def scores_text(results: ComparisonResults) -> str:
    said = "After training, each model is evaluated on all rows of the dev files."
    if main_measure(results) != "overall":
        return said
    if results.overall == overall_terms({}, results.tasks) or not results.overall:
        return f"{said} The overall score is the mean of the tasks' main metrics; errors count as negative."
    return f"{said} The overall score is {describe_overall(results.overall)}."


def spread_text(results: ComparisonResults) -> str:
    if len(results.seeds) == 1:
        return "With one seed there is no spread over seeds, so scores have neither ± nor an interval."
    return (
        "± is one standard deviation over seeds. The interval of a mean is a 95 % interval over seeds (Student's t): "
        "it covers the variation between seeds, not the choice of dev rows."
    )


def differences_text(results: ComparisonResults) -> str:
    if len(results.systems) < 2:
        return ""
    known = {fewest_shared_seeds(each) for each in results.systems} - {None}
    covers = "the variation between seeds and the choice of dev rows (bootstrap)"
    if known == {1}:
        covers = "only the choice of dev rows (bootstrap)"
    elif 1 in known:
        covers += "; where the two share only one seed, it covers only the choice of dev rows"
    return (
        f"A difference is a recipe's mean minus the mean of {results.baseline}, over the seeds that both have. Above 0 "
        f"is better, also for errors. Its 95 % interval covers {covers}.{pooling_text(results)}"
    )


def pooling_text(results: ComparisonResults) -> str:
    if len(results.seeds) == 1:
        return ""
    return (
        " The variance between seeds is pooled over all recipes on the same measure, because that of a few seeds says "
        "little; a recipe whose seeds differ more keeps its own."
    )


def results_text(results: ComparisonResults) -> str:
    if not results.tested:
        return ""
    return (
        f"{plural(results.tested, 'difference')} {'was' if results.tested == 1 else 'were'} tested together. The p "
        "values are corrected with Holm's method, so that the chance of calling any difference real when there is none "
        "stays below 5 %. “Better” and “worse” mean a corrected p below 0.05. Everything else is “no evidence of a "
        "difference”, which does not mean “equal”. The separate p value over rows is from a permutation test on the "
        "dev rows: it asks only whether these particular trained models differ."
    )


def detectable_text(results: ComparisonResults) -> str:
    said = []
    for measure in measures_in_order(results):
        found = [
            each.differences[measure].minimum_detectable_effect
            for each in results.systems
            if measure in each.differences
        ]
        if found:
            decimals = measure_decimals(results, measure)
            # one number for all recipes on a measure
            said.append(f"{fixed(found[0], decimals)} in {measure_name(measure)}")
    if not said:
        return ""
    return (
        "With these seeds and dev rows, this comparison would detect a true difference of this size four times in "
        f"five: {join_names(said)}. Smaller differences can hide behind “no evidence”."
    )
