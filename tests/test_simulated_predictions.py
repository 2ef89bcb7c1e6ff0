"""Simulated predictions, for accuracy and Pearson: do the statistics keep what docs/compare.md promises?

`test_family_wise_error.py` simulates scores. Here rows and seeds have predictions, from which scores, bootstrap, pooled
variances and Holm's correction are computed as `compare` does.
"""

import numpy as np
import pytest
from bench.power.error_rates import BOOTSTRAP, MINBERT, T_TEST, detectable_effects, error_rates
from bench.power.simulated import EQUAL, HALF, METRICS, MIXED, TRUE_SCORE, Design, predictions, true_scores

from minbert.data.metrics import classify_scores, regression_scores

GRID = [(seeds, ratio, kind) for seeds in (2, 3, 5) for ratio in (0.5, 2.0, 8.0) for kind in (EQUAL, MIXED, HALF)]
MOST_ERRORS = 0.06
# where own variances are larger than the pooled one by chance, intervals are a little too wide
LEAST_COVERAGE, MOST_COVERAGE = 0.93, 0.985


@pytest.mark.parametrize("metric", METRICS)
def test_simulated_scores_are_the_true_ones(metric: str) -> None:
    """On many rows, each system has the score that it is given."""
    design = Design(seeds=4, ratio=0.0, systems=3, rows=100_000)
    gold, predicted = predictions(np.random.default_rng(0), metric, design, true_scores(design, metric, 0.1))
    score = classify_scores if metric == "accuracy" else regression_scores
    found = np.array([score(each, gold)[metric] for each in predicted]).reshape(3, 4)
    expected = TRUE_SCORE[metric] + np.array([0, 0, 0.1])
    assert found == pytest.approx(np.repeat(expected[:, None], 4, axis=1), abs=0.006)


@pytest.mark.parametrize(("seeds", "ratio", "kind"), [(2, 8.0, EQUAL), (3, 2.0, HALF), (5, 0.5, MIXED)])
def test_a_comparison_of_equal_systems_rarely_shows_a_difference(seeds: int, ratio: float, kind: str) -> None:
    check_errors(Design(seeds, ratio, kind, rows=200, resamples=200), 100)


@pytest.mark.long
@pytest.mark.parametrize(("seeds", "ratio", "kind"), GRID)
def test_every_comparison_of_equal_systems_rarely_shows_a_difference(seeds: int, ratio: float, kind: str) -> None:
    check_errors(Design(seeds, ratio, kind, rows=500, resamples=300), 300)


def check_errors(design: Design, tables: int) -> None:
    found = error_rates(design, tables, {})[MINBERT]
    assert found.family_wise_error <= MOST_ERRORS
    for metric in METRICS:
        assert LEAST_COVERAGE <= found.coverage[metric] <= MOST_COVERAGE


def test_plain_methods_do_not_keep_the_promise() -> None:
    """Seeds that differ more than rows mislead a bootstrap over rows, the opposite a t-test over seeds."""
    seeds_differ = error_rates(Design(3, 8.0, rows=200, resamples=100), 20, {})
    rows_differ = error_rates(Design(5, 0.5, rows=200, resamples=100), 60, {})
    assert seeds_differ[BOOTSTRAP].family_wise_error > 0.9
    assert rows_differ[T_TEST].family_wise_error > 0.1
    assert rows_differ[MINBERT].family_wise_error <= MOST_ERRORS


def test_the_minimum_detectable_effect_is_right() -> None:
    check_detectable(Design(3, 2.0, systems=5, measures=METRICS, rows=300, resamples=200), 150)


@pytest.mark.long
@pytest.mark.parametrize(("seeds", "ratio"), [(seeds, ratio) for seeds in (2, 3, 5) for ratio in (0.5, 2.0)])
def test_every_minimum_detectable_effect_is_right(seeds: int, ratio: float) -> None:
    check_detectable(Design(seeds, ratio, rows=1000, resamples=300), 300)


def check_detectable(design: Design, tables: int) -> None:
    """A true effect of this size is found four times in five, for each metric."""
    power = error_rates(design, tables, detectable_effects(design), seed=1)[MINBERT].power
    for metric in METRICS:
        assert 0.7 <= power[metric] <= 0.9
