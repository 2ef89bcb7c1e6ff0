"""(a model, columns of texts) -> the predictions of one or more of its tasks.

Each text is tokenized once, and encoded once for all tasks that can share that.
"""

from collections.abc import Iterator, Mapping

from minbert.data.batch import EncodedTexts
from minbert.data.tokenizer import Tokenizer, Tokens, max_characters
from minbert.encoder.bert import NO_HOOKS
from minbert.inference.loop import encode_for_task, fill_predictions
from minbert.inference.task_predictions import TaskPredictions, empty_predictions
from minbert.model.multitask import Model
from minbert.model.pairings import Pairing

# task: the names of the columns that it reads
ColumnNames = Mapping[str, tuple[str, ...]]


class TextColumns:
    """Columns of texts, each tokenized once, whichever tasks read it."""

    def __init__(self, tokenizer: Tokenizer, columns: Mapping[str, list[str]]) -> None:
        self.tokenizer, self.columns = tokenizer, columns
        self._tokens: dict[tuple[str, int], Tokens] = {}

    def tokens(self, column: str, max_length: int) -> Tokens:
        # tasks of different lengths see the same tokens, unless a text is so long that its characters are truncated
        key = column, max_characters(max_length)
        if key not in self._tokens:
            self._tokens[key] = self.tokenizer.encode(self.columns[column], max_length)
        return self._tokens[key]

    def encode(self, model: Model, task: str, names: tuple[str, ...]) -> EncodedTexts:
        """These columns in the layout of a task."""
        texts = tuple(self.columns[name] for name in names)
        tokens = [self.tokens(name, model.task(task).max_length) for name in names]
        return encode_for_task(model, task, self.tokenizer, texts, tokens=tokens)


def task_groups(model: Model, reads: ColumnNames) -> list[list[str]]:
    """The tasks in groups for which the encoder does the same work: same texts, layout and length, no adapters."""
    groups: dict[object, list[str]] = {}
    for name, columns in reads.items():
        part = model.task(name)
        shares = part.hooks is NO_HOOKS and type(part.pairing).encode is Pairing.encode
        key = (columns, part.layout, part.max_length) if shares else name
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def fill_tasks(
    model: Model,
    tokenizer: Tokenizer,
    reads: ColumnNames,
    columns: Mapping[str, list[str]],
    predictions: dict[str, TaskPredictions],
) -> Iterator[float]:
    """Add the predictions of each task in `reads` for all rows; yields the fraction done after each batch."""
    texts = TextColumns(tokenizer, columns)
    groups = task_groups(model, reads)
    for number, names in enumerate(groups):
        encoded = texts.encode(model, names[0], reads[names[0]])
        for name in names:
            task = model.task(name).task
            predictions[name] = TaskPredictions(task, empty_predictions(task, len(encoded)), encoded.truncated)
        arrays = {name: predictions[name].values for name in names}
        for fraction in fill_predictions(model, names, encoded, arrays):
            yield (number + fraction) / len(groups)
