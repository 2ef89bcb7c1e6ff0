"""Error analysis: every number computed by hand, or compared with scipy."""

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from minbert.analysis import analyze_run, analyze_task
from minbert.analysis.calibration import calibrate
from minbert.analysis.classification import analyze_classification, matthews_correlation
from minbert.analysis.constant_baseline import constant_baseline
from minbert.analysis.dev_rows import describe_rows, gold_similarity
from minbert.analysis.disagreement import find_disagreement
from minbert.analysis.hardest_rows import hardest_rows
from minbert.analysis.intervals import score_interval, wilson_interval
from minbert.analysis.leaks import TrainingRows, find_leaks, read_training
from minbert.analysis.regression import analyze_regression
from minbert.analysis.row_tags import ROW_TAGS, tag_rows
from minbert.analysis.slices import Slice, slice_rows
from minbert.config.task import Task, read_task
from minbert.data.dataset import Dataset
from minbert.data.leaks import index_training_rows
from minbert.data.metrics import classify_scores, pearson
from minbert.data.text_keys import example_keys
from minbert.errors import UserError
from minbert.files import sha256
from minbert.runs.directory import read_run
from minbert.runs.predictions import DevPredictions, write_dev_predictions
from tests.workbench import demo_recipe, run_all, write_csv

SST, QUORA, STS = (read_task(name) for name in ("sst", "quora", "sts"))
ABC = Task("abc", Path(), kind="classify", text=("text",), label="label", labels=("a", "b", "c"))
NO_TRAINING_ROWS = TrainingRows({})


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-12)


def confident(predicted: Sequence[int], classes: int, probability: float = 0.8) -> Any:
    """The predicted label of each row has this probability; the other labels share the rest equally."""
    return np.where(np.eye(classes)[list(predicted)] == 1, probability, (1 - probability) / (classes - 1))


def dev_predictions(
    task: Task, texts: Sequence[Sequence[str]], labels: Sequence[float], answers: Any
) -> DevPredictions:
    columns = tuple(list(column) for column in zip(*texts, strict=True))
    ids = [f"id{i}" for i in range(len(labels))]
    return DevPredictions(task, ids, columns, np.array(labels), np.array(answers))


# ---- classification ------------------------------------------------------------------------------------------


def test_each_label_has_its_precision_recall_and_f1() -> None:
    # gold a a b b c, predicted a b b c c, as in the test of the metrics
    found = analyze_classification(ABC, confident([0, 1, 1, 2, 2], 3), np.array([0, 0, 1, 1, 2]))
    assert found.confusion == ((1, 1, 0), (0, 1, 1), (0, 0, 1))
    a, b, c = found.labels
    assert (a.label, a.support, a.predicted) == ("a", 2, 1)
    assert (a.precision, a.recall, a.f1) == (1, 0.5, close(2 / 3))
    assert (b.precision, b.recall, b.f1) == (0.5, 0.5, 0.5)
    assert (c.precision, c.recall, c.f1) == (0.5, 1, close(2 / 3))
    # (3 correct x 5 rows - (2*1 + 2*2 + 1*2)) / sqrt((25 - 9) (25 - 9))
    assert found.matthews == close((15 - 8) / 16)


def test_matthews_of_two_classes_is_the_correlation_of_labels_and_predictions() -> None:
    labels, predicted = np.array([1, 1, 1, 0, 0, 1]), np.array([1, 0, 1, 0, 1, 1])
    counts = np.array([[1, 1], [1, 3]])
    assert matthews_correlation(counts) == close(pearson(labels, predicted))
    assert matthews_correlation(np.array([[3, 0], [2, 0]])) == 0


def test_the_constant_baseline_of_classes_is_the_most_frequent_label() -> None:
    found = constant_baseline(ABC, np.array([1, 1, 0, 1]))
    assert found.prediction == "b"
    assert found.scores["accuracy"] == 0.75
    # the entropy of (1/4, 3/4)
    assert found.scores["log_loss"] == close(-0.25 * math.log(0.25) - 0.75 * math.log(0.75))


def test_the_constant_baseline_of_scores_is_their_mean() -> None:
    found = constant_baseline(STS, np.array([1.0, 2, 3]))
    assert (found.prediction, found.scores["mse"], found.scores["pearson"]) == ("2", close(2 / 3), 0)


# ---- calibration --------------------------------------------------------------------------------------


def test_reliability_bins_by_hand() -> None:
    # confidence .75 twice (one correct), .95 (correct), and 1 (wrong), which belongs to the last bin
    probabilities = np.array([[0.75, 0.25], [0.25, 0.75], [0.95, 0.05], [1.0, 0.0]])
    found = calibrate(probabilities, np.array([0, 0, 0, 1]))
    assert [each.rows for each in found.bins] == [0, 0, 0, 0, 0, 0, 0, 2, 0, 2]
    seven, nine = found.bins[7], found.bins[9]
    assert (seven.low, seven.high, seven.confidence, seven.accuracy) == (0.7, close(0.8), 0.75, 0.5)
    assert (nine.confidence, nine.accuracy) == (close(0.975), 0.5)
    assert (found.bins[0].confidence, found.bins[0].accuracy) == (None, None)
    assert found.ece == close((2 * 0.25 + 2 * 0.475) / 4)
    assert found.overconfidence == close((0.75 + 0.75 + 0.95 + 1) / 4 - 0.5)
    # 2 x (.25^2, .75^2, .05^2, 1)
    assert found.brier == pytest.approx(2 * (0.0625 + 0.5625 + 0.0025 + 1) / 4, abs=1e-5)


def test_the_best_temperature_is_found() -> None:
    # confidence always .9, three in four correct: ln 9 / ln 3 = 2, and then the confidence is .75
    found = calibrate(confident([0] * 40, 2, 0.9), np.array([0] * 30 + [1] * 10))
    assert found.temperature == pytest.approx(2, rel=1e-3)
    assert found.ece == close(0.15) and found.scaled_ece == pytest.approx(0, abs=1e-3)
    assert found.log_loss == close(-0.75 * math.log(0.9) - 0.25 * math.log(0.1))
    assert found.scaled_log_loss == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25), abs=1e-6)


def test_a_known_temperature_is_recovered() -> None:
    """Labels are drawn from softmax(logits); the probabilities are softmax(2.5 logits)."""
    random = np.random.default_rng(0)
    logits = random.normal(size=(4000, 3))
    true, written = (np.exp(scale * logits) for scale in (1, 2.5))
    true, written = (each / each.sum(1, keepdims=True) for each in (true, written))
    labels = (random.random((4000, 1)) > true.cumsum(1)).sum(1)
    found = calibrate(written, labels)
    assert found.temperature == pytest.approx(2.5, rel=0.1)
    assert found.scaled_ece is not None and found.scaled_ece < found.ece / 3


def test_a_model_that_is_always_correct_has_no_best_temperature() -> None:
    found = calibrate(confident([0, 1, 1], 2), np.array([0, 1, 1]))
    assert (found.temperature, found.scaled_ece, found.scaled_log_loss) == (None, None, None)


# ---- regression -------------------------------------------------------------------------------------------


def test_bias_by_fifth_of_the_range() -> None:
    # gold 0, .5 | 1 (the start of the second fifth) | 5 (the end of the last)
    found = analyze_regression(STS, np.array([1.0, 0.5, 3.0, 4.0]), np.array([0.0, 0.5, 1.0, 5.0]))
    assert [(each.low, each.high, each.rows, each.bias, each.mae) for each in found.fifths] == [
        (0, 1, 2, 0.5, 0.5),
        (1, 2, 1, 2, 2),
        (2, 3, 0, None, None),
        (3, 4, 0, None, None),
        (4, 5, 1, -1, 1),
    ]
    assert found.bias == close((1 + 0 + 2 - 1) / 4)
    # errors -1, 0, 1, 2: the median and the first quartile
    assert found.quantiles[0.5] == close(0.5) and found.quantiles[0.25] == close(-0.25)
    assert found.points == ((0, 1), (0.5, 0.5), (1, 3), (5, 4))
    assert found.spread_ratio == close(np.std([1, 0.5, 3, 4]) / np.std([0, 0.5, 1, 5]))


def test_many_points_are_thinned_evenly() -> None:
    gold = np.linspace(0, 5, 10_001)
    points = analyze_regression(STS, gold, gold[::-1].copy()).points
    assert len(points) == 2000
    assert points[0][0] == 0 and points[-1][0] == 5
    assert max(b[0] - a[0] for a, b in pairwise(points)) < 0.004


# ---- tags ---------------------------------------------------------------------------------------------


def tags_of(task: Task, texts: tuple[str, ...], label: float, prediction: float) -> set[str]:
    """The tags of a row among two plain rows that define the scale: the same words, and no words in common."""
    high = 5.0 if task.kind == "score" else len(task.labels) - 1
    plain = [("x y",) * len(texts), tuple("pqr"[: len(texts)])]
    predicted = [prediction, high, 0]
    rows = describe_rows(
        dev_predictions(
            task,
            [texts, *plain],
            [label, high, 0],
            predicted if task.kind == "score" else confident([int(each) for each in predicted], len(task.labels)),
        )
    )
    return {name for name, tag in ROW_TAGS.items() if tag.holds(rows[0]) and name != "long"}


@pytest.mark.parametrize(
    ("first", "second", "similarity", "tags"),
    [
        # 3 of 5 words in common
        ("Indian stocks open lower", "Indian stocks close lower", 1.8, {"few changed words"}),
        ("Indian stocks open lower", "Indian stocks close lower", 3.0, set()),
        # 0 of 7
        ("A physician operated", "The doctor did surgery", 4.5, {"different words"}),
        ("A physician operated", "The doctor did surgery", 1.0, set()),
        ("A dog runs", "On the wet beach a brown dog runs fast", 3.0, {"summary"}),
        ("On the wet beach a brown dog runs fast", "A dog runs", 3.0, {"summary"}),
        # the same length
        ("A brown dog runs fast", "A black cat runs fast", 3.0, set()),
        ("He didn't say why", "He told us the reason", 3.0, {"negation in one"}),
        ("He didn’t say why", "He never told us the reason", 3.0, set()),
        ("It fell 3.5 percent", "The stock lost 3.6 points", 3.0, {"numbers differ"}),
        ("Two dogs on a beach", "3 cats in the garden", 3.0, {"numbers differ"}),
        ("It cost $1,000 then", "The price was 1000 dollars", 3.0, set()),
        ("Two dogs on a beach", "2 cats in the garden", 3.0, set()),
        # a missing number is not a contradiction
        ("Two dogs on a beach", "Some cats in the garden", 3.0, set()),
        ('Who wrote "Hamlet?"', "Somebody made a play", 3.0, {"question"}),
    ],
)
def test_tags_of_pairs(first: str, second: str, similarity: float, tags: set[str]) -> None:
    assert tags_of(STS, (first, second), similarity, similarity) == tags


@pytest.mark.parametrize(
    ("text", "gold", "prediction", "tags"),
    [
        ("A fine film .", 3, 3, set()),
        ("It does n't work .", 1, 1, {"negation"}),
        ("Slow but lovely .", 3, 4, {"contrast", "off by one"}),
        ("A fine film .", 3, 1, {"far off"}),
        ("Why was it made ?", 0, 0, {"question"}),
        ("so " * 127, 2, 2, {"truncated"}),
        ("so " * 126, 2, 2, set()),
    ],
)
def test_tags_of_single_texts(text: str, gold: int, prediction: int, tags: set[str]) -> None:
    assert tags_of(SST, (text,), gold, prediction) == tags


def test_only_ordinal_labels_can_be_off_by_one() -> None:
    assert not tags_of(ABC, ("text",), 0, 1)
    assert not tags_of(QUORA, ("one thing", "another matter"), 0, 1)


def test_the_label_that_means_the_same_is_found_from_word_overlap() -> None:
    overlap = np.array([0.9, 0.7, 0.1, 0.3])
    assert gold_similarity(QUORA, np.array([1, 1, 0, 0]), overlap).tolist() == [1, 1, 0, 0]
    assert gold_similarity(QUORA, np.array([0, 0, 1, 1]), overlap).tolist() == [1, 1, 0, 0]
    assert gold_similarity(STS, np.array([5.0, 4, 0, 1]), overlap) == pytest.approx([1, 0.8, 0, 0.2])
    # a distance: 0 means the same
    assert gold_similarity(STS, np.array([0.0, 1, 5, 4]), overlap) == pytest.approx([1, 0.8, 0, 0.2])


def test_a_tag_of_nearly_all_rows_is_dropped_and_long_rows_are_the_longest_tenth() -> None:
    texts = [("word " * n + "?",) for n in range(1, 21)]
    tagged = tag_rows(describe_rows(dev_predictions(SST, texts, [0] * 20, confident([0] * 20, 5))))
    assert "question" not in tagged
    assert np.flatnonzero(tagged["long"]).tolist() == [18, 19]


# ---- intervals and slices -----------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "rows"), [(0, 10), (7, 10), (10, 10), (450, 1000)])
def test_wilsons_interval_agrees_with_scipy(hits: int, rows: int) -> None:
    expected = stats.binomtest(hits, rows).proportion_ci(method="wilson")
    assert wilson_interval(hits, rows) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_bootstrap_agrees_with_scipy() -> None:
    random = np.random.default_rng(1)
    gold = random.uniform(0, 5, 300)
    scores = gold + random.normal(size=300)
    expected = stats.bootstrap(
        (np.abs(scores - gold),), np.mean, method="percentile", n_resamples=2000, rng=np.random.default_rng(2)
    ).confidence_interval
    # the interval is about .13 wide
    assert score_interval("mae", scores, gold) == pytest.approx((expected.low, expected.high), abs=0.01)


def by_name(slices: Sequence[Slice]) -> dict[tuple[str, str], Slice]:
    return {(each.kind, each.name): each for each in slices}


def test_slices_of_a_classification_task() -> None:
    # 40 rows of one word, all correct; 20 rows of three words with a negation, 5 correct
    texts = [("fine",)] * 40 + [("not so fine",)] * 20
    labels = [0] * 40 + [1] * 20
    predicted = [0] * 40 + [1] * 5 + [2] * 15
    rows = dev_predictions(SST, texts, labels, confident(predicted, 5))
    facts = describe_rows(rows)
    found = by_name(slice_rows(rows, facts, tag_rows(facts)))
    assert set(found) == {
        ("words", "1"),
        ("words", "3"),
        ("label", "very negative"),
        ("label", "negative"),
        ("tag", "negation"),
    }
    one, three = found["words", "1"], found["words", "3"]
    assert (one.rows, one.metric, one.score, one.worse) == (40, "accuracy", 1, False)
    assert (three.rows, three.score, three.all_rows) == (20, 0.25, close(45 / 60))
    assert (three.low, three.high) == wilson_interval(5, 20) and three.worse
    # 5 gold labels with probability .8, 15 with .05
    assert three.loss == close(-(5 * math.log(0.8) + 15 * math.log(0.05)) / 20)
    assert replace(three, kind="tag", name="negation") == found["tag", "negation"]


def test_slices_of_scores_use_errors_because_a_narrow_range_lowers_every_correlation() -> None:
    # gold follows the number of words; the absolute error is the same everywhere, positive for every third length
    lengths = np.arange(60) % 20
    gold = lengths / 4
    scores = gold + np.where(lengths % 3 == 0, 0.5, -0.5)
    assert pearson(scores[lengths < 5], gold[lengths < 5]) < pearson(scores, gold)
    rows = dev_predictions(STS, [("w " * (n + 1), "v") for n in lengths], gold.tolist(), scores)
    found = slice_rows(rows, describe_rows(rows), {})
    assert [each.name for each in found if each.kind == "words"] == ["2–6", "7–11", "12–16", "17–21"]
    assert all((each.metric, each.score, each.worse) == ("mae", close(0.5), False) for each in found)
    # of the lengths 0 to 4 two have a positive error, of 10 to 14 one
    assert [each.bias for each in found if each.kind == "words"] == pytest.approx([-0.1, -0.1, -0.3, -0.1])


def test_small_slices_and_the_whole_are_omitted() -> None:
    rows = dev_predictions(
        SST, [("not it",)] * 9 + [("that one",)] * 30, [0] * 9 + [1] * 30, confident([0] * 9 + [1] * 30, 5)
    )
    facts = describe_rows(rows)
    found = by_name(slice_rows(rows, facts, tag_rows(facts)))
    assert set(found) == {("label", "negative")}


# ---- the hardest rows ---------------------------------------------------------------------------------


def test_confident_errors_come_first() -> None:
    probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.01, 0.99]])
    rows = dev_predictions(QUORA, [("a", "b"), ("c", "d"), ("e", "f")], [0, 0, 0], probabilities)
    worst, uncertain, correct = hardest_rows(rows, {"tagged": np.array([False, False, True])})
    assert (worst.row, worst.id, worst.texts) == (2, "id2", ("e", "f"))
    assert (worst.gold, worst.prediction, worst.correct) == ("different", "duplicate", False)
    assert (worst.probability, worst.gold_probability, worst.error) == (0.99, 0.01, None)
    assert worst.loss == close(-math.log(0.01)) and worst.tags == ("tagged",)
    assert (uncertain.correct, correct.correct) == (False, True)


def test_every_tag_and_label_has_rows_among_the_hardest() -> None:
    # 300 wrong rows of one label, and 30 correct rows of another, of which 3 are tagged
    labels = [0] * 300 + [1] * 30
    rows = dev_predictions(QUORA, [("a", "b")] * 330, labels, confident([1] * 330, 2))
    found = hardest_rows(rows, {"rare": np.arange(330) >= 327})
    assert sum(each.gold == "different" for each in found) == 200
    # 20 of the label (and of the correct rows), and the tagged ones
    assert [each.row for each in found if each.correct] == [*range(300, 320), 327, 328, 329]


def test_the_hardest_scores_are_the_farthest_from_gold() -> None:
    found = hardest_rows(dev_predictions(STS, [("a", "b"), ("c", "d")], [1.0, 4.0], [1.5, 1.25]), {})
    assert [(each.gold, each.prediction, each.error, each.loss, each.correct) for each in found] == [
        ("4", "1.25", -2.75, 2.75, None),
        ("1", "1.5", 0.5, 0.5, None),
    ]


# ---- two runs -----------------------------------------------------------------------------------------


def test_disagreements_are_counted_in_both_directions() -> None:
    texts = [(f"a{i}", f"b{i}") for i in range(10)]
    labels = [0] * 10
    # both correct: 1; only the first: 6, one with high confidence; only the second: 1; neither: 2
    first = confident([0] + [0] * 6 + [1] + [1] * 2, 2)
    first[3] = [0.99, 0.01]
    second = confident([0] + [1] * 6 + [0] + [1] * 2, 2)
    found = find_disagreement(
        dev_predictions(QUORA, texts, labels, first), dev_predictions(QUORA, texts, labels, second), ("one", "two")
    )
    assert (found.both, found.first, found.second, found.neither) == (1, 6, 1, 2)
    # McNemar, exact: 2 x (C(7,0) + C(7,1)) / 2^7
    assert found.p == close(2 * 8 / 128)
    # the largest difference in loss first
    assert [each.row for each in found.first_better] == [3, 1, 2, 4, 5, 6]
    (only,) = found.second_better
    assert (only.texts, only.gold, only.first, only.second) == (("a7", "b7"), "different", "duplicate", "different")
    assert only.first_loss > only.second_loss


def test_for_scores_the_run_closer_to_gold_is_better() -> None:
    texts, gold = [("a", "b")] * 4, [1.0, 2.0, 3.0, 4.0]
    first = dev_predictions(STS, texts, gold, [1.0, 3.0, 3.5, 4.0])
    second = dev_predictions(STS, texts, gold, [4.0, 2.5, 2.5, 3.5])
    found = find_disagreement(first, second, ("one", "two"))
    # the first run is closer on rows 0 and 3, the second on row 1; row 2 is a tie
    assert (found.first, found.second, found.both, found.neither) == (2, 1, 1, 0)
    assert [(each.row, each.first_loss, each.second_loss) for each in found.first_better] == [(0, 0, 3), (3, 0, 0.5)]
    assert found.p == 1


def test_a_run_does_not_disagree_with_itself() -> None:
    rows = dev_predictions(QUORA, [("a", "b")], [0], [[0.2, 0.8]])
    found = find_disagreement(rows, rows, ("one", "one"))
    assert (found.first, found.second, found.neither, found.p) == (0, 0, 1, 1)


def test_different_dev_rows_are_not_compared() -> None:
    first = dev_predictions(STS, [("a", "b"), ("c", "d")], [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(UserError, match=r"one and two differ in dev row 2 \(id1\)") as refused:
        find_disagreement(first, replace(first, texts=(["a", "c"], ["b", "x"])), ("one", "two"))
    assert "same dev file" in refused.value.next_step
    with pytest.raises(UserError, match="differ in dev row 1"):
        find_disagreement(first, replace(first, labels=np.array([0.0, 2.0])), ("one", "two"))
    with pytest.raises(UserError, match="have 2 and 1 dev rows"):
        find_disagreement(first, dev_predictions(STS, [("a", "b")], [1.0], [1.0]), ("one", "two"))
    with pytest.raises(UserError, match="different labels or score ranges"):
        find_disagreement(first, replace(first, task=replace(STS, range=(0.0, 1.0))), ("one", "two"))


# ---- leaks --------------------------------------------------------------------------------------------


def test_leaks_ignore_case_and_the_order_of_a_pair() -> None:
    texts = [("Who am I?", "Who is he?"), ("Where?", "Who am I?"), ("When?", "Why?"), ("How?", "How so?")]
    rows = dev_predictions(QUORA, texts, [1, 0, 0, 0], confident([1, 1, 0, 1], 2))
    training = TrainingRows(
        {
            "quora": index_training_rows(example_keys([["who is he", "x"], ["WHO AM I", "y"]])),
            "sst": index_training_rows(example_keys([["How!"]])),
        },
        ("missing",),
    )
    found, leaked = find_leaks(rows, training)
    assert leaked.tolist() == [True, False, False, False]
    assert [(each.task, each.rows, each.texts) for each in found.sources] == [("quora", 1, 2), ("sst", 0, 1)]
    assert (found.rows, found.texts, found.unread) == (1, 3, ("missing",))
    # rows 0 and 2 are correct
    assert (found.score, found.score_on_leaks, found.score_without_leaks) == (0.5, 1, close(1 / 3))


def test_without_leaks_there_is_no_score_on_them() -> None:
    found, _ = find_leaks(dev_predictions(QUORA, [("a", "b")], [1], confident([1], 2)), NO_TRAINING_ROWS)
    assert (found.rows, found.score_on_leaks, found.score_without_leaks) == (0, None, 1)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A run folder as training leaves it, with three dev rows, one of which is in the training data."""
    train = write_csv(tmp_path / "train.csv", "id,text,label", ["1,Good film,yes", "2,Bad film,no"])
    dev = write_csv(tmp_path / "dev.csv", "id,text,label", ["1,good film!,yes", "2,Fine,yes", "3,Poor,no"])
    run = tmp_path / "run"
    (run / "tasks").mkdir(parents=True)
    settings = ['kind = "classify"', 'text = ["text"]', 'label = "label"', 'labels = ["no", "yes"]']
    files = ["[files]", f'train = "{train}"', f'dev = "{dev}"']
    (run / "tasks/mine.toml").write_text("\n".join(settings + files), encoding="utf-8")
    (run / "run.json").write_text(json.dumps({"sha256": {"data": {"mine train": sha256(train)}}}), encoding="utf-8")
    task = read_task("mine", str(run / "tasks/mine.toml"))
    examples = Dataset((["good film!", "Fine", "Poor"],), np.array([1, 1, 0]), ["1", "2", "3"], [2, 3, 4], dev)
    write_dev_predictions(run / "predictions", task, examples, np.array([[0.1, 0.9], [0.7, 0.3], [0.8, 0.2]]))
    return run


def test_training_rows_are_found_through_the_tasks_of_the_run(written: Path) -> None:
    found = analyze_run(written).tasks["mine"]
    assert found.scores["accuracy"] == close(2 / 3)
    assert (found.leaks.rows, found.leaks.score_without_leaks, found.leaks.unread) == (1, 0.5, ())
    assert [each.tags for each in found.hardest_rows] == [(), (), ("long", "in training")]
    assert [(each.name, each.rows) for each in found.tags] == [("long", 1), ("in training", 1)]


def test_missing_or_changed_training_files_are_reported(written: Path) -> None:
    train = written.parent / "train.csv"
    write_csv(train, "id,text,label", ["1,Fine,yes"])
    leaks = analyze_run(written).tasks["mine"].leaks
    assert leaks.unread == (f"Task 'mine': the train file has changed since the run: {train}.",) and leaks.rows == 1
    train.unlink()
    leaks = analyze_run(written).tasks["mine"].leaks
    assert (leaks.rows, leaks.sources) == (0, ())
    assert len(leaks.unread) == 1 and "train file is missing" in leaks.unread[0]


def test_rows_held_out_as_dev_rows_are_not_training_rows(tmp_path: Path) -> None:
    rows = [f"{i},text number {i},{'yes' if i % 2 else 'no'}" for i in range(60)]
    write_csv(tmp_path / "all.csv", "id,text,label", rows)
    (tmp_path / "tasks").mkdir()
    settings = 'kind = "classify"\ntext = ["text"]\nlabel = "label"\n[files]\ntrain = "../all.csv"\n'
    (tmp_path / "tasks/mine.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    found = read_training(tmp_path)
    assert found.unread == ()
    # a tenth is held out, depending on the texts
    assert 45 <= len(found.tasks["mine"].rows) < 60


# ---- a run --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "tiny"
    run_all(demo_recipe(tiny), folder)
    return folder


def test_the_analysis_of_a_trained_run_agrees_with_its_scores(trained: Path) -> None:
    found = analyze_run(trained, trained)
    about = read_run(trained)
    assert set(found.tasks) == set(about["scores"]) == {"paraphrase", "sentiment", "similarity"}
    assert found.overall == pytest.approx(about["overall"], abs=1e-4)
    for name, task in found.tasks.items():
        assert task.scores == pytest.approx(about["scores"][name], abs=1e-3)
        assert (task.classification is None) == (task.regression is not None) == (name == "similarity")
        assert task.leaks.unread == () and len(task.leaks.sources) == 3
        assert task.slices and task.hardest_rows
        losses = [each.loss for each in task.hardest_rows]
        assert losses == sorted(losses, reverse=True)
        assert task.disagreement is not None
        assert (task.disagreement.first, task.disagreement.second, task.disagreement.p) == (0, 0, 1)
    assert found.notes == ()


def test_runs_without_a_common_task_are_not_compared(trained: Path, written: Path) -> None:
    with pytest.raises(UserError, match="have no task in common: mine; paraphrase"):
        analyze_run(written, trained)


def test_a_task_that_only_one_run_has_is_reported(written: Path) -> None:
    other = written.parent / "other"
    shutil.copytree(written, other)
    shutil.copy(written / "tasks/mine.toml", written / "tasks/more.toml")
    shutil.copy(written / "predictions/mine-dev.npz", written / "predictions/more-dev.npz")
    found = analyze_run(written, other)
    assert found.notes == (f"Only {written} has task 'more'.",)
    assert found.tasks["mine"].disagreement is not None and found.tasks["more"].disagreement is None


def test_a_folder_without_predictions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no predictions of dev rows"):
        analyze_run(tmp_path)


def test_an_analysis_is_plain_data() -> None:
    """Every number is a Python number, so that reports do not need numpy."""
    pairs = [("Where is it", "Where was it"), ("no way", "a way"), *[(f"word {i}", "other") for i in range(30)]]
    labels = [i % 2 for i in range(32)]
    classes = analyze_task(dev_predictions(QUORA, pairs, labels, confident([0] * 32, 2)), NO_TRAINING_ROWS)
    scores = analyze_task(
        dev_predictions(STS, pairs, [i % 5 for i in range(32)], np.linspace(0, 5, 32)), NO_TRAINING_ROWS
    )
    for found in (classes, scores):
        plain = {key: value for key, value in asdict(found).items() if key != "task"}
        json.dumps(plain, allow_nan=False)
    assert classes.scores == classify_scores(confident([0] * 32, 2), np.array(labels))
