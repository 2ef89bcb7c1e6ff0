"""y as scikit-learn passes it (list, array, Series) -> a one-dimensional array of classes or of finite numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.data.memory_tables import is_null
from minbert.errors import UserError
from minbert.python.estimator_base import DataConversionWarning
from minbert.python.user_warning import warn_user

NO_MISSING = "Leave out the rows without a target, for example: df.dropna()"


def target_of(y: Any, rows: int, kind: str) -> npt.NDArray[Any]:
    """`rows`: of X."""
    if y is None:
        raise UserError("requires y to be passed, but the target y is None.", "Call fit(X, y).")
    target_N = as_array(y)
    if target_N.ndim == 2 and target_N.shape[1] == 1:
        # in scikit-learn's words
        warn_user("A column-vector y was passed when a 1d array was expected.", DataConversionWarning)
        target_N = target_N[:, 0]
    if target_N.ndim != 1:
        got = f"an array of shape {target_N.shape}" if target_N.ndim else f"a value of type {type(y).__name__}"
        raise UserError(
            f"y should be a 1d array, got {got} instead.", "Give one label per text: a list, an array or a Series."
        )
    if rows != len(target_N):
        raise UserError(f"X has {rows} rows and y has {len(target_N)}.", "Give one label per text.")
    if not rows:
        raise UserError("Found array with 0 sample(s): X and y are empty.", "Give texts and their labels.")
    missing = next((row for row, value in enumerate(target_N) if is_null(value)), None)
    if missing is not None:
        raise UserError(f"Input y contains NaN: row {missing}, counting from 0.", NO_MISSING)
    return classes_of(target_N) if kind == "classify" else numbers_of(target_N)


def as_array(y: Any) -> npt.NDArray[Any]:
    array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if (
        array.dtype.kind in "US"
        and isinstance(y, list | tuple)
        and not all(isinstance(each, str | bytes) for each in y)
    ):
        # NumPy has written NaN and numbers as strings
        return np.asarray(y, object)
    return array


def numbers_of(target_N: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    if target_N.dtype.kind in "cmM":
        # NumPy would count the seconds of a date, and drop an imaginary part
        raise UserError(f"y holds values of type {target_N.dtype}, not numbers.", "Give real numbers.")
    try:
        numbers_N = target_N.astype(np.float64)
    except (TypeError, ValueError):
        wrong = next(value for value in target_N if not isinstance(value, int | float | np.number))
        raise UserError(f"y holds {plain(wrong)!r}, not a number.", "minbert.Classifier learns classes.") from None
    if not np.isfinite(numbers_N).all():
        raise UserError("Input y contains infinity.", "Leave out these rows.")
    return numbers_N


def classes_of(target_N: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if target_N.dtype == object:
        kinds = {bool if isinstance(value, bool | np.bool_) else type(plain(value)) for value in target_N}
        if kinds <= {bool} or kinds <= {int, float}:
            # as pandas' infer_objects does: scikit-learn's metrics do not know numbers of type object
            target_N = np.array(target_N.tolist())
        elif len(kinds) > 1:
            raise UserError(
                f"y mixes values of the types {', '.join(sorted(kind.__name__ for kind in kinds))}.",
                "Give all labels the same type, for example with str().",
            )
    if target_N.dtype.kind == "f" and not np.isfinite(target_N).all():
        raise UserError("Input y contains infinity.", "Leave out these rows.")
    if target_N.dtype.kind == "f" and (target_N % 1 != 0).any():
        raise UserError("Unknown label type: y holds fractions.", "minbert.Regressor learns numbers.")
    return target_N


def plain(value: Any) -> Any:
    """NumPy's value as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
