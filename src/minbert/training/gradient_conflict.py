"""(model, batches of each task) -> how similar the tasks' gradients in the shared encoder are.

cos(g_i, g_j) = g_i . g_j / (|g_i| |g_j|), g_i the gradient of task i's loss, without regularizers, with respect to all
weights of the encoder, including frozen ones. Below 0, a small step that lowers one loss raises the other. Yu et al.
2020 call that a conflict, https://arxiv.org/abs/2001.06782
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from minbert.data.batch import Batch, EncodedTexts, collate
from minbert.model.multitask import Model
from minbert.training.balancers.task_gradients import Gradient, dot


@dataclass(frozen=True)
class GradientCosines:
    # "sst quora": the cosine between the two; without tasks whose gradient is 0
    cosines: dict[str, float]
    # task -> the norm of its gradient
    norms: dict[str, float]


def in_batches(task: str, sequences: EncodedTexts, labels: npt.NDArray[Any] | None, size: int) -> list[Batch]:
    """All rows in batches of at most this size, as equal as possible: some losses compare the rows of a batch."""
    rows = np.array_split(np.arange(len(sequences)), -(-len(sequences) // size))
    return [collate(task, sequences, labels, each) for each in rows]


def gradient_of(model: Model, batches: Sequence[Batch]) -> Gradient:
    """The gradient of the mean loss of one task's batches, one tensor for each of the encoder's weights.

    It does not change the state of training.
    """
    weights = list(model.bert.parameters())
    rows = sum(batch.examples for batch in batches)
    total: Gradient = [None] * len(weights)
    with without_dropout(model):
        for batch in batches:
            loss = model.loss(batch.to(model.device)) * (batch.examples / rows)
            # not `backward`, which would add to the .grad of the weights
            found = torch.autograd.grad(loss, weights, allow_unused=True)
            total = [add_optional(before, gradient) for before, gradient in zip(total, found, strict=True)]
    return total


def add_optional(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The sum; None: the loss does not depend on this weight."""
    return other if one is None else one if other is None else one.add_(other)


@contextmanager
def without_dropout(model: Model) -> Iterator[None]:
    """Inside: no dropout, the whole encoder trainable, and always the same random numbers (for masked tokens)."""
    dropout, weights = model.bert.dropout_generator, list(model.bert.parameters())
    generator, trainable, training = dropout.generator, [weight.requires_grad for weight in weights], model.training
    try:
        model.eval()
        model.bert.requires_grad_(True)
        dropout.generator = torch.Generator(generator.device).manual_seed(0)
        yield
    finally:
        dropout.generator = generator
        for weight, was in zip(weights, trainable, strict=True):
            weight.requires_grad_(was)
        # after the weights: which of its modules train depends on them
        model.train(training)


def gradient_cosines(gradients: Mapping[str, Gradient]) -> GradientCosines:
    """The cosine of each pair of tasks."""
    norms = {task: math.sqrt(dot(gradient, gradient)) for task, gradient in gradients.items()}
    # a gradient of 0 has no direction, such as that of a contrastive batch without a positive pair
    nonzero = [task for task, norm in norms.items() if 0 < norm < math.inf]
    cosines = {
        f"{one} {other}": dot(gradients[one], gradients[other]) / (norms[one] * norms[other])
        for one, other in combinations(nonzero, 2)
    }
    return GradientCosines(
        {pair: max(-1.0, min(1.0, cosine)) for pair, cosine in cosines.items()},
        {task: norm for task, norm in norms.items() if math.isfinite(norm)},
    )
