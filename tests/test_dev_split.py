"""The dev rows that are split off a training file: in proportion, the same every time, and never copies."""

import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from minbert.config.task import Files, Task
from minbert.data.dataset import Dataset
from minbert.data.dev_split import choose_dev_rows, group_rows, score_bins, split_off_dev, without_held_out
from minbert.data.source import DataSource
from minbert.data.text_keys import example_keys, normalized_text
from minbert.errors import UserError
from tests.workbench import write_csv


def task_of(classes: int = 2, fraction: float = 0.1, columns: tuple[str, ...] = ("text",), name: str = "mine") -> Task:
    labels = tuple(range(classes))
    return Task(name, Path(), kind="classify", text=columns, label="y", labels=labels, dev_split=fraction)


def scores_of(fraction: float = 0.1) -> Task:
    return Task("mine", Path(), kind="score", text=("text",), label="y", range=(0.0, 5.0), dev_split=fraction)


def rows_of(texts: list[str] | list[tuple[str, str]], labels: list[int] | list[float]) -> Dataset:
    columns = tuple(list(column) for column in zip(*texts, strict=True)) if isinstance(texts[0], tuple) else (texts,)
    ids = [str(row) for row in range(len(texts))]
    return Dataset(columns, np.array(labels), ids, list(range(2, len(texts) + 2)), Path("mine.csv"))


def split_of(texts: list[str], labels: list[int], fraction: float = 0.1) -> tuple[set[str], set[str]]:
    train, dev = split_off_dev(rows_of(texts, labels), task_of(max(labels) + 1, fraction))
    return set(train.texts[0]), set(dev.texts[0])


# ---- proportions --------------------------------------------------------------------------------------


def test_every_class_gives_its_fraction() -> None:
    # 100, 60, 14, 5 and 2 rows: a tenth is 10, 6, 1.4, 0.5 and 0.2, and no class gives less than one row
    labels = [label for label, rows in enumerate([100, 60, 14, 5, 2]) for _ in range(rows)]
    _, dev = split_off_dev(rows_of([f"text {i}" for i in range(len(labels))], labels), task_of(5))
    assert Counter(dev.labels.tolist()) == {0: 10, 1: 6, 2: 1, 3: 1, 4: 1}


def test_a_class_with_one_example_is_trained_on() -> None:
    train, dev = split_of(["a", "b", "c", "d", "only", "Only!"], [0, 0, 0, 0, 1, 1], 0.5)
    assert len(dev) == 2 and {"only", "Only!"} <= train


@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.99])
def test_every_class_is_on_both_sides_of_a_tiny_file(fraction: float) -> None:
    texts, labels = [f"text {i}" for i in range(20)], [i % 4 for i in range(20)]
    train, dev = split_off_dev(rows_of(texts, labels), task_of(4, fraction))
    assert set(train.labels.tolist()) == set(dev.labels.tolist()) == {0, 1, 2, 3}
    # 5 rows of each class: round(0.05), round(2.5) and round(4.95), but at least 1 and at most 4
    assert len(dev) == 4 * {0.01: 1, 0.5: 2, 0.99: 4}[fraction]


def test_a_class_that_only_has_many_copies_is_on_both_sides_too() -> None:
    # two examples of five copies each: one row is wanted, and one of the two is taken whole
    texts = ["same"] * 5 + ["other"] * 5 + [f"text {i}" for i in range(40)]
    train, dev = split_off_dev(rows_of(texts, [1] * 10 + [0] * 40), task_of())
    assert Counter(dev.labels.tolist()) == {0: 4, 1: 5} and Counter(train.labels.tolist()) == {0: 36, 1: 5}
    # with 20 other rows, 5 and 2 would be more than a fifth of 30
    _, dev = split_off_dev(rows_of(texts[:30], [1] * 10 + [0] * 20), task_of())
    assert Counter(dev.labels.tolist()) == {0: 2}


def test_rare_classes_never_hold_out_more_than_a_fifth() -> None:
    # 100 classes of two rows: a row of each would be half of the file
    labels = [i % 100 for i in range(200)]
    train, dev = split_off_dev(rows_of([f"text {i}" for i in range(200)], labels), task_of(100))
    assert len(dev) == 40 == len(set(dev.labels.tolist())) and set(train.labels.tolist()) == set(range(100))
    # 80 rows of one class and 10 classes of two: 8 rows, and one of each of the ten are 18 of 100
    labels = [0] * 80 + [1 + i % 10 for i in range(20)]
    _, dev = split_off_dev(rows_of([f"text {i}" for i in range(100)], labels), task_of(11))
    assert Counter(dev.labels.tolist()) == {0: 8, **dict.fromkeys(range(1, 11), 1)}
    # the larger classes first: 10 classes of 4 rows, 20 of 2, and 16 rows in all
    labels = [i % 10 for i in range(40)] + [10 + i % 20 for i in range(40)]
    _, dev = split_off_dev(rows_of([f"text {i}" for i in range(80)], labels), task_of(30))
    assert len(dev) == 16 and set(range(10)) <= set(dev.labels.tolist())
    # a larger fraction is what was asked for
    _, dev = split_off_dev(rows_of([f"text {i}" for i in range(80)], labels), task_of(30, 0.5))
    assert len(dev) == 40


def test_scores_are_split_by_quantiles() -> None:
    scores = np.random.default_rng(0).beta(0.5, 2.0, 1000) * 5
    _, dev = split_off_dev(rows_of([f"text {i}" for i in range(1000)], scores.tolist()), scores_of())
    deciles = np.searchsorted(np.quantile(scores, np.arange(1, 10) / 10), dev.labels, side="right")
    assert np.bincount(deciles).tolist() == [10] * 10


def test_there_are_only_as_many_bins_of_scores_as_dev_rows() -> None:
    assert set(score_bins(np.arange(30.0), 0.1).tolist()) == {0, 1, 2}
    assert set(score_bins(np.arange(4.0), 0.1).tolist()) == {0}
    # half of the scores are equal: they are one bin, and the others are spread over the rest
    assert len(set(score_bins(np.r_[np.zeros(500), np.arange(1.0, 501.0)], 0.1).tolist())) == 6


# ---- the same every time ------------------------------------------------------------------------------


def test_the_order_of_the_rows_does_not_matter() -> None:
    texts, labels = [f"text {i} of {i % 90}" for i in range(500)], [i % 3 for i in range(500)]
    order = np.random.default_rng(1).permutation(500)
    assert split_of(texts, labels) == split_of([texts[i] for i in order], [labels[i] for i in order])


def test_the_order_of_pairs_does_not_matter() -> None:
    pairs = [(f"text {i % 70}", f"other {i % 110}") for i in range(500)]
    order = np.random.default_rng(1).permutation(500)
    labels = np.arange(500) % 2
    first = choose_dev_rows(example_keys(list(zip(*pairs, strict=True))), labels, 0.2)
    shuffled = [(pairs[i][1], pairs[i][0]) for i in order]
    assert (choose_dev_rows(example_keys(list(zip(*shuffled, strict=True))), labels[order], 0.2) == first[order]).all()


def test_new_rows_move_few_old_ones() -> None:
    texts, labels = [f"text {i}" for i in range(3000)], [i % 3 for i in range(3000)]
    train, dev = split_of(texts[:2000], labels[:2000], 0.2)
    more_train, more_dev = split_of(texts, labels, 0.2)
    # without the common order of both splits, 2 * 0.2 * 0.8 of the 2000 rows would move: 640
    assert len(train & more_dev) + len(dev & more_train) < 40


# ---- copies and shared texts --------------------------------------------------------------------------


def test_copies_stay_on_one_side_even_with_other_labels() -> None:
    texts = [f"This is review {i}." for i in range(200)] + [f"  this IS review {i} !" for i in range(200)]
    train, dev = split_of(texts, [i % 2 for i in range(200)] + [0] * 200, 0.2)
    assert not {normalized_text(text) for text in train} & {normalized_text(text) for text in dev}
    assert len(train) + len(dev) == 400


def test_pairs_that_share_a_text_are_one_group() -> None:
    pairs = [("a", "b"), ("B!", "c"), ("c", "d"), ("x", "y"), ("y", "x"), ("p", "q")]
    keys = example_keys(list(zip(*pairs, strict=True)))
    groups = group_rows(keys, most=4).tolist()
    assert len(set(groups[:3])) == 1 and groups[3] == groups[4] and len(set(groups)) == 3
    # three rows are more than two: only copies stay together
    assert len(set(group_rows(keys, most=2).tolist())) == 5


def test_a_text_of_most_rows_connects_nothing() -> None:
    # each of 50 texts with each of two questions: the texts stay together, the questions cannot
    pairs = [(f"text {i}", question) for i in range(50) for question in ("Is it good?", "Is it long?")]
    groups = group_rows(example_keys(list(zip(*pairs, strict=True))), most=4)
    assert groups[0::2].tolist() == groups[1::2].tolist() and len(set(groups.tolist())) == 50


def test_dev_pairs_share_no_text_with_training_pairs() -> None:
    pairs = [(f"text {i // 3}", f"other {i}") for i in range(900)]
    train, dev = split_off_dev(rows_of(pairs, [i % 3 % 2 for i in range(900)]), task_of(columns=("a", "b")))
    assert not set(train.texts[0]) & set(dev.texts[0])
    # 600 rows of class 0 and 300 of class 1, in groups of two and one
    assert Counter(dev.labels.tolist()) == {0: 60, 1: 30}


def test_what_one_task_holds_out_the_other_does_not_train_on(tmp_path: Path) -> None:
    rows = [f"text {i},{i % 2},{i * 7 % 5}" for i in range(400)]
    write_csv(tmp_path / "messages.csv", "text,spam,stars", rows)
    found = {}
    for name in ("spam", "stars"):
        task = Task(name, tmp_path, kind="classify", text=("text",), label=name, files=Files(train="messages.csv"))
        found[name] = DataSource().read_splits(task)
    tasks, train, dev = ({name: each[i] for name, each in found.items()} for i in range(3))
    kept = without_held_out(tasks, train, dev)
    held_out = {text for name in dev for text in dev[name].texts[0]}
    for name in tasks:
        assert not held_out & set(kept[name].texts[0])
        assert len(kept[name]) == 400 - len(held_out)
        # no row disappears without a word
        assert len(kept[name]) + len(kept[name].skipped) + len(dev[name]) == 400
        assert {reject.reason for reject in kept[name].skipped} <= {"a dev row of another task"}
    # both take rows in the same order, so that they hold out nearly the same ones
    assert 40 <= len(held_out) <= 50


# ---- too few, and many --------------------------------------------------------------------------------


def test_too_few_rows_to_split_ask_for_a_dev_file() -> None:
    with pytest.raises(UserError) as caught:
        split_of(["one", "two"], [0, 1], 0.2)
    assert caught.value.problem == (
        "mine.csv: too few rows (2) to use a fraction of 0.2 as dev rows: no label has two different examples."
    )
    assert caught.value.next_step == "Give task 'mine' a dev file, or more rows."
    with pytest.raises(UserError, match="all 2 rows have the same text in 'text'"):
        split_off_dev(rows_of(["same", "Same."], [1.0, 2.0]), scores_of())
    with pytest.raises(UserError, match="each of the 3 rows has another label in 'y'") as caught:
        split_of(["one", "two", "three"], [0, 1, 2])
    assert caught.value.next_step == "Check 'label' of task 'mine', or give it a dev file."


def test_a_hundred_thousand_pairs_take_seconds() -> None:
    words = np.random.default_rng(0).integers(0, 5000, (2, 100_000, 12)).astype(str)
    columns = [[" ".join(text) for text in column] for column in words]
    began = time.perf_counter()
    in_dev = choose_dev_rows(example_keys(columns), np.arange(100_000) % 20, 0.1)
    # about 1.5 seconds on two old cores
    assert time.perf_counter() - began < 10
    assert in_dev.sum() == 10_000
