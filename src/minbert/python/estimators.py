"""(texts, labels) -> a trained model, in scikit-learn's form: `Classifier().fit(texts, labels).predict(others)`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from minbert.data.metrics import predicted_classes
from minbert.errors import UserError
from minbert.inference.text_input import read_texts
from minbert.python.estimator_base import ClassifierBase, RegressorBase
from minbert.python.fit_input import ONLY_TASK, class_weights, label_settings_of
from minbert.python.target import plain, target_of
from minbert.python.text_estimator import TextEstimator


@dataclass(kw_only=True, eq=False, repr=False)
class Classifier(ClassifierBase, TextEstimator):
    """A text classifier: `Classifier().fit(texts, labels).predict(others)`.

    A tenth of the rows given to `fit` is held out to choose the best model; rows with empty texts are not learned from.

    backbone: the pretrained model, as in a recipe; the default is a small sentence encoder.
    learning_rate, batch_size, max_length (in tokens): chosen for the data if they are None.
    metric: chooses the best model and the decision threshold: "accuracy", "macro_f1", "f1" or "log_loss".
    budget: a time limit for each fit: "2m", or seconds.
    settings: other settings of a recipe by their path, such as {"epoch_fraction": 0.5}.
    class_weight: None, "balanced", or {class: weight}.
    random_state: a number, for the same model each time; None for another one each time; or a generator of NumPy.
    out: the directory of the run; a second fit replaces it. Leave it out in searches, which fit many models at once.
    verbose: show the progress of training, and the scores on the rows that were held out.

    After fit: classes_, and run_, the `minbert.Run` of the training.
    """

    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Train on texts, or on pairs of texts, and their classes.

        X: a list, an array or a Series of N texts; or an N x 2 array, a list of tuples or a DataFrame of pairs.
        y: N classes: strings, whole numbers or booleans.
        """
        columns = read_texts(X, "Classifier")
        classes, numbers = np.unique(target_of(y, len(columns[0]), "classify"), return_inverse=True)
        if len(classes) < 2:
            raise UserError(
                f"Classifier needs at least two classes; y has 1 class: {plain(classes[0])!r}.",
                "Add rows of other classes.",
            )
        labels = label_settings_of(classes)
        weights = class_weights(self.class_weight, classes)
        rows = [labels["labels"][number] for number in numbers]
        self._train(columns, rows, {"kind": "classify", **labels, **weights})
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """The probability of each of `classes_`, N x C."""
        found_NC = self._predict_values(X)
        # they are computed in float32, whose rounding scikit-learn's metrics would warn about
        return np.asarray(found_NC / found_NC.sum(1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each text, or of each pair of texts, of the type that y had."""
        probabilities_NC = self._predict_values(X)
        threshold = self._predictor.task(ONLY_TASK).threshold
        return np.asarray(self.classes_[predicted_classes(probabilities_NC, threshold)])


# of its own __init__: an unknown parameter is then an error of Regressor
@dataclass(kw_only=True, eq=False, repr=False)
class Regressor(RegressorBase, TextEstimator):
    """A model of scores: `Regressor().fit(texts, scores)`. Predictions lie in the range of the scores it has seen.

    X and the parameters are those of `Classifier`, without class_weight.

    metric: chooses the best model: "pearson", "spearman", "mse" or "mae".
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Train on texts, or on pairs of texts, and their scores: N finite numbers."""
        columns = read_texts(X, "Regressor")
        scores = target_of(y, len(columns[0]), "score")
        low, high = float(scores.min()), float(scores.max())
        self._train(columns, scores.tolist(), {"kind": "score", "range": [low, high if high > low else low + 1]})
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The score of each text, or of each pair of texts."""
        return self._predict_values(X)
