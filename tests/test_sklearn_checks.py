"""scikit-learn's own checks of an estimator, run on real tiny models.

The checks give arrays of numbers to every method, and leave an estimator of texts out by its tag `two_d_array`. Here a
thin layer reads the numbers with scikit-learn's `validate_data` and writes them as texts; everything after that is
`minbert.Classifier` and `minbert.Regressor`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import minbert
from tests.tiny import WORDS

KNOWN_WORDS = WORDS.split()
ONE_STEP = {"stages": [{"epochs": 1, "steps_per_epoch": 1}]}


class OfNumbers:
    """Reads rows of numbers as texts: each number is a word."""

    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(self.as_texts(X, reset=True), y)  # type: ignore[misc]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        return super().predict(self.as_texts(X))  # type: ignore[misc, no-any-return]

    def as_texts(self, X: Any, reset: bool = False) -> list[str]:
        numbers_NK = validate_data(self, X, reset=reset)
        words_NK = np.round(2 * numbers_NK).astype(int) % len(KNOWN_WORDS)
        return [" ".join(KNOWN_WORDS[word] for word in row) for row in words_NK]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = tags.input_tags.one_d_array = False
        tags.input_tags.two_d_array = True
        # one step teaches nothing
        (tags.classifier_tags or tags.regressor_tags).poor_score = True
        return tags


class ClassifierOfNumbers(OfNumbers, minbert.Classifier):
    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        return super().predict_proba(self.as_texts(X))


class RegressorOfNumbers(OfNumbers, minbert.Regressor):
    pass


@pytest.mark.filterwarnings("ignore:This (Classifier|Regressor)OfNumbers does not beat")
@parametrize_with_checks([ClassifierOfNumbers(settings=ONE_STEP), RegressorOfNumbers(settings=ONE_STEP)])
def test_with_numbers_as_texts(estimator: Any, check: Any, tiny: Path) -> None:
    check(estimator.set_params(backbone=tiny))
