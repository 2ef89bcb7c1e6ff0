"""minbert.compare_predictions: predictions of any tool, as users have them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import minbert
from minbert.comparison.given_predictions import seeds_of

RNG = np.random.default_rng(0)
GOLD = RNG.choice(["neg", "pos"], 600)


def right(share: float, seeds: int) -> list[Any]:
    """Label arrays of which this share is right, row by row at random."""
    other = np.where(GOLD == "neg", "pos", "neg")
    return [np.where(RNG.random(len(GOLD)) < share, GOLD, other) for _ in range(seeds)]


def test_a_clear_difference_is_found_and_a_small_one_is_not() -> None:
    found = minbert.compare_predictions(
        GOLD, {"base": right(0.7, 3), "new": right(0.9, 3), "same": right(0.7, 3), "bad": right(0.5, 3)}
    )
    assert [each.system for each in found] == ["new", "same", "bad"] and found.baseline == "base" and found.rows == 600
    assert [each.verdict for each in found] == ["better", "no evidence", "worse"]
    new = found["new"]
    assert new.low < 0.2 < new.high and new.value == pytest.approx(new.score - new.baseline_score)
    assert new.p <= new.corrected_p < 0.05 and found["same"].corrected_p > 0.05
    with pytest.raises(KeyError):
        found["base"]


def test_what_users_have() -> None:
    """Series, lists, probabilities, one array instead of a list of seeds: the same predictions give the same result."""
    base, new = right(0.7, 2), right(0.8, 2)
    found = minbert.compare_predictions(GOLD, {"base": base, "new": new}, baseline="base")
    as_series = minbert.compare_predictions(
        pd.Series(GOLD), {"base": [pd.Series(each) for each in base], "new": [each.tolist() for each in new]}
    )
    sure = [np.column_stack([each == "neg", each == "pos"]).astype(float) for each in new]
    as_probabilities = minbert.compare_predictions(GOLD, {"base": base, "new": sure})
    assert found["new"] == as_series["new"] == as_probabilities["new"]
    one = minbert.compare_predictions(GOLD, {"base": base[0], "new": sure[0].tolist()})
    assert one["new"].seeds == 1 and one["new"].value == pytest.approx(
        np.mean(new[0] == GOLD) - np.mean(base[0] == GOLD)
    )


def test_scores_and_errors() -> None:
    gold = RNG.normal(size=400)
    systems = {
        name: [gold + noise * RNG.normal(size=400) for _ in range(3)] for name, noise in (("a", 1.0), ("b", 0.4))
    }
    assert minbert.compare_predictions(gold, systems, metric="pearson")["b"].verdict == "better"
    error = minbert.compare_predictions(gold, systems, metric="mae", baseline="b")["a"]
    # more error is worse, and the difference below 0
    assert error.verdict == "worse" and error.value == pytest.approx(error.baseline_score - error.score)


def test_the_second_label_is_the_positive_one() -> None:
    gold, system = [0, 0, 1, 1], [0, 0, 0, 1]
    one = {"base": [system], "new": [system]}
    assert minbert.compare_predictions(gold, one, metric="recall")["new"].score == 0.5
    assert minbert.compare_predictions(gold, one, metric="recall", labels=[1, 0])["new"].score == 1.0


@pytest.mark.parametrize(
    ("systems", "settings", "said"),
    [
        ({"a": ["x"] * 4}, {}, "Two systems or more"),
        ({"a": ["x"] * 4, "b": ["x"] * 3}, {}, "b, seed 0: 3 predictions for 4 rows"),
        ({"a": ["x"] * 4, "b": ["x", "y", "z", "x"]}, {}, "b, seed 0: the label 'z' is not one of 'x', 'y'"),
        ({"a": ["x"] * 4, "b": ["y"] * 4}, {"metric": "acuracy"}, "no metric 'acuracy'"),
        ({"a": ["x"] * 4, "b": ["y"] * 4}, {"metric": "log_loss"}, "log_loss needs probabilities"),
        ({"a": ["x"] * 4, "b": ["y"] * 4}, {"metric": "mae"}, "gold: not all values are numbers"),
        ({"a": ["x"] * 4, "b": ["y"] * 4}, {"baseline": "c"}, "'c' is not one of the systems"),
        ({"a": np.ones((4, 3)), "b": ["y"] * 4}, {}, "3 columns of probabilities for 2 labels"),
        ({"a": [[0.5, 0.5], [0.5, float("nan")]] * 2, "b": ["y"] * 4}, {}, "missing or not finite"),
    ],
)
def test_what_is_wrong_is_said(systems: Any, settings: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        minbert.compare_predictions(["x", "y", "x", "y"], systems, **settings)


def test_one_array_or_several() -> None:
    assert len(seeds_of(["x", "y"])) == 1 and len(seeds_of([["x", "y"], ["x", "x"]])) == 2
    assert len(seeds_of(np.ones((4, 2)))) == 1 and len(seeds_of([np.ones((4, 2))] * 3)) == 3
    assert len(seeds_of([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])) == 1
    assert len(seeds_of({0: ["x"], 1: ["y"]})) == 2
