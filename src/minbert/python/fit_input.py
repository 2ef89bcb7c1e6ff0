"""What an estimator is fitted on -> rows and settings of its only task."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import label_key
from minbert.data.text_format import is_unicode
from minbert.data.text_keys import ExampleKey, example_keys
from minbert.errors import UserError, short_repr
from minbert.python.target import plain

# the only task, and its label column: what scikit-learn calls it
ONLY_TASK = "y"


def text_names(columns: Sequence[Sequence[str]]) -> list[str]:
    return ["text"] if len(columns) == 1 else ["text1", "text2"]


def fit_rows(columns: Sequence[list[str]], labels: Sequence[Any], kind: str) -> list[dict[str, Any]]:
    """The rows, if some of them can be held out."""
    filled = [all(text.strip() for text in texts) for texts in zip(*columns, strict=True)]
    if not any(filled):
        raise UserError("All texts in X are empty.", "Give at least two different texts of a class.")
    different: dict[Any, set[ExampleKey]] = defaultdict(set)
    for key, label, usable in zip(example_keys(tuple(columns)), labels, filled, strict=True):
        if usable:
            different[label if kind == "classify" else ""].add(key)
    if max(map(len, different.values())) < 2:
        of = "class of y" if kind == "classify" else "row of X"
        raise UserError(
            f"X has too few different texts (n_samples = {len(filled)}): a tenth of the rows is held out to choose the "
            f"best model, and no {of} has another text of its kind.",
            "Give more rows with different texts.",
        )
    names = [*text_names(columns), ONLY_TASK]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, labels, strict=True)]


def label_settings_of(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """The classes as the labels of a task; as numbers with names, if files cannot tell the classes apart."""
    labels = [plain(each) for each in classes]
    keys = [label_key(each) for each in labels]
    plain_types = all(isinstance(each, str | int | float) for each in labels)
    if plain_types and len(set(keys)) == len(keys) and all(key and is_unicode(key) for key in keys):
        return {"labels": labels}
    names = [str(each) for each in labels]
    named = {"label_names": names} if all(names) and len(set(names)) == len(names) else {}
    return {"labels": list(range(len(labels))), **named}


def class_weights(given: Any, classes: npt.NDArray[Any]) -> dict[str, Any]:
    """scikit-learn's class_weight as a setting of a task."""
    if given is None:
        return {}
    if isinstance(given, str) and given == "balanced":
        return {"class_weights": "balanced"}
    known = [plain(each) for each in classes]
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise UserError(
            f"class_weight is None, 'balanced' or {{class: weight}} with classes of y, not {short_repr(given)}.",
            f"The classes are {', '.join(map(repr, known[:8]))}{', ...' * (len(known) > 8)}.",
        )
    weights = [given.get(each, 1.0) for each in known]
    for name, weight in zip(known, weights, strict=True):
        number = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not number or not 0 <= weight < float("inf"):
            raise UserError(
                f"class_weight of {name!r} is a number of at least 0, not {short_repr(weight)}.",
                f"For example: class_weight={{{name!r}: 2.0}}",
            )
    if not any(weights):
        raise UserError("class_weight is 0 for each class.", "Give at least one class a weight above 0.")
    return {"class_weights": list(map(float, weights))}
