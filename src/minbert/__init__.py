"""minbert: one small BERT, many sentence tasks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.comparison.given_predictions import compare_predictions
    from minbert.config.recipe import Precision
    from minbert.inference.predictor import Predictor
    from minbert.python.estimators import Classifier, Regressor
    from minbert.python.run import Run
    from minbert.python.train import resume, train, train_events
    from minbert.runs.events import Evaluated, Finished, Measuring, Started
    from minbert.training.loop import Step

__version__ = "0.1.0"
__all__ = [
    "Classifier",
    "Evaluated",
    "Finished",
    "Measuring",
    "Regressor",
    "Run",
    "Started",
    "Step",
    "UserError",
    "compare_predictions",
    "load",
    "resume",
    "train",
    "train_events",
]

# imported when they are first used, because importing torch takes a second
LAZY = {
    "Classifier": "minbert.python.estimators",
    "Evaluated": "minbert.runs.events",
    "Finished": "minbert.runs.events",
    "Measuring": "minbert.runs.events",
    "Regressor": "minbert.python.estimators",
    "Run": "minbert.python.run",
    "Started": "minbert.runs.events",
    "Step": "minbert.training.loop",
    "compare_predictions": "minbert.comparison.given_predictions",
    "resume": "minbert.python.train",
    "train": "minbert.python.train",
    "train_events": "minbert.python.train",
}


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'minbert' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load(run: "str | Path", precision: "Precision" = "auto") -> "Predictor":
    """The trained model of a run: `minbert.load("runs/baseline").predict("sst", ["A fine film."])`.

    `precision` of the encoder: "fp32", "bf16", or "auto", which is bf16 if it is fast on this machine, else fp32.
    """
    # here, because importing torch takes a second
    from minbert.inference.predictor import load_predictor
    from minbert.python.wording import python_words

    if precision not in ("auto", "fp32", "bf16"):
        raise UserError(f"precision is 'auto', 'fp32' or 'bf16', not {precision!r}.", "Leave it out for 'auto'.")
    with python_words():
        return load_predictor(run, precision)
