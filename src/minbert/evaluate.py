"""model + task -> scores and every prediction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from minbert.batch import Sequences, by_length, lay_out, make_batch
from minbert.metrics import score
from minbert.model import Model
from minbert.table import Examples
from minbert.text import Text

# tokens of a batch when answering
BUDGET = 4096

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Evaluation:
    """The scores of one task, and what they were made from."""

    scores: dict[str, float]
    answers: npt.NDArray[Any]


def sequences_for(model: Model, name: str, text: Text, texts: tuple[list[str], ...]) -> Sequences:
    """Texts as the task's own parts want them laid out."""
    parts = model.task(name)
    return lay_out(text, texts, parts.layout, parts.max_length)


def answer(model: Model, name: str, sequences: Sequences, progress: Progress = lambda done: None) -> npt.NDArray[Any]:
    """The answers in the order of the examples: probabilities N x C, or scores N."""
    model.eval()
    answers: npt.NDArray[Any] | None = None
    with torch.inference_mode():
        for rows in by_length(sequences.tokens, BUDGET):
            batch = make_batch(name, sequences, None, rows).to(model.device)
            some = model.answers(batch).float().cpu().numpy()
            if answers is None:
                answers = np.empty((len(sequences), *some.shape[1:]), some.dtype)
            answers[rows] = some
            progress(len(rows))
    return np.empty(0) if answers is None else answers


def evaluate(
    model: Model, name: str, examples: Examples, sequences: Sequences, progress: Progress = lambda done: None
) -> Evaluation:
    assert examples.labels is not None
    answers = answer(model, name, sequences, progress)
    return Evaluation(score(model.task(name).task, answers, examples.labels), answers)
