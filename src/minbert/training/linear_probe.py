"""(a model, encoded rows) -> linear heads fitted on the frozen encoder's vectors, before any training step.

Linear probing, then fine-tuning, distorts the pretrained features less than fine-tuning with random heads does: Kumar
et al. 2022, https://arxiv.org/abs/2202.10054

N rows, F features.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from minbert.config.task import Task
from minbert.data.batch import EncodedTexts
from minbert.data.packed import Packed
from minbert.encoder.bert import NO_HOOKS
from minbert.inference.loop import fill_batches
from minbert.model.heads import Head
from minbert.model.heads.linear import LinearHead
from minbert.model.multitask import Model, TaskModule
from minbert.model.pairings import Pairing
from minbert.model.poolings.mean import MeanPooling
from minbert.training.probe_fit import LinearFit, fit_logistic, fit_ridge, free_features

# values of head_init that need the vectors of the training rows
FITTED = ("cosine", "linear_probe", "scaled_probe")
# of these, those whose predictions are those of the fit
WHOLE_FITS = ("cosine", "linear_probe")
# a head that fits the training rows has small gradients, and leaves the encoder little to learn from: with outputs of
# this size it starts with the right weights, but unsure
PROBE_SCALE = 0.3
# more rows hardly change the fit, and their features would fill the memory
PROBE_ROWS = 20_000


def can_be_probed(model: Model, name: str) -> bool:
    """Whether the head of a task is one linear layer over features of the vectors."""
    part = model.task(name)
    fits = part.loss.predicts and part.loss.linear_outputs
    return fits and type(part.head) is LinearHead and part.head.output.bias is not None


def reads_plain_mean(part: TaskModule) -> bool:
    """Whether a head reads the mean vector of single texts as it is, which a fit on those vectors is made for."""
    plain = part.hooks is NO_HOOKS and not part.before_head and type(part.pairing).forward is Pairing.forward
    return plain and not part.task.paired and isinstance(part.pooling, MeanPooling)


def starts_at_probe(model: Model, name: str) -> bool:
    """Whether a task's head starts as the linear probe on the mean vectors of single texts."""
    part = model.task(name)
    return can_be_probed(model, name) and part.plan.head_init == "linear_probe" and reads_plain_mean(part)


def start_at_fit(part: TaskModule, fit: LinearFit) -> None:
    """Give a head that starts at a probe its weights; scores are never scaled."""
    unsure = part.plan.head_init == "scaled_probe" and part.task.kind == "classify"
    set_head(part.head, fit.scaled(PROBE_SCALE) if unsure else fit)


def head_features(
    model: Model, name: str, encoded: EncodedTexts, features_NF: npt.NDArray[np.float32]
) -> Iterator[float]:
    """Fill in what a linear head reads of each row; yields the fraction done."""
    return fill_batches(model, encoded, partial(batch_features, model, name), {name: features_NF})


def batch_features(model: Model, name: str, packed: Packed) -> dict[str, Tensor]:
    part = model.task(name)
    assert isinstance(part.head, LinearHead)
    x_TD = part.pairing.encode(model.bert, packed, part.reads, part.hooks)
    places = packed.firsts if part.reads == "first" else packed
    # of both orders of a symmetric pair, the first
    return {name: part.head.features(*part.head_inputs(x_TD, places)[0])}


def fit_labels(
    task: Task, features_NF: npt.NDArray[np.float32], labels_N: npt.NDArray[Any], blocks: Sequence[int]
) -> LinearFit:
    if task.kind == "score":
        return fit_ridge(features_NF, labels_N, blocks)
    return fit_logistic(features_NF, labels_N, len(task.labels), blocks)


def set_head(head: Head, fit: LinearFit, chosen_F: npt.NDArray[np.bool_] | None = None) -> None:
    """Give a linear head the fitted weights, of all features or of the chosen ones.

    With one output for two labels, it gets the difference of theirs.
    """
    assert isinstance(head, LinearHead)
    weight_OF, bias_O = fit.weight_OF, fit.bias_O
    if len(weight_OF) == 2 and head.output.out_features == 1:
        weight_OF, bias_O = weight_OF[1:] - weight_OF[:1], bias_O[1:] - bias_O[:1]
    with torch.no_grad():
        some = slice(None) if chosen_F is None else torch.from_numpy(chosen_F)
        head.output.weight[:, some] = torch.from_numpy(weight_OF).to(head.output.weight)
        assert head.output.bias is not None
        head.output.bias.copy_(torch.from_numpy(bias_O))


def set_prior(part: TaskModule, labels_N: npt.NDArray[Any] | None) -> None:
    """Let a linear head start at the frequencies of the labels, or at the mean score."""
    assert isinstance(part.head, LinearHead) and part.head.output.bias is not None and labels_N is not None
    if part.task.kind == "score":
        bias_O = np.array([labels_N.mean()])
    else:
        # none of them 0
        bias_O = np.log(np.bincount(labels_N, minlength=len(part.task.labels)) + 0.5)
        bias_O -= bias_O.mean()
        if part.head.output.out_features == 1:
            bias_O = bias_O[1:] - bias_O[:1]
    with torch.no_grad():
        part.head.output.bias.copy_(torch.from_numpy(bias_O))


def probe_sample(rows: int, most: int = PROBE_ROWS) -> npt.NDArray[np.int64]:
    """The rows that a probe is fitted on: all, or a fixed random sample."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def fit_head(
    model: Model, name: str, encoded: EncodedTexts, labels_N: npt.NDArray[Any], most: int = PROBE_ROWS
) -> Iterator[float]:
    """Fit the head of a task on these rows, as its `head_init` says; yields the fraction done."""
    part = model.task(name)
    assert isinstance(part.head, LinearHead)
    chosen = probe_sample(len(labels_N), most)
    features_NF = np.empty((len(chosen), part.head.features.width), np.float32)
    yield from head_features(model, name, encoded.take(chosen), features_NF)
    blocks = part.head.features.blocks
    if part.plan.head_init != "cosine":
        start_at_fit(part, fit_labels(part.task, features_NF, labels_N[chosen], blocks))
        return
    cosine_F = free_features(blocks)
    if cosine_F.any():
        fit = fit_labels(part.task, features_NF[:, cosine_F], labels_N[chosen], [1] * int(cosine_F.sum()))
        set_head(part.head, fit, cosine_F)
    else:
        set_prior(part, labels_N)
