"""texts -> the answers of several tasks, each text read and encoded once where the tasks can share that."""

from collections.abc import Iterator, Mapping, Sequence

import torch

from minbert.data.batch import EncodedTexts, length_batches
from minbert.data.tokenizer import Tokenizer, Tokens, max_characters
from minbert.encoder.bert import NO_HOOKS, Reads
from minbert.inference.formats import TaskPredictions
from minbert.inference.loop import BUDGET, empty_predictions, encode_for_task
from minbert.model.multitask import Model
from minbert.model.pairings import Pairing


class Once(Tokenizer):
    """A tokenizer that reads each column once, whichever tasks ask for it."""

    def __init__(self, text: Tokenizer) -> None:
        super().__init__(text.tokenizer)
        self.read: dict[tuple[int, int], Tokens] = {}

    def encode(self, texts: Sequence[str], most_tokens: int) -> Tokens:
        key = (id(texts), max_characters(most_tokens))
        if key not in self.read:
            self.read[key] = super().encode(texts, most_tokens)
        return self.read[key]


def sharing(model: Model, names: Sequence[str]) -> list[list[str]]:
    """The tasks in groups for which the encoder does the same work: the same texts laid out alike, and no adapters."""
    groups: dict[object, list[str]] = {}
    for name in names:
        parts = model.task(name)
        alike = parts.hooks is NO_HOOKS and type(parts.pairing).encode is Pairing.encode
        key = (parts.task.text, parts.layout, parts.max_length) if alike else name
        groups.setdefault(key, []).append(name)
    return list(groups.values())


class Answered:
    """The answers of several tasks to the rows of some columns: iterating over it makes them.

    Tells how much is done, from 0 to 1; then `given` has the answers of each task.
    """

    def __init__(self, model: Model, text: Tokenizer, names: Sequence[str], columns: Mapping[str, list[str]]) -> None:
        self.model, self.text, self.names, self.columns = model, text, names, columns
        self.given: dict[str, TaskPredictions] = {}

    def __iter__(self) -> Iterator[float]:
        once = Once(self.text)
        rows = len(next(iter(self.columns.values())))
        groups = sharing(self.model, self.names)
        done = 0
        for group in groups:
            parts = self.model.task(group[0])
            texts = tuple(self.columns[name] for name in parts.task.text)
            sequences = encode_for_task(self.model, group[0], once, texts)
            for name in group:
                task = self.model.task(name).task
                self.given[name] = TaskPredictions(task, empty_predictions(task, rows), sequences.truncated)
            for count in fill_group(self.model, group, sequences, self.given):
                done += count
                yield done / (rows * len(groups))


def fill_group(
    model: Model, names: Sequence[str], sequences: EncodedTexts, given: Mapping[str, TaskPredictions]
) -> Iterator[int]:
    """Fill in the answers of tasks that share the encoder's work; tells how many rows each batch had."""
    parts = {name: model.task(name) for name in names}
    encoding = parts[names[0]]
    reads: Reads = "all" if any(part.reads == "all" for part in parts.values()) else "first"
    for rows in length_batches(sequences.tokens, BUDGET):
        model.eval()
        with torch.inference_mode():
            packed = sequences.pack(rows).to(model.device)
            x_TD = encoding.pairing.encode(model.bert, packed, reads, encoding.hooks)
            for name, part in parts.items():
                own_TD = x_TD if part.reads == reads else x_TD.index_select(0, packed.starts_S)
                output_BO = part(own_TD, packed.firsts if part.reads == "first" else packed).float()
                given[name].answers[rows] = part.loss.predict(output_BO).float().cpu().numpy()
        yield len(rows)
