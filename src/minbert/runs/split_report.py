"""The rows of a task's train, dev or test split -> counts: labels, copies, contradictions, lengths, unknown tokens."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.batch import EncodedTexts
from minbert.data.dataset import Dataset
from minbert.data.rejects import count_reasons
from minbert.data.text_keys import ExampleKey
from minbert.data.tokenizer import Tokenizer
from minbert.training.auto_length import MANY_TRUNCATED
from minbert.training.prepare import Prepared, Split

# scores of the same texts contradict each other if they differ by more than this fraction of the range
CONTRADICTION = 0.25


@dataclass(frozen=True)
class SplitReport:
    """The rows of one task's train, dev or test split."""

    task: str
    # train, dev or test
    split: str
    rows: int
    skipped: int
    # reason -> rows, the most frequent first
    skip_reasons: dict[str, int]
    # rows that repeat an earlier one, and rows with the same texts as a row with another label
    duplicates: int
    contradictions: int
    # rows of each label, or of each fifth of the score range; and the same as fractions
    labels: dict[str, int]
    balance: dict[str, float]
    # whether all labels or scores are equal
    constant: bool
    # tokens before truncation
    median_tokens: int
    tokens_95: int
    tokens_99: int
    most_tokens: int
    max_length: int
    truncated: int
    # None: max_length is fine, or as high as the backbone allows
    suggested_max_length: int | None
    # fraction of the tokens that the tokenizer does not know, and rows in which it is at least half
    unknown_tokens: float
    unknown_rows: int


def report_split(ready: Prepared, name: str, split: str, rows: Split, keys: Sequence[ExampleKey]) -> SplitReport:
    """`keys`: of the rows, with the texts of a pair in their order."""
    task, labels_N = ready.tasks[name], rows.dataset.labels
    assert labels_N is not None
    counts = label_counts(task, rows.dataset)
    lengths_N, limit = rows.encoded.whole_lengths, ready.model.task(name).max_length
    median, tokens_95, tokens_99 = np.percentile(lengths_N, [50, 95, 99], method="inverted_cdf").tolist()
    unknown_tokens, unknown_rows = count_unknown(ready.tokenizer, rows.encoded)
    return SplitReport(
        task=name,
        split=split,
        rows=len(rows.dataset),
        skipped=len(rows.dataset.skipped),
        skip_reasons=count_reasons(rows.dataset.skipped),
        duplicates=len(keys) - len({tuple(sorted(key)) for key in keys}),
        contradictions=count_contradictions(task, keys, labels_N),
        labels=counts,
        balance={label: count / len(rows.dataset) for label, count in counts.items()},
        constant=bool((labels_N == labels_N[0]).all()),
        median_tokens=median,
        tokens_95=tokens_95,
        tokens_99=tokens_99,
        most_tokens=int(lengths_N.max()),
        max_length=limit,
        truncated=int(rows.encoded.truncated.sum()),
        suggested_max_length=suggest_max_length(lengths_N, limit, ready.model.bert.config.max_position_embeddings),
        unknown_tokens=unknown_tokens,
        unknown_rows=unknown_rows,
    )


def label_counts(task: Task, dataset: Dataset) -> dict[str, int]:
    """The rows of each label, or in each fifth of the score range."""
    assert dataset.labels is not None
    if task.kind == "classify":
        return dict(
            zip(task.display_labels, np.bincount(dataset.labels, minlength=len(task.labels)).tolist(), strict=True)
        )
    edges = np.linspace(task.range[0], task.range[1], 6)
    names = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return dict(zip(names, np.histogram(dataset.labels, edges)[0].tolist(), strict=True))


def count_contradictions(task: Task, keys: Sequence[ExampleKey], labels_N: npt.NDArray[np.generic]) -> int:
    """Rows with the same texts as a row with another label, or with a clearly different score."""
    least = 0.0 if task.kind == "classify" else CONTRADICTION * (task.range[1] - task.range[0])
    rows = Counter(keys)
    lowest: dict[ExampleKey, float] = {}
    highest: dict[ExampleKey, float] = {}
    for key, label in zip(keys, labels_N.tolist(), strict=True):
        if rows[key] > 1:
            lowest[key] = min(label, lowest.get(key, label))
            highest[key] = max(label, highest.get(key, label))
    return sum(rows[key] for key in lowest if highest[key] - lowest[key] > least)


def suggest_max_length(lengths_N: npt.NDArray[np.int64], limit: int, most: int) -> int | None:
    """A multiple of 16 for 99 % of the rows if many are truncated, for all if the limit is four times the longest."""
    if (lengths_N > limit).mean() > MANY_TRUNCATED:
        enough = float(np.percentile(lengths_N, 99, method="inverted_cdf"))
    elif limit >= 4 * lengths_N.max():
        enough = float(lengths_N.max())
    else:
        return None
    suggested = min(most, 16 * int(np.ceil(enough / 16)))
    return None if suggested == limit else suggested


def count_unknown(tokenizer: Tokenizer, encoded: EncodedTexts) -> tuple[float, int]:
    """The fraction of [UNK] among the tokens, and the rows in which at least half of them are [UNK]."""
    unknown_N, tokens_N = np.zeros((2, len(encoded)), np.int64)
    for part in encoded.parts:
        # every row has at least [CLS] and [SEP], as reduceat needs it
        special = (part.flat == tokenizer.cls) | (part.flat == tokenizer.sep)
        tokens_N += np.add.reduceat(~special, part.offsets[:-1], dtype=np.int64)
        if tokenizer.unknown is not None:
            unknown_N += np.add.reduceat(part.flat == tokenizer.unknown, part.offsets[:-1], dtype=np.int64)
    return float(unknown_N.sum() / max(1, tokens_N.sum())), int((2 * unknown_N >= np.maximum(1, tokens_N)).sum())
