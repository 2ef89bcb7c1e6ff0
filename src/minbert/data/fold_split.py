"""The training rows of a task -> folds for cross-validation: each row is held out in one of them.

As for dev rows (dev_split.py): labels, or bins of scores, are spread evenly, copies of an example stay together, and so
do pairs that share a text. The order of the file does not matter.
"""

from collections.abc import Sequence

import numpy as np

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.dev_split import FEWEST_LINKED_ROWS, GroupCounts, Numbers, group_rows, hash_order, score_bins
from minbert.data.text_keys import example_keys
from minbert.errors import UserError


def assign_folds(dataset: Dataset, task: Task, folds: int) -> Numbers:
    """The number of the fold that holds out each row."""
    assert dataset.labels is not None
    strata_N = dataset.labels if task.kind == "classify" else score_bins(dataset.labels, 1 / folds)
    keys = example_keys(dataset.texts)
    group_N = group_rows(keys, max(FEWEST_LINKED_ROWS, len(keys) // (10 * folds)))
    if len(np.unique(group_N)) < folds:
        raise UserError(
            f"{dataset.path}: too few different examples for {folds} folds of task '{task.name}'.",
            "Give fewer --folds, or more rows.",
        )
    counts: dict[int, GroupCounts] = {}
    both, rows = np.unique(np.stack([group_N, strata_N]), axis=1, return_counts=True)
    for (group, stratum), count in zip(both.T.tolist(), rows.tolist(), strict=True):
        counts.setdefault(group, []).append((stratum, count))
    order = [(group, counts[group]) for group in hash_order(keys, group_N)]
    fold_of = place_groups(order, np.bincount(strata_N), folds)
    return np.array([fold_of[group] for group in group_N.tolist()], np.int64)


def place_groups(groups: Sequence[tuple[int, GroupCounts]], rows_S: Numbers, folds: int) -> dict[int, int]:
    """The fold of each group, chosen one after the other: the fold with the fewest rows of its labels, then of all.

    Rare labels and large groups first, because what comes later can balance them.
    """
    held_SF = np.zeros((len(rows_S), folds))
    total_F = np.zeros(folds)
    fold_of: dict[int, int] = {}
    by_rarity = sorted(groups, key=lambda each: (min(rows_S[s] for s, _ in each[1]), -sum(n for _, n in each[1])))
    for group, counts in by_rarity:
        # of each label, the fraction of its rows that a fold already has
        crowded_F = np.sum([rows * held_SF[stratum] / rows_S[stratum] for stratum, rows in counts], axis=0)
        fold = fold_of[group] = int(np.lexsort((total_F, crowded_F))[0])
        for stratum, rows in counts:
            held_SF[stratum, fold] += rows
            total_F[fold] += rows
    return fold_of
