"""(a task that writes no max_length, its training texts) -> how many tokens of an example the model reads."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from minbert.config.recipe import Recipe
from minbert.config.schema import choose_technique
from minbert.config.task import DEFAULT_MAX_LENGTH, Task
from minbert.data.batch import encode_texts
from minbert.data.dataset import Dataset
from minbert.data.tokenizer import Tokenizer
from minbert.model.pairings import PAIRINGS, Pairing

# a larger fraction of truncated rows is worth a higher limit
MANY_TRUNCATED = 0.05
# attention takes longer for long texts: more tokens than this are read only if the user says so
MOST_CHOSEN = 256
# enough to know the lengths
LENGTH_ROWS = 2000


def with_chosen_lengths(
    recipe: Recipe, tasks: Mapping[str, Task], rows: Mapping[str, Dataset], tokenizer: Tokenizer, most: int
) -> dict[str, Task]:
    """The tasks, each with a max_length. `recipe`: with its pairings chosen; `most`: what the backbone reads."""
    chosen = dict(tasks)
    for name, task in tasks.items():
        plan = recipe.tasks[name]
        if task.max_length is None and plan.max_length is None:
            make, _, _ = choose_technique("pairing", PAIRINGS, plan.pairing, f"{recipe.where}: task '{name}'")
            layout = cast(type[Pairing], make).layout
            few = rows[name].take(np.unique(np.linspace(0, len(rows[name]) - 1, LENGTH_ROWS).astype(np.int64)))
            lengths_N = encode_texts(tokenizer, few.texts, layout, MOST_CHOSEN).whole_lengths
            chosen[name] = replace(task, max_length=chosen_length(lengths_N.tolist(), most))
    return chosen


def chosen_length(lengths: list[int], most: int) -> int:
    """The default, or a multiple of 16 up to 256 for 95 % of the rows if more are longer than the default."""
    enough = float(np.percentile(lengths, 100 * (1 - MANY_TRUNCATED), method="inverted_cdf"))
    return min(most, MOST_CHOSEN, max(DEFAULT_MAX_LENGTH, 16 * int(np.ceil(enough / 16))))


def explain_lengths(limits: Mapping[str, int], truncated: Mapping[str, float]) -> list[str]:
    """What is read of each row, and the fraction of the rows that are longer."""
    return [
        f"{name}: at most {limit} tokens of each row are read; {share_longer(truncated[name])} "
        f"(--set tasks.{name}.max_length=...)"
        for name, limit in limits.items()
    ]


def share_longer(fraction: float) -> str:
    if not fraction:
        return "no row is longer"
    percent = "less than 1%" if fraction < 0.01 else f"{fraction:.0%}"
    return f"{percent} of the rows are longer and truncated"
