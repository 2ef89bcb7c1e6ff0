"""Differences and what they are worth: hand-worked numbers, scipy's tests, and simulated comparisons."""

import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from minbert.comparison.resampling import CLASSIFICATION_METRICS, SpearmanMetric, SummableMetric, bootstrap_weights
from minbert.comparison.results import BETTER, NO_EVIDENCE, WORSE, ScoreDifference
from minbert.comparison.run_differences import overall_pairs, overall_parts
from minbert.comparison.statistics import (
    Evidence,
    PairedScores,
    difference_evidence,
    holm_correction,
    judge_differences,
    score_pairs,
    summarize,
    uncertainties,
)
from minbert.comparison.uncertainty import Uncertainty
from minbert.config.overall_terms import OverallTerm
from minbert.config.task import Task, read_task
from minbert.data.metrics import classify_scores, regression_scores
from minbert.data.overall_score import overall


def close(value: float, digits: float = 1e-9) -> Any:
    return pytest.approx(value, abs=digits)


def pairs_of(left: list[float], right: list[float], resampled: list[list[float]]) -> PairedScores:
    return PairedScores(np.array(left), np.array(right), np.array(resampled), np.zeros((3, len(left))))


def judge(found: Evidence, others: int = 0) -> ScoreDifference:
    """One difference, tested together with others, on other measures, of which nothing is seen."""
    return judge_differences([found, *[known(0.0, 1.0, f"other {i}") for i in range(others)]])[0]


def known(value: float, variance: float, measure: str) -> Evidence:
    """The difference of one seed, whose variance over rows is known."""
    return Evidence(measure, (value,), (0.0,), variance, 0.0, 1.0, None, None)


def alone(found: Evidence) -> Uncertainty:
    return uncertainties([found])[0]


# ---- over seeds ---------------------------------------------------------------------------------------


def test_the_interval_of_three_numbers() -> None:
    # mean 2, sd 1; Student's t of 2 degrees of freedom is 4.30265 at 97.5 %, over the root of 3
    found = summarize({0: 1.0, 1: 2.0, 2: 3.0})
    assert (found.mean, found.sd) == (2.0, 1.0)
    assert (found.low, found.high) == (close(2 - 2.484138, 1e-6), close(2 + 2.484138, 1e-6))


def test_one_number_has_no_interval() -> None:
    found = summarize({7: 0.5})
    assert (found.mean, found.sd, found.low, found.high, found.values) == (0.5, None, None, None, {7: 0.5})


# ---- every metric under resampling --------------------------------------------------------------------

RNG = np.random.default_rng(0)
ROWS = 40
THREE = (RNG.integers(3, size=ROWS), [RNG.dirichlet(np.ones(3), ROWS) for _ in range(4)])
TWO = (RNG.integers(2, size=ROWS), [RNG.dirichlet(np.ones(2), ROWS) for _ in range(4)])
Y = RNG.integers(0, 11, size=ROWS) / 2
# rounded, so that there are ties
SCORES = (Y, [np.round(Y + RNG.normal(size=ROWS), 1) for _ in range(4)])
CASES = [
    *[(metric, kind) for kind in (TWO, THREE) for metric in CLASSIFICATION_METRICS],
    *[(metric, SCORES) for metric in ("pearson", "spearman", "mse", "mae")],
]


def plain(metric: str, answers: Any, labels: Any) -> float:
    score = classify_scores if answers.ndim == 2 else regression_scores
    return score(answers, labels)[metric]


def table_of(metric: str, answers: Any, labels: Any) -> SummableMetric | SpearmanMetric:
    return SpearmanMetric(answers, labels) if metric == "spearman" else SummableMetric(metric, answers, labels)


@pytest.mark.parametrize(("metric", "given"), CASES)
def test_rows_drawn_anew_score_as_those_rows_do(metric: str, given: Any) -> None:
    labels, answers = given
    weights = bootstrap_weights(np.random.default_rng(1), 5, ROWS)
    values = table_of(metric, answers, labels).resampled(weights)
    for r, counts in enumerate(weights.astype(int)):
        rows = np.repeat(np.arange(ROWS), counts)
        assert values[r] == close([plain(metric, each[rows], labels[rows]) for each in answers])


@pytest.mark.parametrize(("metric", "given"), CASES)
def test_exchanged_answers_score_as_if_they_had_been_given_so(metric: str, given: Any) -> None:
    labels, answers = given
    swaps = np.random.default_rng(2).random((5, ROWS)) < 0.5
    found = table_of(metric, answers, labels).swapped(swaps.astype(float), np.array([0, 3]), np.array([1, 2]))
    for r, swap in enumerate(swaps):
        for p, (i, j) in enumerate([(0, 1), (3, 2)]):
            this, that = answers[i].copy(), answers[j].copy()
            this[swap], that[swap] = answers[j][swap], answers[i][swap]
            assert found[r, p] == close(plain(metric, this, labels) - plain(metric, that, labels))


def test_answers_that_do_not_vary_correlate_with_nothing() -> None:
    constant = np.full(ROWS, 2.7)
    for metric in ("pearson", "spearman"):
        found = score_pairs(metric, Y, [SCORES[1][0], constant], [(0, 1)], [0], 50)
        assert found.right_P.tolist() == [0.0]
        assert np.isfinite(found.resampled_RP).all() and np.isfinite(found.swapped_RP).all()


def test_a_metric_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no metric 'bleu'"):
        SummableMetric("bleu", THREE[1], THREE[0])


# ---- agreement with scipy -----------------------------------------------------------------------------


def test_exchanging_rows_is_scipys_paired_permutation_test() -> None:
    # ten rows, so that scipy goes through all 1024 exchanges
    labels = np.zeros(10)
    this, that = np.array([1.0, 2, 1, 3, 1, 2, 1, 1, 2, 1]), np.array([2.0, 3, 1, 5, 2, 1, 3, 2, 2, 2])
    found = difference_evidence(score_pairs("mae", labels, [this, that], [(0, 1)], [0], 20_000), best_is_one=False)
    exact = stats.permutation_test(
        (that, this), lambda a, b, axis: (a - b).mean(axis), permutation_type="samples", n_resamples=np.inf
    )
    # less is better: this one is, by .8
    assert found.value == close(0.8) and exact.statistic == close(0.8)
    # of 20,000 draws: three standard deviations
    assert found.p_rows == pytest.approx(exact.pvalue, abs=3 * (exact.pvalue / 20_000) ** 0.5)


def test_with_one_seed_the_error_is_scipys_paired_bootstrap() -> None:
    this, that = SCORES[1][:2]
    ours = difference_evidence(score_pairs("pearson", Y, [this, that], [(0, 1)], [0]), best_is_one=True)

    def difference(x: Any, z: Any, y: Any) -> float:
        return float(np.corrcoef(x, y)[0, 1] - np.corrcoef(z, y)[0, 1])

    theirs = stats.bootstrap((this, that, Y), difference, paired=True, vectorized=False, n_resamples=1000, rng=1)
    assert alone(ours).error == pytest.approx(theirs.standard_error, rel=0.1)
    assert alone(ours).freedom == 0


def test_where_rows_do_not_matter_it_is_students_test() -> None:
    """Of two samples with the same variance."""
    left, right = [0.9, 0.8, 0.85, 0.95], [0.7, 0.8, 0.75, 0.85]
    found = judge(difference_evidence(pairs_of(left, right, [[0.0] * 4] * 3), best_is_one=True))
    student = stats.ttest_ind(left, right)
    interval = student.confidence_interval(0.95)
    assert found.p == pytest.approx(student.pvalue, rel=1e-3)
    assert (found.low, found.high) == (close(interval.low, 1e-4), close(interval.high, 1e-4))


# ---- seeds and rows, by hand --------------------------------------------------------------------------


def test_what_rows_do_to_all_seeds_is_added_to_what_seeds_do() -> None:
    # scores 3 and 1, and twice 0: variances 2 and 0, pooled 1; the larger ones are 2 and 1, over 2 seeds 1.5. Rows move
    # both seeds alike, with variance 1
    found = difference_evidence(pairs_of([3.0, 1], [0.0, 0], [[1.0, 1], [-1, -1], [0, 0]]), best_is_one=False)
    assert alone(found) == Uncertainty(close(1.5), 2, close(1))
    assert found.value == 2 and alone(found).error == close(2.5**0.5)


def test_what_rows_do_to_each_seed_by_itself_is_in_the_seeds_already() -> None:
    # rows move the two seeds against each other with variance 1 each: own = (1 - 0) / 1, shared = 0
    found = difference_evidence(pairs_of([3.0, 1], [0.0, 0], [[1.0, -1], [-1, 1], [0, 0]]), best_is_one=False)
    assert alone(found) == Uncertainty(close(1.5), 2, 0)


def test_seeds_that_agree_by_chance_do_not_hide_what_rows_do() -> None:
    # both seeds 1; rows have variance 1 in each, 1/2 in the mean: mean of four independent moves
    moves = [[1.5**0.5, 0.0], [-(1.5**0.5), 0], [0, 1.5**0.5], [0, -(1.5**0.5)]]
    found = difference_evidence(pairs_of([1.0, 1], [0.0, 0], moves), best_is_one=False)
    assert alone(found).error == close(0.5**0.5)


def test_variances_are_pooled_over_all_systems_of_a_measure() -> None:
    """Systems with variances 0, 2 and 4, the baseline counted once: pooled 2, three degrees of freedom."""
    base, calm, wild = (0.0, 2.0), (1.0, 1.0), (0.0, 8.0**0.5)
    both = [Evidence("a", each, base, 1.0, 0.0, 1.0, None, None) for each in (calm, wild)]
    other = Evidence("b", calm, base, 1.0, 0.0, 1.0, None, None)
    assert uncertainties([*both, other]) == [
        Uncertainty(close((2 + 2) / 2), 3, 1.0),
        Uncertainty(close((4 + 2) / 2), 3, 1.0),
        # on another measure, which has seen no third system: pooled 1, but the baseline keeps its 2
        Uncertainty(close((1 + 2) / 2), 2, 1.0),
    ]


def test_a_system_with_one_seed_gets_the_variance_of_the_others() -> None:
    both = [
        Evidence("a", (1.0, 3.0), (0.0, 2.0), 0.0, 0.0, 1.0, None, None),
        Evidence("a", (5.0,), (0.0,), 0.0, 0.0, 1.0, None, None),
    ]
    assert uncertainties(both)[1] == Uncertainty(close(4), 2, 0.0)


def test_one_seed_goes_by_rows_and_the_normal_distribution() -> None:
    found = difference_evidence(pairs_of([1.959964], [0.0], [[1.0], [-1], [0]]), best_is_one=False)
    assert alone(found).error == close(1) and judge(found).p == close(0.05, 1e-6) and found.effect is None


def test_models_that_answer_the_same_are_not_different() -> None:
    found = judge(
        difference_evidence(score_pairs("accuracy", THREE[0], [THREE[1][0]] * 2, [(0, 1)], [0], 50), best_is_one=True)
    )
    assert (found.value, found.low, found.high, found.p, found.p_rows, found.minimum_detectable_effect) == (
        0,
        0,
        0,
        1,
        1,
        0,
    )
    assert found.result == NO_EVIDENCE


def test_effect_and_errors_removed() -> None:
    # sds .1 and .1: pooled .1; means .9 and .8. Errors fall from .2 to .1
    pairs = pairs_of([0.8, 0.9, 1.0], [0.7, 0.8, 0.9], [[0.0] * 3] * 2)
    found = difference_evidence(pairs, best_is_one=True)
    assert (found.effect, found.errors_removed) == (close(1), close(0.5))
    assert difference_evidence(pairs, best_is_one=False).errors_removed is None
    assert difference_evidence(pairs_of([0.9], [1.0], [[0.0]] * 2), best_is_one=True).errors_removed is None


def test_less_is_better_is_turned_round() -> None:
    labels, answers = np.zeros(4), [np.ones(4), np.full(4, 3.0)]
    found = score_pairs("mse", labels, answers, [(0, 1)], [0], 10)
    assert (found.left_P.tolist(), found.right_P.tolist()) == ([-1.0], [-9.0])
    assert found.resampled_RP == close(8)


# ---- many differences ---------------------------------------------------------------------------------


def test_holms_correction() -> None:
    # sorted: .005 x 4, .01 x 3, .03 x 2, .04 x 1, which may not be below the one before
    assert holm_correction([0.01, 0.04, 0.03, 0.005]) == close([0.03, 0.06, 0.06, 0.02])
    assert holm_correction([0.6, 0.5]) == [1.0, 1.0]
    assert holm_correction([]) == []


def test_verdicts_go_by_corrected_p_and_agree_with_the_corrected_intervals() -> None:
    # two-sided p of the normal distribution: .0027, .0357, .0001
    found = [known(3.0, 1.0, "a"), known(2.1, 1.0, "b"), known(-3.9, 1.0, "c")]
    assert [each.result for each in judge_differences(found)] == [BETTER, BETTER, WORSE]
    # .0357 x 2 with one more that shows nothing
    judged = judge_differences([*found, known(0.1, 1.0, "d")])
    assert [each.result for each in judged] == [BETTER, NO_EVIDENCE, WORSE, NO_EVIDENCE]
    for each in judged:
        assert (each.corrected_low <= 0 <= each.corrected_high) == (each.result == NO_EVIDENCE)
        assert each.corrected_low <= each.low < each.high <= each.corrected_high
    # the second smallest of four p-values is tested at .05 / 3: normal quantile 2.393980
    assert judged[0].corrected_low == close(3 - 2.393980, 1e-6)


def test_the_smallest_difference_that_can_be_seen() -> None:
    found = known(0.0, 0.25, "a")
    # normal quantiles: 97.5 % 1.959964, 80 % .841621; at .05 / 4: 99.375 % 2.497705
    assert judge(found).minimum_detectable_effect == close(0.5 * (1.959964 + 0.841621), 1e-6)
    assert judge(found, others=3).minimum_detectable_effect == close(0.5 * (2.497705 + 0.841621), 1e-6)
    # the interval is that of this difference by itself
    assert judge(found, others=3).high == close(0.5 * 1.959964, 1e-6)


# ---- overall ------------------------------------------------------------------------------------------


COURSE = {"sst.accuracy": 1.0, "quora.accuracy": 1.0, "sts.pearson": OverallTerm(transform="zero_to_one")}


def test_the_parts_of_the_overall_score() -> None:
    course = {name: read_task(name) for name in ("sst", "quora", "sts", "cfimdb")}
    constant, weights = overall_parts(course, COURSE)
    # (sst + quora + (r + 1) / 2) / 3
    assert constant == close(1 / 6)
    assert weights == {("sst", "accuracy"): close(1 / 3), ("quora", "accuracy"): close(1 / 3),
                       ("sts", "pearson"): close(1 / 6)}  # fmt: skip
    error = Task("mine", Path(), kind="score", text=("a",), label="b", range=(0.0, 1.0), metric="mse")
    constant, weights = overall_parts({"mine": error, "sst": course["sst"]})
    assert (constant, weights) == (0.0, {("mine", "mse"): -0.5, ("sst", "accuracy"): 0.5})


@pytest.mark.parametrize("scored", ["pearson", "mse", "spearman"])
def test_the_overall_difference_is_that_of_the_overall_scores(scored: str) -> None:
    tasks = {name: read_task(name) for name in ("sst", "quora")}
    tasks["sts" if scored == "pearson" else "mine"] = Task(
        "x", Path(), kind="score", text=("a",), label="b", range=(0.0, 5.0), metric=scored
    )
    given = dict(zip(tasks, (THREE, TWO, SCORES), strict=True))
    found = {
        (name, task.metric): score_pairs(task.metric, *given[name], [(0, 1), (2, 3)], [*name.encode()])
        for name, task in tasks.items()
    }
    declared = COURSE if scored == "pearson" else {}
    pairs = overall_pairs(found, tasks, declared)
    for at, side in ((pairs.left_P, (0, 2)), (pairs.right_P, (1, 3))):
        for value, model in zip(at, side, strict=True):
            scores = {
                name: {tasks[name].metric: plain(tasks[name].metric, answers[model], labels)}
                for name, (labels, answers) in given.items()
            }
            assert value == close(overall(scores, tasks, declared))
    assert len(pairs.resampled_RP) == len(pairs.swapped_RP) == min(len(each.resampled_RP) for each in found.values())
    # rows of different tasks are drawn independently: variances add up
    weights = overall_parts(tasks, declared)[1]
    parts = sum(weight**2 * found[part].resampled_RP.var(0) for part, weight in weights.items())
    # with four hundred resamples, as Spearman's correlation has, a variance is known to a fifteenth
    assert pairs.resampled_RP.var(0) == pytest.approx(parts, rel=0.2)
    assert pairs.resampled_RP.mean(0) == pytest.approx(pairs.left_P - pairs.right_P, abs=0.05)


# ---- does it keep its promise? ------------------------------------------------------------------------


def simulate(truth: float, seeds: float, rows: float, both: float, trials: int = 1000) -> list[Evidence]:
    """Comparisons of five seeds on a hundred rows: sds of what seeds, rows, and both together do to a difference."""
    rng = np.random.default_rng(5)
    moves_TSN = (
        truth
        + rng.normal(0, seeds, (trials, 5, 1))
        + rng.normal(0, rows, (trials, 1, 100))
        + rng.normal(0, both, (trials, 5, 100))
    )
    # the errors of the baseline, which comes last, are 100 in all rows; those of the others are less by these moves
    answers = [*(100 - moves_TSN).reshape(-1, 100), np.full(100, 100.0)]
    pairs = score_pairs("mae", np.zeros(100), answers, [(i, 5 * trials) for i in range(5 * trials)], [0], 200)
    return [difference_evidence(pairs.take(range(5 * t, 5 * t + 5)), best_is_one=False) for t in range(trials)]


def rate(found: list[Evidence]) -> float:
    return sum(alone(each).p_value(each.value) < 0.05 for each in found) / len(found)


# the mean of a hundred rows has a tenth of their sd: 10 in a row is 1 in the mean, as much as 1 of a seed
@pytest.mark.parametrize(("seeds", "rows", "both"), [(1.0, 10.0, 10.0), (2.0, 2.0, 5.0), (0.3, 10.0, 5.0)])
def test_false_alarms_are_as_rare_as_they_are_said_to_be(seeds: float, rows: float, both: float) -> None:
    # 1000 trials: the standard deviation of the rate is .007
    assert 0.03 <= rate(simulate(0.0, seeds, rows, both)) <= 0.07


def test_seeds_that_differ_only_row_by_row_raise_no_alarm_either() -> None:
    assert rate(simulate(0.0, 0.0, 0.0, 10.0)) <= 0.05


@pytest.mark.parametrize(("seeds", "rows", "both"), [(0.5, 10.0, 5.0), (1.0, 10.0, 10.0)])
def test_the_smallest_difference_is_found_four_times_in_five(seeds: float, rows: float, both: float) -> None:
    smallest = float(
        np.median([judge(each).minimum_detectable_effect for each in simulate(0.0, seeds, rows, both, 200)])
    )
    assert 0.7 <= rate(simulate(smallest, seeds, rows, both)) <= 0.9


# ---- order, speed, memory -----------------------------------------------------------------------------


def test_the_order_of_the_models_does_not_matter() -> None:
    labels, answers = THREE
    one = score_pairs("macro_f1", labels, answers, [(0, 1), (2, 1)], [3], 100)
    other = score_pairs("macro_f1", labels, answers[::-1], [(1, 2), (3, 2)], [3], 100).take([1, 0])
    for ours, theirs in zip(one, other, strict=True):
        assert ours == close(theirs)


def test_resamples_do_not_depend_on_what_fits_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = score_pairs("mse", *SCORES, [(0, 1)], [3], 100)
    monkeypatch.setattr("minbert.comparison.statistics.MAX_RESAMPLE_NUMBERS", 7 * ROWS)
    for ours, theirs in zip(whole, score_pairs("mse", *SCORES, [(0, 1)], [3], 100), strict=True):
        assert ours == close(theirs)


def test_forty_models_on_twenty_thousand_rows_take_seconds_and_little_memory() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=20_000)
    yes = rng.random((40, 20_000))
    answers = [np.stack([1 - each, each], axis=1) for each in yes]
    tracemalloc.start()
    start = time.process_time()
    score_pairs("accuracy", labels, answers, [(i, 0) for i in range(1, 40)], [0], 400)
    taken, memory = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 10 and memory < 200e6
