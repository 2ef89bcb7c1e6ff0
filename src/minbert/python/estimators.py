"""(texts, labels) -> a trained model, in scikit-learn's form: `Classifier().fit(texts, labels).predict(others)`.

A fitted estimator has its model in memory and its run in `run_`: the directory `out`, or a temporary one that is
removed together with the estimator. A pickle holds the files of the model, so it is about as large as the backbone.
"""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from minbert.config.loading import recipe_from_files
from minbert.data.metrics import predicted_classes
from minbert.inference.predictor import load_predictor
from minbert.inference.saved_model import model_folder
from minbert.python.estimator_base import ClassifierBase, EstimatorBase, NotFittedError, RegressorBase
from minbert.python.options import as_overrides, budget_seconds, python_words
from minbert.python.run_data import RunData
from minbert.python.text_input import target_of, text_columns_of
from minbert.runs.run import start_run

# the only task, and its label column
ONLY_TASK = "label"
# what a fitted estimator has and a pickle has not
NOT_PICKLED = ("_predictor", "_remove_run")


class TextEstimator(EstimatorBase):
    """What the classifier and the regressor share."""

    def __init__(
        self,
        *,
        backbone: str | Path | None = None,
        seed: int = 0,
        budget: str | float | None = None,
        settings: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
    ) -> None:
        self.backbone = backbone
        self.seed = seed
        self.budget = budget
        self.settings = settings
        self.out = out

    def _train(self, columns: list[list[str]], labels: list[Any], task: Mapping[str, Any]) -> None:
        """Train the task into the run's directory, in place of an earlier run in it."""
        out = Path(tempfile.mkdtemp(prefix="minbert-") if self.out is None else self.out)
        names = ["text"] if len(columns) == 1 else ["text1", "text2"]
        rows = [dict(zip([*names, ONLY_TASK], row, strict=True)) for row in zip(*columns, labels, strict=True)]
        stored = RunData(out)
        try:
            path = stored.path_of(rows, ONLY_TASK, "train")
            # empty texts teach nothing, and a search should not stop at one
            settings = {"text": names, "label": ONLY_TASK, "missing": "skip", "files": {"train": str(path)}, **task}
            overrides = as_overrides(self.settings, backbone=self.backbone, seed=self.seed)
            recipe = recipe_from_files({ONLY_TASK: {"task": settings}}, type(self).__name__, None, overrides)
            with python_words():
                budget, force = budget_seconds(self.budget), self.out is not None
                for _ in start_run(recipe, out, force=force, own_files=stored.files, budget=budget):
                    pass
        except BaseException:
            if self.out is None:
                shutil.rmtree(out, ignore_errors=True)
            raise
        finally:
            stored.discard_unless_used()
        self._open(out, temporary=self.out is None)

    def _open(self, run: Path, temporary: bool) -> None:
        if remove := getattr(self, "_remove_run", None):
            remove()
        self._remove_run = weakref.finalize(self, shutil.rmtree, run, ignore_errors=True) if temporary else None
        self.run_ = run
        self._predictor = load_predictor(run)

    def _predict_values(self, X: Any) -> npt.NDArray[Any]:
        """Probabilities N x C, or scores N."""
        if not hasattr(self, "run_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit(X, y) first.")
        columns = text_columns_of(X)
        task = self._predictor.task(ONLY_TASK)
        if len(columns) != len(task.text):
            raise ValueError(f"X has {len(columns)} texts per row; this model was fitted on {len(task.text)}.")
        found = self._predictor.predict_columns([ONLY_TASK], dict(zip(task.text, columns, strict=True)))
        return found[ONLY_TASK].values.astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name not in NOT_PICKLED}
        if hasattr(self, "run_"):
            folder = model_folder(self.run_)
            assert folder is not None
            state["_model_files"] = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.get("_model_files")
        super().__setstate__({name: value for name, value in state.items() if name != "_model_files"})
        if files is not None:
            run = Path(tempfile.mkdtemp(prefix="minbert-"))
            (run / "model").mkdir()
            for name, content in files.items():
                (run / "model" / name).write_bytes(content)
            self._open(run, temporary=True)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = tags.input_tags.one_d_array = True
        # pairs are two-dimensional, but never numbers
        tags.input_tags.two_d_array = False
        return tags


class Classifier(ClassifierBase, TextEstimator):
    """A text classifier: `Classifier().fit(texts, labels)`.

    X: a list, array or Series of texts, or an N x 2 array of pairs of texts. A tenth of the rows is set aside to choose
    the best model; rows with empty texts are not learned from. `backbone`, `seed`, `budget` ("2m" for each fit) and
    `settings` ({"optimizer.learning_rate": 1e-4}) are those of `minbert.train`. `out`: the directory of the run, which
    replaces an earlier run; leave it out in searches, where several models are fitted at once.
    """

    def fit(self, X: Any, y: Any) -> Self:
        columns = text_columns_of(X)
        classes, numbers = np.unique(target_of(y, columns, "classify"), return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"Classifier needs at least two classes; y has only {classes[0]!r}.")
        names = [str(each) for each in classes]
        shown = {"label_names": names} if all(names) and len(set(names)) == len(names) else {}
        task = {"kind": "classify", "labels": list(range(len(classes))), **shown}
        self._train(columns, numbers.tolist(), task)
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """The probability of each of `classes_`, N x C."""
        found_NC = self._predict_values(X)
        # they are computed in float32, whose rounding scikit-learn's metrics would warn about
        return np.asarray(found_NC / found_NC.sum(1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        probabilities_NC = self._predict_values(X)
        threshold = self._predictor.task(ONLY_TASK).threshold
        return np.asarray(self.classes_[predicted_classes(probabilities_NC, threshold)])


class Regressor(RegressorBase, TextEstimator):
    """A model of scores: `Regressor().fit(texts, scores)`. Predictions lie in the range of the scores it has seen.

    X and the parameters are those of `Classifier`.
    """

    def fit(self, X: Any, y: Any) -> Self:
        columns = text_columns_of(X)
        scores = target_of(y, columns, "score")
        low, high = float(scores.min()), float(scores.max())
        self._train(columns, scores.tolist(), {"kind": "score", "range": [low, high if high > low else low + 1]})
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        return self._predict_values(X)
