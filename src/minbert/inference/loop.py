"""(a module, encoded texts) -> its outputs, batch by batch: the one loop of all inference.

Prediction, embedding, evaluation and distillation compute every batch with `run_batch`. The batches depend only on the
rows, so the same rows have the same predictions everywhere, bit for bit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from minbert.data.batch import EncodedTexts, encode_texts, length_batches
from minbert.data.packed import Packed
from minbert.data.pos_tags import tag_tokens
from minbert.data.tokenizer import Tokenizer, Tokens
from minbert.model.multitask import Model

# tokens per batch
BUDGET = 4096
# a batch -> named tensors with one row per example
Compute = Callable[[Packed], Mapping[str, Tensor]]


def run_batch(
    module: nn.Module, encoded: EncodedTexts, rows: npt.NDArray[np.int64], compute: Compute
) -> dict[str, Tensor]:
    """Some rows, in evaluation mode and without gradients."""
    # set for each batch: the caller may train the module between two of them
    module.eval()
    with torch.inference_mode():
        packed = encoded.pack(rows).to(next(module.parameters()).device)
        return {name: output.float() for name, output in compute(packed).items()}


def fill_batches(
    module: nn.Module, encoded: EncodedTexts, compute: Compute, outputs: Mapping[str, npt.NDArray[Any]]
) -> Iterator[float]:
    """Fill in the outputs of all rows, in batches of similar length; yields the fraction done after each batch."""
    done = 0
    for rows in length_batches(encoded.tokens, BUDGET):
        for name, output in run_batch(module, encoded, rows, compute).items():
            outputs[name][rows] = output.cpu().numpy()
        done += len(rows)
        yield done / len(encoded)


def predict_batch(
    model: Model, names: Sequence[str], encoded: EncodedTexts, rows: npt.NDArray[np.int64]
) -> dict[str, Tensor]:
    """The predictions of tasks that share the encoder's work (task_groups.py): probabilities B x C, or scores B."""
    return run_batch(model, encoded, rows, partial(model.predict_tasks, names))


def fill_predictions(
    model: Model, names: Sequence[str], encoded: EncodedTexts, predictions: Mapping[str, npt.NDArray[Any]]
) -> Iterator[float]:
    """Fill in the predictions of such tasks for all rows; yields the fraction done after each batch."""
    return fill_batches(model, encoded, partial(model.predict_tasks, names), predictions)


def encode_for_task(
    model: Model,
    name: str,
    tokenizer: Tokenizer,
    texts: tuple[list[str], ...],
    max_length: int | None = None,
    tokens: list[Tokens] | None = None,
) -> EncodedTexts:
    """Texts in the layout of a task.

    `max_length`: if not that of the task. `tokens`: the tokens of the texts, if they are known already.
    """
    part = model.task(name)
    tag = tag_tokens if part.wants_tags else None
    return encode_texts(tokenizer, texts, part.layout, max_length or part.max_length, tag, tokens)
