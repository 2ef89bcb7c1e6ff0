"""Files of gold labels and of predictions -> arrays in the order of the gold rows.

minbert's own files have the columns id, prediction, probability, and p_LABEL for each label; other tools write a single
column, or one column of probabilities per label.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minbert.comparison.resampling import CLASSIFICATION_METRICS
from minbert.data.column_names import names_id, names_label, names_text
from minbert.data.column_request import check_columns
from minbert.data.readers import ColumnReader, read_layout
from minbert.errors import UserError, short_repr

# the column of predictions, the first that a file has
PREDICTION_NAMES = ("prediction", "predictions", "predicted", "pred", "preds", "y_pred", "predicted_label")
# the column of the probability of a label is this and the label
PROBABILITY_PREFIXES = ("p_", "prob_", "probability_", "")
# columns about a prediction that are not it
ABOUT_PREDICTIONS = ("probability", "truncated")
# named in a message
MOST_LABELS = 10


@dataclass(frozen=True)
class PredictionColumns:
    """Columns that the user names; empty: found by their names."""

    gold: str = ""
    prediction: str = ""
    id: str = ""


@dataclass(frozen=True)
class GoldFile:
    path: Path
    values: list[Any]
    # empty: the order of the rows counts
    id_column: str
    ids: list[str]

    @property
    def has_fractions(self) -> bool:
        """Whether all of them are numbers, and some are not whole: scores, not labels."""
        numbers = [number_of(value) for value in self.values]
        return None not in numbers and any(number != int(number) for number in numbers if number is not None)

    @property
    def labels(self) -> list[str]:
        return sorted_labels(map(label_spelling, self.values))

    def array(self, classes: bool) -> Any:
        """The label of each row, or its score."""
        if classes:
            return np.array([label_spelling(value) for value in self.values])
        return np.array([number_in_row(self.path, value, row) for row, value in enumerate(self.values, 1)])


@dataclass(frozen=True)
class FilePredictions:
    """The predictions of one file in the order of the gold rows: labels, scores, or rows of probabilities."""

    path: Path
    values: list[Any]
    # of the columns of probabilities
    labels: tuple[str, ...] = ()

    def known_labels(self, classes: bool) -> set[str]:
        return set(self.labels) or (set(self.values) if classes else set())

    def array(self, labels: Sequence[str]) -> Any:
        """One array; probabilities have a column for each of these labels."""
        if not self.labels:
            return np.array(self.values)
        found = np.zeros((len(self.values), len(labels)))
        found[:, [labels.index(label) for label in self.labels]] = self.values
        return found


def read_gold(path: Path, columns: PredictionColumns) -> GoldFile:
    names, chosen = read_layout(path).columns, columns.gold
    if not chosen:
        others = [name for name in names if not is_id(name, columns)]
        likely = [name for name in others if names_label(name) and not names_text(name) and not is_predicted(name)]
        if len(likely) != 1 and len(others) != 1:
            raise UserError(
                f"{path}: several columns may hold the gold labels: {', '.join(likely or others)}."
                if others
                else f"{path}: no column of gold labels.",
                "Name it with --gold-column.",
            )
        chosen = (likely if len(likely) == 1 else others)[0]
    id_column = columns.id or next((name for name in names if names_id(name) and name != chosen), "")
    check_columns(path, [each for each in (chosen, id_column) if each], names)
    rows, ids = read_values(path, [chosen], id_column)
    return GoldFile(path, [values[0] for values in rows], id_column, ids)


def read_predictions(path: Path, gold: GoldFile, metric: str, columns: PredictionColumns) -> FilePredictions:
    names = read_layout(path).columns
    labels, chosen = columns_of_predictions(path, names, gold, metric, columns)
    if is_course_file(names):
        rows, ids = read_course_rows(path)
    else:
        check_columns(path, [columns.id] if columns.id else [], names)
        rows, ids = read_values(path, chosen, gold.id_column if gold.id_column in names else "")
    if len(rows) != len(gold.values):
        raise UserError(
            f"{path}: {len(rows):,} predictions, but {gold.path} has {len(gold.values):,} rows.",
            "Give one prediction per gold row. The first line of both files names the columns.",
        )
    if any(ids) and any(gold.ids):
        rows = in_gold_order(path, rows, ids, gold)
    if labels:
        numbers = [[number_in_row(path, value, row) for value in values] for row, values in enumerate(rows, 1)]
        return FilePredictions(path, numbers, labels)
    if metric not in CLASSIFICATION_METRICS:
        return FilePredictions(path, [number_in_row(path, values[0], row) for row, values in enumerate(rows, 1)])
    found = FilePredictions(path, [label_spelling(values[0]) for values in rows])
    check_labels(found, gold.labels, chosen[0])
    return found


def columns_of_predictions(
    path: Path, names: Sequence[str], gold: GoldFile, metric: str, columns: PredictionColumns
) -> tuple[tuple[str, ...], list[str]]:
    """The column of predictions; or labels, and the column of each one's probability."""
    likely = [name for name in PREDICTION_NAMES if name in names][:1]
    # with several tasks, minbert writes TASK.prediction
    likely = likely or [name for name in names if name.endswith(".prediction")]
    if columns.prediction:
        likely = [columns.prediction]
    if len(likely) > 1:
        raise UserError(f"{path}: several columns of predictions: {', '.join(likely)}.", "Name one with --column.")
    if likely and metric != "log_loss":
        return (), likely
    task = likely[0].removesuffix("prediction") if likely and likely[0].endswith(".prediction") else ""
    found = columns_of_labels(names, task, gold.labels) if metric in CLASSIFICATION_METRICS else {}
    if found:
        return tuple(found), list(found.values())
    if metric == "log_loss":
        raise UserError(
            f"{path}: log_loss needs a column of probabilities for each label, for example p_{gold.labels[0]}.",
            f"The file has the columns {', '.join(names)}.",
        )
    others = [name for name in names if not is_id(name, columns) and name not in ABOUT_PREDICTIONS]
    if not others:
        raise UserError(f"{path}: no column of predictions.", "Name it with --column.")
    return (), others[-1:]


def columns_of_labels(names: Sequence[str], task: str, gold: Sequence[str]) -> dict[str, str]:
    """label: column; empty if a gold label has none. A model may know labels that the gold rows do not have."""
    for prefix in PROBABILITY_PREFIXES:
        start = task + prefix
        # p_1.0 is the column of the label 1
        found = {label_spelling(name.removeprefix(start)): name for name in names if name.startswith(start)}
        if len(gold) > 1 and all(label in found for label in gold):
            return found if prefix else {label: found[label] for label in gold}
    return {}


def is_course_file(names: Sequence[str]) -> bool:
    """The format of `minbert predict --format course`: tabs in the header, commas below it."""
    return len(names) == 2 and names[0] == "id " and names[1].startswith(" Predicted_")


def read_course_rows(path: Path) -> tuple[list[list[Any]], list[str]]:
    rows, _ = read_values(path, ["id "], "")
    both = [str(values[0]).rpartition(",") for values in rows]
    return [[value] for _, _, value in both], [name.strip() for name, _, _ in both]


def read_values(path: Path, chosen: Sequence[str], id_column: str) -> tuple[list[list[Any]], list[str]]:
    """The rows of these columns, and their ids, which are empty without a column of them."""
    rows, ids = [], []
    for line, found in ColumnReader(path, chosen, id_column):
        if isinstance(found, str):
            raise UserError(f"{path}:{line}: {found}.", "Every row counts in a comparison: fix it.")
        *values, name = found
        if any(value is None or str(value).strip() == "" for value in values):
            raise UserError(f"{path}:{line}: no value of '{chosen[0]}'.", "Every row needs one.")
        rows.append(values)
        ids.append("" if name is None else str(name).strip())
    if len(chosen) == 1 and chosen[0] in {str(values[0]) for values in rows}:
        raise UserError(
            f"{path}: the first line, '{chosen[0]}', looks like a row.", "The first line must name the columns."
        )
    return rows, ids


def in_gold_order(path: Path, rows: list[Any], ids: list[str], gold: GoldFile) -> list[Any]:
    if ids == gold.ids:
        return rows
    known = set(gold.ids)
    strange = next((name for name in ids if name not in known), None)
    if strange is not None:
        raise UserError(
            f"{path}: its id '{strange}' is not in {gold.path}.",
            f"Without a column '{gold.id_column}' in one of the two files, the order of the rows counts.",
        )
    at = dict(zip(ids, rows, strict=True))
    if len(at) < len(ids) or len(known) < len(gold.ids):
        raise UserError(
            f"{path}: the ids are in another order than in {gold.path}, and some occur twice.",
            "Make the ids unique, or write both files in the same order.",
        )
    return [at[name] for name in gold.ids]


def check_labels(found: FilePredictions, labels: Sequence[str], column: str) -> None:
    """Labels that no gold row has are wrong answers; where all are, the files do not belong together."""
    if not set(found.values) & set(labels):
        raise UserError(
            f"{found.path}: no value of its column '{column}' is a gold label: {short_repr(found.values[0])} is not "
            f"one of {', '.join(labels[:MOST_LABELS])}{', ...' if len(labels) > MOST_LABELS else ''}.",
            "Name another column with --column, or choose a --metric for scores.",
        )


def is_id(name: str, columns: PredictionColumns) -> bool:
    return name == columns.id if columns.id else names_id(name)


def is_predicted(name: str) -> bool:
    words = name.rpartition(".")[2]
    return words in (*PREDICTION_NAMES, *ABOUT_PREDICTIONS) or words.startswith(PROBABILITY_PREFIXES[:-1])


def label_spelling(value: Any) -> str:
    """1, 1.0 and "1" are the same label, in whatever file they are."""
    text, number = str(value).strip(), number_of(value)
    if text.lower() in ("true", "false"):
        return text.lower()
    return str(int(number)) if number is not None and number == int(number) else text


def sorted_labels(labels: Iterable[str]) -> list[str]:
    """In the order of numbers if they are numbers, otherwise of the alphabet."""
    found = set(labels)
    numbers = {label: number_of(label) for label in found}
    return sorted(found, key=str if None in numbers.values() else lambda label: (numbers[label] or 0.0, label))


def number_of(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None


def number_in_row(path: Path, value: Any, row: int) -> float:
    number = number_of(value)
    if number is None:
        raise UserError(f"{path}: {short_repr(value)} in row {row} is not a number.", "Choose a metric for labels.")
    return number
