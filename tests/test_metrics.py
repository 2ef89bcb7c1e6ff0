"""Scores worked by hand."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minbert.config.overall_terms import OverallTerm, overall_terms
from minbert.config.task import Task, read_task
from minbert.data.metrics import classify_scores, confusion, pearson, ranks, regression_scores, score
from minbert.data.overall_score import describe_overall, overall


def sure(answers: list[int], classes: int) -> Any:
    """Probabilities whose highest is each answer."""
    return np.eye(classes, dtype=np.float32)[answers] * 0.5 + 0.5 / classes


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-12)


# ---- classify -----------------------------------------------------------------------------------------


def test_a_confusion_has_true_labels_as_rows_and_answers_as_columns() -> None:
    assert confusion(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1]), 3).tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 0]]


def test_accuracy_and_macro_f1_of_three_classes() -> None:
    # label 0: 1 of 2 found, 1 of 1 right -> f1 2/3. label 1: 1 of 2, 1 of 2 -> 1/2. label 2: 1 of 1, 1 of 2 -> 2/3.
    labels = np.array([0, 0, 1, 1, 2])
    found = classify_scores(sure([0, 1, 1, 2, 2], 3), labels)
    assert found["accuracy"] == close(3 / 5)
    assert found["macro_f1"] == found["f1"] == close((2 / 3 + 1 / 2 + 2 / 3) / 3)
    assert found["precision"] == close((1 + 1 / 2 + 1 / 2) / 3) and found["recall"] == close((1 / 2 + 1 / 2 + 1) / 3)


def test_binary_precision_recall_and_f1_are_those_of_the_second_label() -> None:
    # answers of 1: three, two of them right; labels of 1: four, two of them found
    labels = np.array([1, 1, 1, 1, 0, 0])
    found = classify_scores(sure([1, 1, 0, 0, 1, 0], 2), labels)
    assert found["precision"] == close(2 / 3) and found["recall"] == close(2 / 4)
    assert found["f1"] == close(2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2))
    # label 0: one of two found, one of three answers right -> f1 = 2/5
    assert found["macro_f1"] == close((found["f1"] + 2 / 5) / 2)


def test_a_class_that_neither_labels_nor_answers_show_does_not_count_in_macro_f1() -> None:
    assert classify_scores(sure([0, 1], 5), np.array([0, 1]))["macro_f1"] == close(1)
    # answered but never true: it counts, with 0
    assert classify_scores(sure([0, 2], 5), np.array([0, 1]))["macro_f1"] == close(1 / 3)


def test_log_loss_is_the_mean_surprise() -> None:
    probabilities = np.array([[0.5, 0.5], [0.75, 0.25]])
    assert classify_scores(probabilities, np.array([1, 1]))["log_loss"] == close((math.log(2) + math.log(4)) / 2)


def test_a_sure_and_wrong_answer_costs_much_but_not_infinitely() -> None:
    assert classify_scores(np.array([[1.0, 0.0]]), np.array([1]))["log_loss"] == close(12 * math.log(10))


# ---- score --------------------------------------------------------------------------------------------


def test_pearson_of_four_points() -> None:
    # deviations (-1.5, -.5, .5, 1.5) and (-1, -1, 1, 1): 4 / sqrt(5 * 4)
    assert pearson(np.array([1.0, 2, 3, 4]), np.array([1.0, 1, 3, 3])) == close(4 / math.sqrt(20))
    assert pearson(np.array([1.0, 2, 3]), np.array([5.0, 3, 1])) == close(-1)


def test_pearson_does_not_lose_small_differences_of_single_precision() -> None:
    x = np.array([1000, 1000.25, 1000.5], dtype=np.float32)
    assert pearson(x, np.array([1.0, 2, 3])) == close(1)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert ranks(np.array([10.0, 20, 20, 5, 20])).tolist() == [1, 3, 3, 0, 3]


def test_spearman_with_ties() -> None:
    # ranks (0, 1.5, 1.5, 3) and (0, 1, 3, 2), deviations (-1.5, 0, 0, 1.5) and (-1.5, -.5, 1.5, .5)
    found = regression_scores(np.array([1.0, 2, 2, 9]), np.array([0.0, 1, 5, 4]))
    assert found["spearman"] == close(3 / math.sqrt(4.5 * 5))


def test_spearman_sees_only_the_order() -> None:
    assert regression_scores(np.array([1.0, 10, 100]), np.array([1.0, 2, 3]))["spearman"] == close(1)


def test_mean_squared_and_mean_absolute_error() -> None:
    # errors -1, 0, 2
    found = regression_scores(np.array([0.0, 2, 5]), np.array([1.0, 2, 3]))
    assert found["mse"] == close(5 / 3) and found["mae"] == close(1)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.7])
def test_constant_answers_score_zero_without_a_warning(value: float) -> None:
    constant = np.full(7, value, dtype=np.float32)
    varied = np.arange(7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, y in ((constant, varied), (varied, constant), (constant, np.full(7, 0.1))):
            found = regression_scores(x, y)
            assert (found["pearson"], found["spearman"]) == (0.0, 0.0)
        found = classify_scores(sure([0] * 7, 2), np.array([0, 1] * 3 + [0]))
    assert (found["precision"], found["recall"], found["f1"]) == (0.0, 0.0, 0.0)
    assert found["accuracy"] == close(4 / 7)


# ---- a task's scores ----------------------------------------------------------------------------------


def test_a_tasks_main_metric_comes_first() -> None:
    probabilities, labels = sure([0, 1], 2), np.array([0, 1])
    task = Task("mine", Path(), kind="classify", text=("a",), label="b", labels=(0, 1), metric="f1")
    assert next(iter(score(task, probabilities, labels))) == "f1"
    assert next(iter(score(read_task("quora"), probabilities, labels))) == "accuracy"
    assert next(iter(score(read_task("sts"), np.array([1.0, 2]), np.array([1.0, 2])))) == "pearson"


TASKS = {name: read_task(name) for name in ("sst", "quora", "sts", "cfimdb")}


COURSE = {"sst.accuracy": 1.0, "quora.accuracy": 1.0, "sts.pearson": OverallTerm(transform="zero_to_one")}


def test_the_reports_overall_score_of_three_tasks() -> None:
    scores = {"sst": {"accuracy": 0.5}, "quora": {"accuracy": 0.8}, "sts": {"pearson": 0.6}}
    # (.5 + .8 + (.6 + 1) / 2) / 3 = 2.1 / 3
    assert overall(scores, TASKS, COURSE) == close(0.7)
    assert overall(scores | {"cfimdb": {"accuracy": 0.1}}, TASKS, COURSE) == close(0.7)
    # to the last bit what it always was
    for sst, quora, r in np.random.default_rng(0).random((100, 3)):
        exact = {"sst": {"accuracy": sst}, "quora": {"accuracy": quora}, "sts": {"pearson": r}}
        assert overall(exact, TASKS, COURSE) == (sst + quora + (r + 1) / 2) / 3
        assert overall(exact, TASKS) == float(np.mean([sst, quora, r]))


def test_the_names_of_tasks_decide_nothing() -> None:
    scores = {"sst": {"accuracy": 0.5}, "quora": {"accuracy": 0.8}, "sts": {"pearson": 0.2}}
    assert overall(scores, TASKS) == close(0.5)


def test_weights_transforms_and_lower_is_better() -> None:
    scores = {"sst": {"accuracy": 0.5, "macro_f1": 0.4}, "sts": {"pearson": 0.6, "mse": 2.0}}
    declared = {"sst.macro_f1": 3.0, "sts.pearson": OverallTerm(weight=2.0, transform="zero_to_one"), "sts.mse": 1.0}
    assert overall(scores, TASKS, declared) == close((3 * 0.4 + 2 * 0.8 - 2.0) / 6)
    assert describe_overall(overall_terms(declared, TASKS)) == (
        "(3 × sst.macro_f1 + 2 × (sts.pearson + 1) / 2 - sts.mse) / 6"
    )
    assert describe_overall({"sts.mse": OverallTerm()}) == "-sts.mse"


def test_of_tasks_that_are_not_measured_no_term_counts() -> None:
    assert overall({"sst": {"accuracy": 0.5}}, TASKS, COURSE) == 0.5
    # no term left: the main metrics
    assert overall({"cfimdb": {"accuracy": 0.25}}, TASKS, COURSE) == 0.25
    assert overall({}, TASKS, COURSE) == 0.0


def test_left_out_the_overall_score_is_the_mean_of_the_main_metrics() -> None:
    scores = {"sst": {"accuracy": 0.5, "macro_f1": 0.1}, "sts": {"pearson": 0.6, "mse": 9.0}}
    assert overall(scores, TASKS) == close(0.55)


def test_errors_count_against_the_overall_score() -> None:
    task = Task("mine", Path(), kind="score", text=("a",), label="b", range=(0.0, 1.0), metric="mse")
    assert overall({"mine": {"mse": 0.25}, "sst": {"accuracy": 0.75}}, {"mine": task, **TASKS}) == close(0.25)
