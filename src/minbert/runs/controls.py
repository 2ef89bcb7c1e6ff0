"""(a prepared run before its first step) -> what a model must beat: the constant answer and the untrained backbone.

The constant answer is the most frequent label or the mean score of the training rows. The untrained probe is a linear
model on the frozen backbone's mean vectors; for pairs on |u-v|, u*v and their cosine.

N rows, F features, C labels.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.leaks import SplitLeaks
from minbert.data.metrics import Array, score
from minbert.data.tokenizer import Tokenizer
from minbert.inference.loop import encode_for_task
from minbert.model.heads.linear import LinearHead
from minbert.model.multitask import Model
from minbert.runs.constants import ConstantAnswer, constant_answer, constant_scores
from minbert.runs.untrained import probe_model
from minbert.training.linear_probe import fit_labels, head_features, probe_sample
from minbert.training.prepare import Prepared
from minbert.training.probe_fit import LinearFit

# enough for a fair fit and a small error of its score
CONTROL_TRAIN_ROWS, CONTROL_DEV_ROWS = 5000, 5000
FEWEST_CONTROL_DEV_ROWS = 200


@dataclass(frozen=True)
class Controls:
    """The scores of one task's controls on its dev rows."""

    answer: ConstantAnswer
    constant: dict[str, float]
    probe: dict[str, float]
    # dev rows that the probe was scored on
    rows: int
    # the scores of the probe without leaked dev rows; None: no row leaks, or all do
    probe_without: dict[str, float] | None = None


class ControlScores:
    """Iterating over it scores the controls of every task and fills in `found`; yields the fraction done."""

    def __init__(self, ready: Prepared, leaks: SplitLeaks, most: int = CONTROL_TRAIN_ROWS) -> None:
        """`leaks`: of the dev rows; `most`: training rows that are read, if the time is short."""
        self.ready = ready
        self.leaks = leaks
        self.most = most
        self.found: dict[str, Controls] = {}
        # the weights of the probes
        self.fits: dict[str, LinearFit] = {}

    def __iter__(self) -> Iterator[float]:
        names = [name for name in self.ready.tasks if self.ready.model.task(name).loss.predicts]
        for number, name in enumerate(names):
            for fraction in self.measure(name):
                yield (number + fraction) / len(names)

    def measure(self, name: str) -> Iterator[float]:
        ready = self.ready
        task, train, dev = ready.tasks[name], ready.train[name].dataset, ready.dev[name].dataset
        model = probe_model(ready.model.bert, {name: task}, ready.recipe).to(ready.model.device)
        chosen_N = probe_sample(len(dev), control_dev_rows(self.most))
        some = dev.take(chosen_N)
        assert train.labels is not None and dev.labels is not None and some.labels is not None
        probe = ProbePredictions(model, ready.tokenizer, train, some, self.most)
        yield from probe
        self.fits[name] = probe.fit
        answer, clean_N = constant_answer(task, train.labels), ~self.leaks.rows[name][chosen_N]
        self.found[name] = Controls(
            answer,
            constant_scores(task, answer, dev.labels),
            score(task, probe.predictions, some.labels),
            len(some),
            None
            if clean_N.all() or not clean_N.any()
            else score(task, probe.predictions[clean_N], some.labels[clean_N]),
        )


class ProbePredictions:
    """Iterating over it fits the probe of a model's only task and predicts dev rows; yields the fraction done."""

    fit: LinearFit
    predictions: Array

    def __init__(
        self, model: Model, tokenizer: Tokenizer, train: Dataset, dev: Dataset, most: int = CONTROL_TRAIN_ROWS
    ) -> None:
        """`most`: training rows that are read."""
        self.model, self.tokenizer, self.dev = model, tokenizer, dev
        self.train = train.take(probe_sample(len(train), min(most, CONTROL_TRAIN_ROWS)))

    def __iter__(self) -> Iterator[float]:
        ((name, part),) = self.model.tasks.items()
        assert isinstance(part.head, LinearHead) and self.train.labels is not None
        features, done, total = [], 0, len(self.train) + len(self.dev)
        for dataset in (self.train, self.dev):
            features.append(np.empty((len(dataset), part.head.features.width), np.float32))
            encoded = encode_for_task(self.model, name, self.tokenizer, dataset.texts)
            for fraction in head_features(self.model, name, encoded, features[-1]):
                yield (done + fraction * len(dataset)) / total
            done += len(dataset)
        self.fit = fit_labels(part.task, features[0], self.train.labels, part.head.features.blocks)
        self.predictions = probe_predictions(part.task, self.fit.predict(features[1]))


def control_dev_rows(most: int) -> int:
    """How many dev rows are scored if `most` training rows are read: a score of a few rows would say little."""
    return min(CONTROL_DEV_ROWS, max(most, FEWEST_CONTROL_DEV_ROWS))


def probe_predictions(task: Task, output_NO: npt.NDArray[np.float64]) -> Array:
    """The outputs of a linear fit as predictions: probabilities N x C, or scores N."""
    if task.kind == "score":
        low, high = task.range
        return np.clip(output_NO[:, 0], low, high)
    powers_NC = np.exp(output_NO - output_NO.max(1, keepdims=True))
    probabilities_NC: Array = powers_NC / powers_NC.sum(1, keepdims=True)
    return probabilities_NC
