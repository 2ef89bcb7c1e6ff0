"""The classes that estimators inherit: scikit-learn's where it is installed, else small ones that behave alike."""

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt


class PlainEstimator:
    """get_params, set_params and repr, read from the signature of __init__."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Any:
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        defaults = {name: each.default for name, each in inspect.signature(type(self).__init__).parameters.items()}
        changed = {name: value for name, value in self.get_params().items() if value is not defaults[name]}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


class AccuracyScore:
    """score(X, y) of a classifier."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        right: npt.NDArray[Any] = np.asarray(y) == self.predict(X)  # type: ignore[attr-defined]
        return float(np.average(right, weights=sample_weight))


class R2Score:
    """score(X, y) of a regressor: 1 - the squared error / the variance."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        true = np.asarray(y, float)
        error = np.average((true - self.predict(X)) ** 2, weights=sample_weight)  # type: ignore[attr-defined]
        spread = np.average((true - np.average(true, weights=sample_weight)) ** 2, weights=sample_weight)
        return float(1 - error / spread) if spread else float(error == 0)


class ReshapedTarget(UserWarning):
    """y is read in another shape than it has; scikit-learn's DataConversionWarning."""


class NotFitted(ValueError, AttributeError):
    """predict before fit; scikit-learn's NotFittedError inherits the same two."""


if TYPE_CHECKING:
    EstimatorBase = PlainEstimator
    ClassifierBase = AccuracyScore
    RegressorBase = R2Score
    NotFittedError = NotFitted
    DataConversionWarning = ReshapedTarget
else:
    try:
        from sklearn.base import BaseEstimator as EstimatorBase
        from sklearn.base import ClassifierMixin as ClassifierBase
        from sklearn.base import RegressorMixin as RegressorBase
        from sklearn.exceptions import DataConversionWarning, NotFittedError
    except ImportError:
        EstimatorBase, ClassifierBase, RegressorBase = PlainEstimator, AccuracyScore, R2Score
        NotFittedError, DataConversionWarning = NotFitted, ReshapedTarget
