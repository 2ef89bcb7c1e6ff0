"""minbert: one small BERT, many sentence tasks."""

from pathlib import Path
from typing import TYPE_CHECKING

from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.config.recipe import Precision
    from minbert.inference.predictor import Predictor

__version__ = "0.1.0"
__all__ = ["UserError", "load"]


def load(run: "str | Path", precision: "Precision" = "auto") -> "Predictor":
    """The trained model of a run: `minbert.load("runs/baseline").predict("sst", ["A fine film."])`.

    `precision` of the encoder: "fp32", "bf16", or "auto", which is bf16 if it is fast on this machine, else fp32.
    """
    # here, because importing torch takes a second
    from minbert.inference.predictor import load_predictor

    return load_predictor(run, precision)
