"""X as scikit-learn passes it (list, array, Series, DataFrame) -> one or two columns of texts."""

from typing import Any

import numpy as np
import numpy.typing as npt

WHAT_X_IS = "X is a list of texts, or an N x 2 array of pairs of texts"


def text_columns_of(X: Any) -> list[list[str]]:
    """The texts by column: one column, or two for pairs."""
    if isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
        raise ValueError(f"{WHAT_X_IS}, not one {type(X).__name__}.")
    if hasattr(X, "toarray"):
        raise ValueError(f"{WHAT_X_IS}, not a sparse matrix.")
    rows = X.to_numpy() if hasattr(X, "to_numpy") else X
    rows_NK = as_array(rows)
    if rows_NK.ndim == 1:
        rows_NK = rows_NK[:, None]
    if rows_NK.ndim != 2 or rows_NK.shape[1] not in (1, 2):
        raise ValueError(f"{WHAT_X_IS}; this array has the shape {rows_NK.shape}.")
    columns = [[str(text) if isinstance(text, str) else text for text in column] for column in rows_NK.T]
    for column in columns:
        for row, text in enumerate(column):
            if not isinstance(text, str):
                raise ValueError(f"{WHAT_X_IS}; row {row} is {text!r:.80}.")
    return columns


def as_array(rows: Any) -> npt.NDArray[Any]:
    if isinstance(rows, np.ndarray):
        return rows
    rows = list(rows)
    pairs = bool(rows) and all(isinstance(row, list | tuple | np.ndarray) for row in rows)
    if pairs and len({len(row) for row in rows}) > 1:
        raise ValueError(f"{WHAT_X_IS}; its rows have different lengths.")
    if pairs:
        return np.array([list(row) for row in rows], dtype=object)
    # element by element: NumPy must not look into what should be texts
    made = np.empty(len(rows), dtype=object)
    made[:] = rows
    return made


def target_of(y: Any, columns: list[list[str]], kind: str) -> npt.NDArray[Any]:
    """y as a one-dimensional array of classes or of finite numbers, one for each row of X."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    target_N = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if target_N.ndim == 2 and target_N.shape[1] == 1:
        target_N = target_N[:, 0]
    if target_N.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {target_N.shape} instead.")
    if len(columns[0]) != len(target_N):
        raise ValueError(f"X has {len(columns[0])} rows and y has {len(target_N)}.")
    if not len(target_N):
        raise ValueError("Found array with 0 sample(s): X and y are empty.")
    if kind == "score":
        target_N = target_N.astype(np.float64)
    if any(value is None or value != value for value in target_N) or (
        target_N.dtype.kind == "f" and not np.isfinite(target_N).all()
    ):
        raise ValueError("Input y contains NaN or infinity.")
    if kind == "classify" and target_N.dtype.kind == "f" and (target_N % 1 != 0).any():
        raise ValueError("Unknown label type: y holds fractions. minbert.Regressor learns numbers.")
    return target_N
