"""model + task -> scores and every prediction."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from minbert.config.task import Task
from minbert.data.batch import EncodedTexts, collate, encode_texts, length_batches
from minbert.data.pos_tags import tag_pieces
from minbert.data.tokenizer import Tokenizer
from minbert.model.multitask import Model

# tokens of a batch when answering
BUDGET = 4096


def encode_for_task(
    model: Model, name: str, text: Tokenizer, texts: tuple[list[str], ...], max_length: int | None = None
) -> EncodedTexts:
    """Texts as the task's own parts want them laid out; cut to fewer tokens if asked."""
    parts = model.task(name)
    tag = tag_pieces if parts.wants_tags else None
    return encode_texts(text, texts, parts.layout, max_length or parts.max_length, tag)


def empty_predictions(task: Task, count: int) -> npt.NDArray[Any]:
    """Room for the answers: probabilities N x C, or scores N."""
    return np.empty((count, len(task.labels)) if task.kind == "classify" else count, np.float32)


def fill_predictions(model: Model, name: str, sequences: EncodedTexts, answers: npt.NDArray[Any]) -> Iterator[int]:
    """Fill in the answers batch by batch; tells how many rows each batch had."""
    for rows in length_batches(sequences.tokens, BUDGET):
        # set at each batch: between two of them the caller may do as it likes
        model.eval()
        with torch.inference_mode():
            batch = collate(name, sequences, None, rows).to(model.device)
            answers[rows] = model.predict(batch).float().cpu().numpy()
        yield len(rows)
