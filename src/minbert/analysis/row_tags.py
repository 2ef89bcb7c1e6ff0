"""Dev row -> its tags: kinds of rows that reports found hard, and a few others that are worth a look.

A tag is a function of a row and one line that says why it matters.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minbert.analysis.dev_rows import DevRow, count_words
from minbert.data.metrics import Array

NEGATIONS = frozenset(
    ["no", "not", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "cannot", "without", "hardly"]
)
# without an apostrophe; "cant" and "wont" are also words, but rarely meant as such
UNMARKED_NEGATIONS = frozenset(
    ["dont", "doesnt", "didnt", "cant", "couldnt", "wont", "wouldnt", "shouldnt", "isnt", "arent"]
)
CONTRAST_WORDS = frozenset(["but", "although", "though", "however", "yet", "despite", "nevertheless", "except"])
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NUMBER_NAMES = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
NUMBER_WORDS = {name: str(number) for number, name in enumerate(NUMBER_NAMES, start=2)}
# a tag on more than this fraction of the rows distinguishes nothing
MOST_COMMON = 0.9


@dataclass(frozen=True)
class RowTag:
    holds: Callable[[DevRow], bool]
    reason: str
    # a tag that depends on gold selects certain labels, one that depends on the prediction selects errors
    depends_on: Literal["texts", "gold", "prediction"] = "texts"


def differs_in_few_words(row: DevRow) -> bool:
    return row.overlap is not None and row.similarity is not None and row.overlap >= 0.5 and row.similarity <= 0.4


def different_words(row: DevRow) -> bool:
    return row.overlap is not None and row.similarity is not None and row.overlap <= 0.25 and row.similarity >= 0.8


def is_summary(row: DevRow) -> bool:
    if len(row.words) != 2:
        return False
    short, long = sorted(row.words, key=len)
    if not short or len(long) < 1.5 * len(short):
        return False
    distinct = set(short)
    return len(distinct & set(long)) >= 0.75 * len(distinct)


def has_negation(row: DevRow) -> bool:
    return len(row.words) == 1 and negates(row.words[0])


def has_negation_in_one(row: DevRow) -> bool:
    return len(row.words) == 2 and negates(row.words[0]) != negates(row.words[1])


def have_different_numbers(row: DevRow) -> bool:
    if len(row.words) != 2:
        return False
    first, second = (numbers_in(*each) for each in zip(row.texts, row.words, strict=True))
    return bool(first and second and first != second)


def has_contrast_word(row: DevRow) -> bool:
    return len(row.words) == 1 and not CONTRAST_WORDS.isdisjoint(row.words[0])


def is_question(row: DevRow) -> bool:
    return any(text.rstrip(" \"'”’)").endswith("?") for text in row.texts)


def is_long(row: DevRow) -> bool:
    return count_words(row.words) > row.long_above


def is_truncated(row: DevRow) -> bool:
    # a word is at least one token; [CLS] and [SEP] take two more
    return any(len(words) > row.max_length - 2 for words in row.words)


def is_in_training(row: DevRow) -> bool:
    return row.in_training


def is_off_by_one(row: DevRow) -> bool:
    return row.ordinal and abs(row.prediction - row.gold) == 1


def is_far_off(row: DevRow) -> bool:
    return row.ordinal and abs(row.prediction - row.gold) > 1


def negates(words: Sequence[str]) -> bool:
    return any(word in NEGATIONS or word in UNMARKED_NEGATIONS or word.endswith(("n't", "n’t")) for word in words)


def numbers_in(text: str, words: Sequence[str]) -> set[str]:
    """1,000 equals 1000, and 2 equals two; "one" is rarely a number."""
    found = {number.replace(",", "") for number in NUMBER.findall(text)}
    return found | {NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS}


ROW_TAGS: dict[str, RowTag] = {
    "few changed words": RowTag(
        differs_in_few_words, "most words are the same, but gold says that the texts differ (hard in report B)", "gold"
    ),
    "different words": RowTag(
        different_words, "few words in common, but gold says that the texts mean the same", "gold"
    ),
    "summary": RowTag(is_summary, "one text is the other without its details (hard similarities in report B)"),
    "negation in one": RowTag(has_negation_in_one, "a negation that reverses the meaning, in only one of the texts"),
    "numbers differ": RowTag(have_different_numbers, "both texts contain numbers, but different ones"),
    "negation": RowTag(has_negation, "a word that reverses the meaning of others"),
    "contrast": RowTag(has_contrast_word, "a “but” or similar word: the text says one thing, then another"),
    "question": RowTag(is_question, "a question, where other rows are statements"),
    "long": RowTag(is_long, "longer than nine in ten rows"),
    "truncated": RowTag(is_truncated, "more words than the model reads tokens, so it never saw the end"),
    "in training": RowTag(is_in_training, "the same row occurs in the training data, so it may be memorized"),
    "off by one": RowTag(
        is_off_by_one, "a label next to the correct one: most errors in reports B and E", "prediction"
    ),
    "far off": RowTag(
        is_far_off, "two or more labels from the correct one, which an ordinal model should make rare", "prediction"
    ),
}


def tag_rows(rows: Sequence[DevRow]) -> dict[str, Array]:
    """Tag -> which rows have it, N; without the tags that no rows or nearly all rows have."""
    found = {name: np.fromiter(map(tag.holds, rows), bool, len(rows)) for name, tag in ROW_TAGS.items()}
    return {name: has_N for name, has_N in found.items() if has_N.any() and has_N.mean() <= MOST_COMMON}


def tags_at(row: int, tagged: Mapping[str, Array]) -> tuple[str, ...]:
    return tuple(name for name, has_N in tagged.items() if has_N[row])
