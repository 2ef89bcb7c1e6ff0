"""The rows of a training file -> training rows and dev rows, for a task without a dev file.

Every label (for scores: every bin between quantiles) gives its fraction of the rows. Rows are taken in the order of a
hash of their texts, so the order of the file does not matter, and new rows move few of the old ones. Copies of an
example stay together, and so do pairs that share a text. Greedy like the iterative stratification of Sechidis et al.
2011 (ECML), which also handles groups of rows with different labels.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.rejects import RejectedRow, count_reasons, describe_reasons
from minbert.data.text_keys import ExampleKey, example_keys
from minbert.errors import UserError, cut_text

Numbers = npt.NDArray[np.int64]
# (stratum, number of rows) for each stratum of a group
GroupCounts = list[tuple[int, int]]
MOST_SCORE_BINS = 10
# pairs that share texts stay together up to this many rows, and up to a tenth of the dev rows
FEWEST_LINKED_ROWS = 4
# of all rows: more are not held out for the sake of rare labels
MOST_HELD_OUT = 0.2


def split_off_dev(dataset: Dataset, task: Task) -> tuple[Dataset, Dataset]:
    """A training file as training rows and dev rows."""
    train, dev = hold_out(dataset, task, task.dev_split)
    if not len(dev):
        raise no_dev_rows(dataset, task)
    return train, dev


def hold_out(dataset: Dataset, task: Task, fraction: float) -> tuple[Dataset, Dataset]:
    """The rows that are left, and those that are held out; none where there are too few different examples."""
    assert dataset.labels is not None
    strata_N = dataset.labels if task.kind == "classify" else score_bins(dataset.labels, fraction)
    held_out_N = choose_dev_rows(example_keys(dataset.texts), strata_N, fraction)
    left, held_out = dataset.take(np.flatnonzero(~held_out_N)), dataset.take(np.flatnonzero(held_out_N))
    held_out.skipped = []  # they are counted with the rows that are left
    return left, held_out


def no_dev_rows(dataset: Dataset, task: Task) -> UserError:
    """The error about rows of which none can be held out."""
    assert dataset.labels is not None
    rows, next_step = len(dataset), f"Give task '{task.name}' a dev file, or more rows."
    if rows > 1 and len(set(example_keys(dataset.texts))) == 1:
        columns = "' and '".join(task.text)
        return UserError(
            f"{dataset.path}: all {rows:,} rows have the same text in '{columns}', so none can be held out as dev "
            f"rows: {cut_text(dataset.texts[0][0], 60)}",
            f"Check 'text' of task '{task.name}', or give it a dev file.",
        )
    if task.kind == "classify" and len(np.unique(dataset.labels)) == rows > 2:
        return UserError(
            f"{dataset.path}: each of the {rows:,} rows has another label in '{task.label}', so none can be held out "
            "as a dev row.",
            f"Check 'label' of task '{task.name}', or give it a dev file.",
        )
    reason = "no label has" if task.kind == "classify" else "there are not"
    skipped = f"; {len(dataset.skipped):,} were skipped" if dataset.skipped else ""
    if dataset.skipped:
        skipped += f" ({describe_reasons(count_reasons(dataset.skipped))})"
    return UserError(
        f"{dataset.path}: too few rows ({rows}{skipped}) to use a fraction of {task.dev_split:g} as dev rows: "
        f"{reason} two different examples.",
        next_step,
    )


def without_held_out(
    tasks: Mapping[str, Task], train: Mapping[str, Dataset], dev: Mapping[str, Dataset]
) -> dict[str, Dataset]:
    """The training rows of all tasks, without the examples that another task holds out.

    Tasks with different labels split the same texts a little differently. The dev rows of a task depend on this task
    alone, so that its scores can be compared between recipes; training rows give way.
    """
    split = [name for name, task in tasks.items() if task.files.dev is None]
    split_train, split_dev = ({name: rows[name] for name in split} for rows in (train, dev))
    return {**train, **without_rows_of_others(split_train, split_dev, "a dev row of another task")}


def without_rows_of_others(
    train: Mapping[str, Dataset], held_out: Mapping[str, Dataset], reason: str
) -> dict[str, Dataset]:
    """The training rows of each task, without the examples that another task holds out; `reason`: said of those."""
    kept, keys = dict(train), {name: set(example_keys(rows.texts)) for name, rows in held_out.items()}
    for name, rows in train.items():
        others = set().union(*(each for other, each in keys.items() if other != name))
        gone_N = np.array([bool(others) and key in others for key in example_keys(rows.texts)])
        if gone_N.any() and not gone_N.all():
            kept[name] = rows.take(np.flatnonzero(~gone_N))
            reasons = [RejectedRow(rows.path, rows.lines[row], reason) for row in np.flatnonzero(gone_N)]
            kept[name].skipped = sorted(rows.skipped + reasons, key=lambda reject: reject.line)
    return kept


def score_bins(scores_N: npt.NDArray[np.float64], fraction: float) -> Numbers:
    """The number of each score's quantile bin; so few bins that each can give a dev row."""
    bins = int(np.clip(round(fraction * len(scores_N)), 1, MOST_SCORE_BINS))
    return np.searchsorted(np.quantile(scores_N, np.arange(1, bins) / bins), scores_N, side="right")


def choose_dev_rows(keys: Sequence[ExampleKey], strata_N: Numbers, fraction: float) -> npt.NDArray[np.bool_]:
    """Which rows become dev rows."""
    group_N = group_rows(keys, max(FEWEST_LINKED_ROWS, int(fraction * len(keys) / 10)))
    strata = int(strata_N.max()) + 1
    # the rows of each group and stratum that occur together, group by group
    both, rows = np.unique(group_N * strata + strata_N, return_counts=True)
    counts: dict[int, GroupCounts] = {}
    for group, stratum, count in zip((both // strata).tolist(), (both % strata).tolist(), rows.tolist(), strict=True):
        counts.setdefault(group, []).append((stratum, count))
    rows_S = np.bincount(strata_N, minlength=strata)
    groups_S = np.bincount(both % strata, minlength=strata)
    groups = [(group, counts[group]) for group in hash_order(keys, group_N)]
    wanted_S = np.where(groups_S > 1, np.clip(np.rint(fraction * rows_S), 0, rows_S - 1), 0).astype(int)
    most = max(int(MOST_HELD_OUT * len(keys)), int(wanted_S.sum()), 1)
    # a row of each rare stratum too, of the larger ones first
    order = dict.fromkeys(stratum for _, each in groups for stratum, _ in each)
    rare = [stratum for stratum in order if groups_S[stratum] > 1 and not wanted_S[stratum]]
    rare.sort(key=lambda stratum: -rows_S[stratum])
    wanted_S[rare[: most - int(wanted_S.sum())]] = 1
    return np.isin(group_N, list(fill_strata(groups, wanted_S, groups_S, most)))


def fill_strata(groups: Sequence[tuple[int, GroupCounts]], wanted_S: Numbers, groups_S: Numbers, most: int) -> set[int]:
    """The groups, first to last, that bring the strata closer to the rows that they want.

    Never the last group with rows of a stratum: a label without training rows cannot be learned. A group that is larger
    than what its strata want is only taken up to `most` rows in all, or if there is nothing else.
    """
    wanted, left = wanted_S.tolist(), groups_S.tolist()
    chosen: set[int] = set()

    def take(group: int, counts: GroupCounts) -> None:
        chosen.add(group)
        for stratum, rows in counts:
            wanted[stratum] -= rows
            left[stratum] -= 1

    for group, counts in groups:
        closer = sum(abs(wanted[stratum]) - abs(wanted[stratum] - rows) for stratum, rows in counts)
        if closer > 0 and all(left[stratum] > 1 for stratum, _ in counts):
            take(group, counts)
    for stratum in np.flatnonzero((wanted_S > 0) & (np.array(wanted) == wanted_S)).tolist():
        # all its groups are too large: the smallest of them
        fitting = [each for each in groups if stratum in dict(each[1]) and all(left[other] > 1 for other, _ in each[1])]
        if fitting and wanted[stratum] == wanted_S[stratum]:
            smallest = min(fitting, key=lambda each: sum(rows for _, rows in each[1]))
            held_out = int(wanted_S.sum()) - sum(wanted)
            if not chosen or held_out + sum(rows for _, rows in smallest[1]) <= most:
                take(*smallest)
    return chosen


def hash_order(keys: Sequence[ExampleKey], group_N: Numbers) -> list[int]:
    """The groups in the order of a hash of their first example in the alphabet."""
    first: dict[int, ExampleKey] = {}
    for group, key in zip(group_N.tolist(), keys, strict=True):
        if group not in first or key < first[group]:
            first[group] = key
    digests = {group: hashlib.sha256("\x1f".join(key).encode()).digest() for group, key in first.items()}
    return sorted(digests, key=digests.__getitem__)


def group_rows(keys: Sequence[ExampleKey], most: int) -> Numbers:
    """The number of each row's group: the copies of an example, or up to `most` rows of pairs that share texts."""
    numbers: dict[ExampleKey, int] = {}
    example_N = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    if not keys or len(keys[0]) == 1:
        return example_N
    rows_E = np.bincount(example_N)
    linked_E = np.array(link_examples(numbers, rows_E.tolist(), most), np.int64)
    # one side would be made of little else: only the copies stay together
    too_large_E = np.bincount(linked_E, weights=rows_E, minlength=len(rows_E))[linked_E] > most
    return np.where(too_large_E, np.arange(len(rows_E)), linked_E)[example_N]


def link_examples(examples: Iterable[ExampleKey], rows_E: Sequence[int], most: int) -> list[int]:
    """The number of one example of each connected component; a text of more than `most` rows connects nothing."""
    examples = list(examples)
    rows_of: Counter[str] = Counter()
    for texts, rows in zip(examples, rows_E, strict=True):
        for text in set(texts):
            rows_of[text] += rows
    parent = list(range(len(examples)))

    def root(example: int) -> int:
        while parent[example] != example:
            parent[example] = parent[parent[example]]
            example = parent[example]
        return example

    first: dict[str, int] = {}
    for example, texts in enumerate(examples):
        for text in texts:
            if rows_of[text] <= most:
                parent[root(example)] = root(first.setdefault(text, example))
    return [root(example) for example in range(len(examples))]
