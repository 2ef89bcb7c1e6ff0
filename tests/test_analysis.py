"""Error analysis: every figure worked by hand, or compared with scipy's."""

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
from minbert.analysis.baseline import baseline_of
from minbert.analysis.calibration import calibrate
from minbert.analysis.classes import analyze_classes, matthews
from minbert.analysis.disagreement import disagree
from minbert.analysis.hardest import hardest
from minbert.analysis.intervals import interval, wilson
from minbert.analysis.leaks import Training, find_leaks, read_training, trained_on
from minbert.analysis.regression import analyze_scores
from minbert.analysis.rows import alike_by_gold, rows_of
from minbert.analysis.slices import Slice, slice_rows
from minbert.analysis.tags import TAGS, tag_rows
from minbert.config.task import Task, read_task
from minbert.data.dataset import Dataset
from minbert.data.metrics import classify_scores, pearson
from minbert.errors import UserError
from minbert.files import sha256
from minbert.runs.directory import read_run
from minbert.runs.predictions import DevPredictions, write_dev_predictions
from tests.workbench import demo_recipe, run_all, write_csv

SST, QUORA, STS = (read_task(name) for name in ("sst", "quora", "sts"))
ABC = Task("abc", Path(), kind="classify", text=("text",), label="label", labels=("a", "b", "c"))
NOWHERE = Training({})


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-12)


def sure(answers: Sequence[int], classes: int, probability: float = 0.8) -> Any:
    """Probabilities of which each answer has the given one, and the others equal shares of the rest."""
    return np.where(np.eye(classes)[list(answers)] == 1, probability, (1 - probability) / (classes - 1))


def given(task: Task, texts: Sequence[Sequence[str]], labels: Sequence[float], answers: Any) -> DevPredictions:
    columns = tuple(list(column) for column in zip(*texts, strict=True))
    ids = [f"id{i}" for i in range(len(labels))]
    return DevPredictions(task, ids, columns, np.array(labels), np.array(answers))


# ---- classes ------------------------------------------------------------------------------------------


def test_each_label_has_its_precision_recall_and_f1() -> None:
    # true a a b b c, answered a b b c c, as in the test of the metrics
    found = analyze_classes(ABC, sure([0, 1, 1, 2, 2], 3), np.array([0, 0, 1, 1, 2]))
    assert found.confusion == ((1, 1, 0), (0, 1, 1), (0, 0, 1))
    a, b, c = found.labels
    assert (a.label, a.support, a.answered) == ("a", 2, 1)
    assert (a.precision, a.recall, a.f1) == (1, 0.5, close(2 / 3))
    assert (b.precision, b.recall, b.f1) == (0.5, 0.5, 0.5)
    assert (c.precision, c.recall, c.f1) == (0.5, 1, close(2 / 3))
    # (3 right x 5 rows - (2*1 + 2*2 + 1*2)) / sqrt((25 - 9) (25 - 9))
    assert found.matthews == close((15 - 8) / 16)


def test_matthews_of_two_classes_is_the_correlation_of_labels_and_answers() -> None:
    labels, answers = np.array([1, 1, 1, 0, 0, 1]), np.array([1, 0, 1, 0, 1, 1])
    counts = np.array([[1, 1], [1, 3]])
    assert matthews(counts) == close(pearson(labels, answers))
    assert matthews(np.array([[3, 0], [2, 0]])) == 0


def test_the_baseline_of_classes_is_the_commonest_label_and_knows_the_shares() -> None:
    found = baseline_of(ABC, np.array([1, 1, 0, 1]))
    assert found.answer == "b"
    assert found.scores["accuracy"] == 0.75
    # the entropy of (1/4, 3/4)
    assert found.scores["log_loss"] == close(-0.25 * math.log(0.25) - 0.75 * math.log(0.75))


def test_the_baseline_of_scores_is_their_mean() -> None:
    found = baseline_of(STS, np.array([1.0, 2, 3]))
    assert (found.answer, found.scores["mse"], found.scores["pearson"]) == ("2", close(2 / 3), 0)


# ---- calibration --------------------------------------------------------------------------------------


def test_reliability_by_hand() -> None:
    # sure .75, .75 (one right), .95 (right), and one of 1 (wrong), which belongs to the last bin
    probabilities = np.array([[0.75, 0.25], [0.25, 0.75], [0.95, 0.05], [1.0, 0.0]])
    found = calibrate(probabilities, np.array([0, 0, 0, 1]))
    assert [each.rows for each in found.bins] == [0, 0, 0, 0, 0, 0, 0, 2, 0, 2]
    seven, nine = found.bins[7], found.bins[9]
    assert (seven.low, seven.high, seven.confidence, seven.accuracy) == (0.7, close(0.8), 0.75, 0.5)
    assert (nine.confidence, nine.accuracy) == (close(0.975), 0.5)
    assert (found.bins[0].confidence, found.bins[0].accuracy) == (None, None)
    assert found.ece == close((2 * 0.25 + 2 * 0.475) / 4)
    assert found.excess == close((0.75 + 0.75 + 0.95 + 1) / 4 - 0.5)
    # 2 x (.25^2, .75^2, .05^2, 1)
    assert found.brier == pytest.approx(2 * (0.0625 + 0.5625 + 0.0025 + 1) / 4, abs=1e-5)


def test_the_temperature_that_mends_is_found() -> None:
    # always .9 sure, three in four right: ln 9 / ln 3 = 2, and then it is .75 sure
    found = calibrate(sure([0] * 40, 2, 0.9), np.array([0] * 30 + [1] * 10))
    assert found.temperature == pytest.approx(2, rel=1e-3)
    assert found.ece == close(0.15) and found.mended_ece == pytest.approx(0, abs=1e-3)
    assert found.log_loss == close(-0.75 * math.log(0.9) - 0.25 * math.log(0.1))
    assert found.mended_log_loss == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25), abs=1e-6)


def test_the_temperature_agrees_with_logits_of_which_it_is_known() -> None:
    """Labels drawn by softmax(logits), probabilities written as softmax(2.5 logits)."""
    random = np.random.default_rng(0)
    logits = random.normal(size=(4000, 3))
    true, written = (np.exp(scale * logits) for scale in (1, 2.5))
    true, written = (each / each.sum(1, keepdims=True) for each in (true, written))
    labels = (random.random((4000, 1)) > true.cumsum(1)).sum(1)
    found = calibrate(written, labels)
    assert found.temperature == pytest.approx(2.5, rel=0.1)
    assert found.mended_ece is not None and found.mended_ece < found.ece / 3


def test_no_temperature_mends_a_model_that_is_always_right() -> None:
    found = calibrate(sure([0, 1, 1], 2), np.array([0, 1, 1]))
    assert (found.temperature, found.mended_ece, found.mended_log_loss) == (None, None, None)


# ---- scores -------------------------------------------------------------------------------------------


def test_bias_by_fifth_of_the_range() -> None:
    # gold 0, .5 | 1 (the second fifth begins with it) | 5 (the last one ends with it)
    found = analyze_scores(STS, np.array([1.0, 0.5, 3.0, 4.0]), np.array([0.0, 0.5, 1.0, 5.0]))
    assert [(each.low, each.high, each.rows, each.bias, each.mae) for each in found.fifths] == [
        (0, 1, 2, 0.5, 0.5),
        (1, 2, 1, 2, 2),
        (2, 3, 0, None, None),
        (3, 4, 0, None, None),
        (4, 5, 1, -1, 1),
    ]
    assert found.bias == close((1 + 0 + 2 - 1) / 4)
    # errors -1, 0, 1, 2: their median, and the place a quarter of the way
    assert found.quantiles[0.5] == close(0.5) and found.quantiles[0.25] == close(-0.25)
    assert found.points == ((0, 1), (0.5, 0.5), (1, 3), (5, 4))
    assert found.spread == close(np.std([1, 0.5, 3, 4]) / np.std([0, 0.5, 1, 5]))


def test_many_points_are_thinned_evenly() -> None:
    gold = np.linspace(0, 5, 10_001)
    points = analyze_scores(STS, gold, gold[::-1].copy()).points
    assert len(points) == 2000
    assert points[0][0] == 0 and points[-1][0] == 5
    assert max(b[0] - a[0] for a, b in pairwise(points)) < 0.004


# ---- tags ---------------------------------------------------------------------------------------------


def tags_of(task: Task, texts: tuple[str, ...], label: float, answer: float) -> set[str]:
    """The tags of a row, among two plain ones that say what gold is like: other words and 0, the same and 1 or 5."""
    high = 5.0 if task.kind == "score" else len(task.labels) - 1
    plain = [("x y",) * len(texts), tuple("pqr"[: len(texts)])]
    answers = [answer, high, 0]
    rows = rows_of(
        given(
            task,
            [texts, *plain],
            [label, high, 0],
            answers if task.kind == "score" else sure([int(each) for each in answers], len(task.labels)),
        )
    )
    return {name for name, tag in TAGS.items() if tag.holds(rows[0]) and name != "long"}


@pytest.mark.parametrize(
    ("first", "second", "similarity", "tags"),
    [
        # 3 of 5 words are common
        ("Indian stocks open lower", "Indian stocks close lower", 1.8, {"few changed words"}),
        ("Indian stocks open lower", "Indian stocks close lower", 3.0, set()),
        # none of 7
        ("A physician operated", "The doctor did surgery", 4.5, {"other words"}),
        ("A physician operated", "The doctor did surgery", 1.0, set()),
        ("A dog runs", "On the wet beach a brown dog runs fast", 3.0, {"summary"}),
        ("On the wet beach a brown dog runs fast", "A dog runs", 3.0, {"summary"}),
        # as long as the other
        ("A brown dog runs fast", "A black cat runs fast", 3.0, set()),
        ("He didn't say why", "He told us the reason", 3.0, {"negation in one"}),
        ("He didn’t say why", "He never told us the reason", 3.0, set()),
        ("It fell 3.5 percent", "The stock lost 3.6 points", 3.0, {"numbers differ"}),
        ("Two dogs on a beach", "3 cats in the garden", 3.0, {"numbers differ"}),
        ("It cost $1,000 then", "The price was 1000 dollars", 3.0, set()),
        ("Two dogs on a beach", "2 cats in the garden", 3.0, set()),
        # a number left out is a detail, no contradiction
        ("Two dogs on a beach", "Some cats in the garden", 3.0, set()),
        ('Who wrote "Hamlet?"', "Somebody made a play", 3.0, {"question"}),
    ],
)
def test_tags_of_pairs(first: str, second: str, similarity: float, tags: set[str]) -> None:
    assert tags_of(STS, (first, second), similarity, similarity) == tags


@pytest.mark.parametrize(
    ("text", "gold", "answer", "tags"),
    [
        ("A fine film .", 3, 3, set()),
        ("It does n't work .", 1, 1, {"negation"}),
        ("Slow but lovely .", 3, 4, {"turn", "off by one"}),
        ("A fine film .", 3, 1, {"far off"}),
        ("Why was it made ?", 0, 0, {"question"}),
        ("so " * 127, 2, 2, {"cut"}),
        ("so " * 126, 2, 2, set()),
    ],
)
def test_tags_of_single_texts(text: str, gold: int, answer: int, tags: set[str]) -> None:
    assert tags_of(SST, (text,), gold, answer) == tags


def test_labels_that_are_no_scale_have_no_neighbours() -> None:
    assert not tags_of(ABC, ("text",), 0, 1)
    assert not tags_of(QUORA, ("one thing", "another matter"), 0, 1)


def test_which_label_means_the_same_is_learnt_from_common_words() -> None:
    overlap = np.array([0.9, 0.7, 0.1, 0.3])
    assert alike_by_gold(QUORA, np.array([1, 1, 0, 0]), overlap).tolist() == [1, 1, 0, 0]
    assert alike_by_gold(QUORA, np.array([0, 0, 1, 1]), overlap).tolist() == [1, 1, 0, 0]
    assert alike_by_gold(STS, np.array([5.0, 4, 0, 1]), overlap) == pytest.approx([1, 0.8, 0, 0.2])
    # a distance: 0 is the same
    assert alike_by_gold(STS, np.array([0.0, 1, 5, 4]), overlap) == pytest.approx([1, 0.8, 0, 0.2])


def test_a_tag_of_nearly_all_rows_is_none_and_long_rows_are_the_longest_tenth() -> None:
    texts = [("word " * n + "?",) for n in range(1, 21)]
    tagged = tag_rows(rows_of(given(SST, texts, [0] * 20, sure([0] * 20, 5))))
    assert "question" not in tagged
    assert np.flatnonzero(tagged["long"]).tolist() == [18, 19]


# ---- intervals and slices -----------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "rows"), [(0, 10), (7, 10), (10, 10), (450, 1000)])
def test_wilsons_interval_is_scipys(hits: int, rows: int) -> None:
    expected = stats.binomtest(hits, rows).proportion_ci(method="wilson")
    assert wilson(hits, rows) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_bootstrap_agrees_with_scipys() -> None:
    random = np.random.default_rng(1)
    gold = random.uniform(0, 5, 300)
    scores = gold + random.normal(size=300)
    expected = stats.bootstrap(
        (np.abs(scores - gold),), np.mean, method="percentile", n_resamples=2000, rng=np.random.default_rng(2)
    ).confidence_interval
    # the interval is about .13 wide
    assert interval("mae", scores, gold) == pytest.approx((expected.low, expected.high), abs=0.01)


def by_name(slices: Sequence[Slice]) -> dict[tuple[str, str], Slice]:
    return {(each.by, each.name): each for each in slices}


def test_slices_of_classes() -> None:
    # 40 rows of one word, all right; 20 rows of three words with a negation, 5 right
    texts = [("fine",)] * 40 + [("not so fine",)] * 20
    labels = [0] * 40 + [1] * 20
    answers = [0] * 40 + [1] * 5 + [2] * 15
    rows = given(SST, texts, labels, sure(answers, 5))
    facts = rows_of(rows)
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
    assert (three.rows, three.score, three.whole) == (20, 0.25, close(45 / 60))
    assert (three.low, three.high) == wilson(5, 20) and three.worse
    # 5 answers of .8, 15 of .05
    assert three.loss == close(-(5 * math.log(0.8) + 15 * math.log(0.05)) / 20)
    assert replace(three, by="tag", name="negation") == found["tag", "negation"]


def test_slices_of_scores_are_measured_by_errors_for_a_narrow_range_lowers_any_correlation() -> None:
    # gold follows the number of words; the error is the same everywhere, upwards for every third length
    lengths = np.arange(60) % 20
    gold = lengths / 4
    scores = gold + np.where(lengths % 3 == 0, 0.5, -0.5)
    assert pearson(scores[lengths < 5], gold[lengths < 5]) < pearson(scores, gold)
    rows = given(STS, [("w " * (n + 1), "v") for n in lengths], gold.tolist(), scores)
    found = slice_rows(rows, rows_of(rows), {})
    assert [each.name for each in found if each.by == "words"] == ["2–6", "7–11", "12–16", "17–21"]
    assert all((each.metric, each.score, each.worse) == ("mae", close(0.5), False) for each in found)
    # of the lengths 0 to 4 two err upwards, of 10 to 14 one
    assert [each.bias for each in found if each.by == "words"] == pytest.approx([-0.1, -0.1, -0.3, -0.1])


def test_small_slices_and_the_whole_are_left_out() -> None:
    rows = given(SST, [("not it",)] * 9 + [("that one",)] * 30, [0] * 9 + [1] * 30, sure([0] * 9 + [1] * 30, 5))
    facts = rows_of(rows)
    found = by_name(slice_rows(rows, facts, tag_rows(facts)))
    assert set(found) == {("label", "negative")}


# ---- the hardest rows ---------------------------------------------------------------------------------


def test_confidently_wrong_comes_first() -> None:
    answers = np.array([[0.9, 0.1], [0.4, 0.6], [0.01, 0.99]])
    rows = given(QUORA, [("a", "b"), ("c", "d"), ("e", "f")], [0, 0, 0], answers)
    worst, doubtful, right = hardest(rows, {"tagged": np.array([False, False, True])})
    assert (worst.row, worst.id, worst.texts) == (2, "id2", ("e", "f"))
    assert (worst.gold, worst.answer, worst.right) == ("different", "duplicate", False)
    assert (worst.probability, worst.gold_probability, worst.error) == (0.99, 0.01, None)
    assert worst.loss == close(-math.log(0.01)) and worst.tags == ("tagged",)
    assert (doubtful.right, right.right) == (False, True)


def test_every_tag_and_label_has_rows_among_the_hardest() -> None:
    # 300 wrong rows of one label, and 30 right ones of another, of which 3 are tagged
    labels = [0] * 300 + [1] * 30
    rows = given(QUORA, [("a", "b")] * 330, labels, sure([1] * 330, 2))
    found = hardest(rows, {"rare": np.arange(330) >= 327})
    assert sum(each.gold == "different" for each in found) == 200
    # 20 of the label (and of the right ones), and the tagged ones
    assert [each.row for each in found if each.right] == [*range(300, 320), 327, 328, 329]


def test_the_hardest_scores_are_the_farthest() -> None:
    found = hardest(given(STS, [("a", "b"), ("c", "d")], [1.0, 4.0], [1.5, 1.25]), {})
    assert [(each.gold, each.answer, each.error, each.loss, each.right) for each in found] == [
        ("4", "1.25", -2.75, 2.75, None),
        ("1", "1.5", 0.5, 0.5, None),
    ]


# ---- two runs -----------------------------------------------------------------------------------------


def test_disagreements_are_counted_both_ways() -> None:
    texts = [(f"a{i}", f"b{i}") for i in range(10)]
    labels = [0] * 10
    # both right: 1; only the first: 6, one surely; only the second: 1; neither: 2
    first = sure([0] + [0] * 6 + [1] + [1] * 2, 2)
    first[3] = [0.99, 0.01]
    second = sure([0] + [1] * 6 + [0] + [1] * 2, 2)
    found = disagree(given(QUORA, texts, labels, first), given(QUORA, texts, labels, second), ("one", "two"))
    assert (found.both, found.first, found.second, found.neither) == (1, 6, 1, 2)
    # McNemar, exact: 2 x (C(7,0) + C(7,1)) / 2^7
    assert found.p == close(2 * 8 / 128)
    # the greatest difference of loss first
    assert [each.row for each in found.first_better] == [3, 1, 2, 4, 5, 6]
    (only,) = found.second_better
    assert (only.texts, only.gold, only.first, only.second) == (("a7", "b7"), "different", "duplicate", "different")
    assert only.first_loss > only.second_loss


def test_of_scores_the_nearer_run_is_the_better() -> None:
    texts, gold = [("a", "b")] * 4, [1.0, 2.0, 3.0, 4.0]
    first = given(STS, texts, gold, [1.0, 3.0, 3.5, 4.0])
    second = given(STS, texts, gold, [4.0, 2.5, 2.5, 3.5])
    found = disagree(first, second, ("one", "two"))
    # rows 0 and 3 are nearer in the first run, row 1 in the second, row 2 in neither
    assert (found.first, found.second, found.both, found.neither) == (2, 1, 1, 0)
    assert [(each.row, each.first_loss, each.second_loss) for each in found.first_better] == [(0, 0, 3), (3, 0, 0.5)]
    assert found.p == 1


def test_a_run_agrees_with_itself() -> None:
    rows = given(QUORA, [("a", "b")], [0], [[0.2, 0.8]])
    found = disagree(rows, rows, ("one", "one"))
    assert (found.first, found.second, found.neither, found.p) == (0, 0, 1, 1)


def test_other_dev_rows_are_not_compared() -> None:
    first = given(STS, [("a", "b"), ("c", "d")], [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(UserError, match=r"one and two differ in dev row 2 \(id1\)") as refused:
        disagree(first, replace(first, texts=(["a", "c"], ["b", "x"])), ("one", "two"))
    assert "same dev file" in refused.value.next_step
    with pytest.raises(UserError, match="differ in dev row 1"):
        disagree(first, replace(first, labels=np.array([0.0, 2.0])), ("one", "two"))
    with pytest.raises(UserError, match="have 2 and 1 dev rows"):
        disagree(first, given(STS, [("a", "b")], [1.0], [1.0]), ("one", "two"))
    with pytest.raises(UserError, match="another range"):
        disagree(first, replace(first, task=replace(STS, range=(0.0, 1.0))), ("one", "two"))


# ---- leaks --------------------------------------------------------------------------------------------


def test_leaks_are_found_whatever_the_case_and_the_order_of_a_pair() -> None:
    texts = [("Who am I?", "Who is he?"), ("Where?", "Who am I?"), ("When?", "Why?"), ("How?", "How so?")]
    rows = given(QUORA, texts, [1, 0, 0, 0], sure([1, 1, 0, 1], 2))
    training = Training(
        {"quora": trained_on([["who is he", "x"], ["WHO AM I", "y"]]), "sst": trained_on([["How!"]])}, ("gone",)
    )
    found, leaked = find_leaks(rows, training)
    assert leaked.tolist() == [True, False, False, False]
    assert [(each.task, each.rows, each.texts) for each in found.sources] == [("quora", 1, 2), ("sst", 0, 1)]
    assert (found.rows, found.texts, found.unread) == (1, 3, ("gone",))
    # right: rows 0 and 2
    assert (found.score, found.alone, found.without) == (0.5, 1, close(1 / 3))


def test_without_leaks_there_is_no_score_of_them() -> None:
    found, _ = find_leaks(given(QUORA, [("a", "b")], [1], sure([1], 2)), NOWHERE)
    assert (found.rows, found.alone, found.without) == (0, None, 1)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A run's folder as training leaves it, with three dev rows, one of which it was trained on."""
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


def test_training_rows_are_found_by_the_tasks_of_the_run(written: Path) -> None:
    found = analyze_run(written).tasks["mine"]
    assert found.scores["accuracy"] == close(2 / 3)
    assert (found.leaks.rows, found.leaks.without, found.leaks.unread) == (1, 0.5, ())
    assert [each.tags for each in found.hardest] == [(), (), ("long", "in training")]
    assert [(each.name, each.rows) for each in found.tags] == [("long", 1), ("in training", 1)]


def test_training_files_that_are_gone_or_changed_are_told_of(written: Path) -> None:
    train = written.parent / "train.csv"
    write_csv(train, "id,text,label", ["1,Fine,yes"])
    leaks = analyze_run(written).tasks["mine"].leaks
    assert leaks.unread == (f"Task 'mine': its train file has changed since the run: {train}.",) and leaks.rows == 1
    train.unlink()
    leaks = analyze_run(written).tasks["mine"].leaks
    assert (leaks.rows, leaks.sources) == (0, ())
    assert len(leaks.unread) == 1 and "train file is missing" in leaks.unread[0]


def test_rows_that_a_run_set_aside_for_measuring_are_no_training_rows(tmp_path: Path) -> None:
    rows = [f"{i},text number {i},{'yes' if i % 2 else 'no'}" for i in range(60)]
    write_csv(tmp_path / "all.csv", "id,text,label", rows)
    (tmp_path / "tasks").mkdir()
    settings = 'kind = "classify"\ntext = ["text"]\nlabel = "label"\n[files]\ntrain = "../all.csv"\n'
    (tmp_path / "tasks/mine.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    found = read_training(tmp_path)
    assert found.unread == ()
    # a tenth, as the texts decide
    assert 45 <= len(found.tasks["mine"].rows) < 60


# ---- a run --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "tiny"
    run_all(demo_recipe(tiny), folder)
    return folder


def test_a_trained_run_is_analysed_as_it_was_scored(trained: Path) -> None:
    found = analyze_run(trained, trained)
    about = read_run(trained)
    assert set(found.tasks) == set(about["scores"]) == {"paraphrase", "sentiment", "similarity"}
    assert found.overall == pytest.approx(about["overall"], abs=1e-4)
    for name, task in found.tasks.items():
        assert task.scores == pytest.approx(about["scores"][name], abs=1e-3)
        assert (task.classes is None) == (task.regression is not None) == (name == "similarity")
        assert task.leaks.unread == () and len(task.leaks.sources) == 3
        assert task.slices and task.hardest
        losses = [each.loss for each in task.hardest]
        assert losses == sorted(losses, reverse=True)
        assert task.disagreement is not None
        assert (task.disagreement.first, task.disagreement.second, task.disagreement.p) == (0, 0, 1)
    assert found.notes == ()


def test_runs_without_a_common_task_are_not_compared(trained: Path, written: Path) -> None:
    with pytest.raises(UserError, match="have no task in common: mine; paraphrase"):
        analyze_run(written, trained)


def test_a_task_that_only_one_run_has_is_told_of(written: Path) -> None:
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
    """Whoever shows it needs no numpy: every number is Python's own."""
    pairs = [("Where is it", "Where was it"), ("no way", "a way"), *[(f"word {i}", "other") for i in range(30)]]
    labels = [i % 2 for i in range(32)]
    classes = analyze_task(given(QUORA, pairs, labels, sure([0] * 32, 2)), NOWHERE)
    scores = analyze_task(given(STS, pairs, [i % 5 for i in range(32)], np.linspace(0, 5, 32)), NOWHERE)
    for found in (classes, scores):
        plain = {key: value for key, value in asdict(found).items() if key != "task"}
        json.dumps(plain, allow_nan=False)
    assert classes.scores == classify_scores(sure([0] * 32, 2), np.array(labels))
