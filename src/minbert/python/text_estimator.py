"""What the classifier and the regressor share: texts and labels -> a run, and predictions from it.

A fitted estimator has its run in `run_`: in the directory `out`, or in a temporary one that is removed together with
the estimator. A pickle holds the files of the model, so it is about as large as the backbone.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.cli.training_progress import watch_training
from minbert.config.loading import recipe_from_files
from minbert.errors import UserError
from minbert.inference.saved_model import model_folder
from minbert.inference.text_input import read_texts
from minbert.python.estimator_base import EstimatorBase, NotFittedError
from minbert.python.estimator_options import check_metric, checked_overrides
from minbert.python.fit_input import ONLY_TASK, fit_rows, text_names
from minbert.python.options import budget_seconds, run_path
from minbert.python.run import Run
from minbert.python.run_data import RunData
from minbert.python.run_warnings import fit_warnings, result_warnings
from minbert.python.watching import finish_silently, show_scores, worded_events
from minbert.python.wording import for_estimators, python_words
from minbert.runs.events import Event
from minbert.runs.run import start_run

PER_ROW = {1: "one text", 2: "a pair of texts"}
# what a fitted estimator has and a pickle has not
NOT_PICKLED = ("run_", "_predictor", "_remove_run")


@dataclass(kw_only=True, eq=False, repr=False)
class TextEstimator(EstimatorBase):
    """What the classifier and the regressor share.

    The parameters are fields: the dataclass makes the __init__ that scikit-learn reads them from.
    """

    backbone: str | Path | None = None
    learning_rate: float | None = None
    batch_size: int | None = None
    max_length: int | None = None
    metric: str | None = None
    budget: str | float | None = None
    settings: Mapping[str, Any] | None = None
    random_state: Any = 0
    out: str | Path | None = None
    verbose: bool = False

    def _train(self, columns: list[list[str]], labels: list[Any], task: Mapping[str, Any]) -> None:
        """Train the task into the run's directory, in place of an earlier run in it."""
        overrides, budget = checked_overrides(vars(self)), budget_seconds(self.budget)
        metric = check_metric(self.metric, task["kind"])
        rows = fit_rows(columns, labels, task["kind"])
        out = Path(tempfile.mkdtemp(prefix="minbert-")) if self.out is None else run_path(self.out)
        stored = RunData(out)
        try:
            with python_words(stored.in_words, for_estimators):
                path = stored.path_of(rows, ONLY_TASK, "train", "X and y")
                # empty texts teach nothing, and a search should not stop at one
                found = {"text": text_names(columns), "label": ONLY_TASK, "missing": "skip"}
                settings = {**found, "files": {"train": str(path)}, **task, **metric}
                recipe = recipe_from_files({ONLY_TASK: {"task": settings}}, type(self).__name__, None, overrides)
                # nobody looks at the curves of a run that is thrown away, and matplotlib takes seconds to import
                kept = self.out is not None
                begun = start_run(recipe, out, force=kept, own_files=stored.files, budget=budget, curves=kept)
                self._watch(worded_events(begun, for_estimators))
        except BaseException:
            if self.out is None:
                shutil.rmtree(out, ignore_errors=True)
            raise
        finally:
            stored.discard_unless_used()
        self._open(out, temporary=self.out is None)

    def _watch(self, events: Iterator[Event]) -> None:
        name = type(self).__name__
        if self.verbose:
            show_scores(watch_training(events), for_estimators)
        else:
            finish_silently(events, at_start=fit_warnings, at_end=lambda event: result_warnings(event, name))

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
            has, fitted = (PER_ROW[count] for count in (len(columns), len(task.text)))
            raise UserError(f"X has {has} per row; this model was fitted on {fitted}.", f"Give {fitted} per row.")
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
