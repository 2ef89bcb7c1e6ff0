"""(texts, labels) -> a trained model, in scikit-learn's form: `Classifier().fit(texts, labels).predict(others)`.

A fitted estimator has its run in `run_`: in the directory `out`, or in a temporary one that is removed together with
the estimator. A pickle holds the files of the model, so it is about as large as the backbone.
"""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from minbert.cli.training_progress import watch_training
from minbert.config.loading import recipe_from_files
from minbert.data.metrics import predicted_classes
from minbert.errors import UserError
from minbert.inference.saved_model import model_folder
from minbert.inference.text_input import read_texts
from minbert.python.estimator_base import ClassifierBase, EstimatorBase, NotFittedError, RegressorBase
from minbert.python.fit_input import ONLY_TASK, class_weights, fit_rows, text_names
from minbert.python.options import as_overrides, budget_seconds, run_path, seed_of
from minbert.python.run import Run
from minbert.python.run_data import RunData
from minbert.python.target import plain, target_of
from minbert.python.watching import finish_silently, show_scores, worded_events
from minbert.python.wording import python_words
from minbert.runs.run import start_run

# what a fitted estimator has and a pickle has not
NOT_PICKLED = ("run_", "_predictor", "_remove_run")


class TextEstimator(EstimatorBase):
    """What the classifier and the regressor share."""

    def __init__(
        self,
        *,
        backbone: str | Path | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_length: int | None = None,
        budget: str | float | None = None,
        settings: Mapping[str, Any] | None = None,
        random_state: Any = 0,
        out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.backbone = backbone
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_length = max_length
        self.budget = budget
        self.settings = settings
        self.random_state = random_state
        self.out = out
        self.verbose = verbose

    def _train(self, columns: list[list[str]], labels: list[Any], task: Mapping[str, Any]) -> None:
        """Train the task into the run's directory, in place of an earlier run in it."""
        overrides, budget = self._overrides(), budget_seconds(self.budget)
        rows = fit_rows(columns, labels, task["kind"])
        out = Path(tempfile.mkdtemp(prefix="minbert-")) if self.out is None else run_path(self.out)
        stored = RunData(out)
        try:
            with python_words(stored.in_words):
                path = stored.path_of(rows, ONLY_TASK, "train", "X and y")
                # empty texts teach nothing, and a search should not stop at one
                found = {"text": text_names(columns), "label": ONLY_TASK, "missing": "skip"}
                settings = {**found, "files": {"train": str(path)}, **task}
                recipe = recipe_from_files({ONLY_TASK: {"task": settings}}, type(self).__name__, None, overrides)
                force = self.out is not None
                events = worded_events(start_run(recipe, out, force=force, own_files=stored.files, budget=budget))
                if self.verbose:
                    show_scores(watch_training(events))
                else:
                    finish_silently(events)
        except BaseException:
            if self.out is None:
                shutil.rmtree(out, ignore_errors=True)
            raise
        finally:
            stored.discard_unless_used()
        self._open(out, temporary=self.out is None)

    def _overrides(self) -> list[str]:
        chosen = {
            "optimizer.learning_rate": self.learning_rate,
            "defaults.batch_size": self.batch_size,
            "defaults.max_length": self.max_length,
        }
        return as_overrides(self.settings, backbone=self.backbone, seed=seed_of(self.random_state), **chosen)

    def _open(self, path: Path, temporary: bool) -> None:
        if remove := getattr(self, "_remove_run", None):
            remove()
        self._remove_run = weakref.finalize(self, shutil.rmtree, path, ignore_errors=True) if temporary else None
        self.run_ = Run(path)
        # in memory from now on, whatever happens to the files
        self._predictor = self.run_.model

    def _predict_values(self, X: Any) -> npt.NDArray[Any]:
        """Probabilities N x C, or scores N."""
        if not hasattr(self, "run_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit(X, y) first.")
        columns = read_texts(X, type(self).__name__)
        task = self._predictor.task(ONLY_TASK)
        if len(columns) != len(task.text):
            raise UserError(
                f"X has {len(columns)} texts per row; this model was fitted on {len(task.text)}.",
                "Give as many as to fit.",
            )
        found = self._predictor.predict_columns([ONLY_TASK], dict(zip(task.text, columns, strict=True)))
        return found[ONLY_TASK].values.astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name not in NOT_PICKLED}
        if hasattr(self, "run_"):
            folder = model_folder(self.run_.path)
            if folder is None:
                raise UserError(
                    f"{self.run_.path}: the run of this estimator was deleted, and a pickle needs its files.",
                    "Fit it again, or put the directory back.",
                )
            files = [self.run_.path / "run.json", *(path for path in folder.iterdir() if path.is_file())]
            state["_run_files"] = {path.name: path.read_bytes() for path in files}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.get("_run_files")
        super().__setstate__({name: value for name, value in state.items() if name != "_run_files"})
        if files is not None:
            path = Path(tempfile.mkdtemp(prefix="minbert-"))
            (path / "model").mkdir()
            for name, content in files.items():
                (path / ("" if name == "run.json" else "model") / name).write_bytes(content)
            self._open(path, temporary=True)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = tags.input_tags.one_d_array = True
        # pairs are two-dimensional, but never numbers
        tags.input_tags.two_d_array = False
        return tags


class Classifier(ClassifierBase, TextEstimator):
    """A text classifier: `Classifier().fit(texts, labels).predict(others)`.

    A tenth of the rows given to `fit` is held out to choose the best model; rows with empty texts are not learned from.

    backbone: the pretrained model, as in a recipe; the default is a small sentence encoder.
    learning_rate, batch_size, max_length (in tokens): chosen for the data, or 128 tokens, if they are None.
    budget: a time limit for each fit: "2m", or seconds.
    settings: other settings of a recipe by their path, such as {"epoch_fraction": 0.5}.
    class_weight: None, "balanced", or {class: weight}.
    random_state: a number, for the same model each time; None for another one each time; or a generator of NumPy.
    out: the directory of the run; a second fit replaces it. Leave it out in searches, which fit many models at once.
    verbose: show the progress of training, and the scores on the rows that were held out.

    After fit: classes_, and run_, the `minbert.Run` of the training.
    """

    def __init__(
        self,
        *,
        backbone: str | Path | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_length: int | None = None,
        budget: str | float | None = None,
        settings: Mapping[str, Any] | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        random_state: Any = 0,
        out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            backbone=backbone,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_length=max_length,
            budget=budget,
            settings=settings,
            random_state=random_state,
            out=out,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any) -> Self:
        """Train on texts, or on pairs of texts, and their classes.

        X: a list, an array or a Series of N texts; or an N x 2 array, a list of tuples or a DataFrame of pairs.
        y: N classes: strings, whole numbers or booleans.
        """
        columns = read_texts(X, "Classifier")
        classes, numbers = np.unique(target_of(y, len(columns[0]), "classify"), return_inverse=True)
        if len(classes) < 2:
            raise UserError(
                f"Classifier needs at least two classes; y has only {plain(classes[0])!r}.",
                "Add rows of other classes.",
            )
        names = [str(each) for each in classes]
        shown = {"label_names": names} if all(names) and len(set(names)) == len(names) else {}
        weights = class_weights(self.class_weight, classes)
        task = {"kind": "classify", "labels": list(range(len(classes))), **shown, **weights}
        self._train(columns, numbers.tolist(), task)
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


class Regressor(RegressorBase, TextEstimator):
    """A model of scores: `Regressor().fit(texts, scores)`. Predictions lie in the range of the scores it has seen.

    X and the parameters are those of `Classifier`, without class_weight.
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
