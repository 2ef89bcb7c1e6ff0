"""A dev row -> its tags: the kinds of rows that reports found hard, and a few that are worth a look.

A tag is one function of a row and one line that says why anybody should look there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minbert.analysis.dev_rows import Row, count_words
from minbert.data.metrics import Array

NEGATIONS = frozenset(
    ["no", "not", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "cannot", "without", "hardly"]
)
# as people type; "cant" and "wont" are words of their own, but seldom meant
UNMARKED = frozenset(["dont", "doesnt", "didnt", "cant", "couldnt", "wont", "wouldnt", "shouldnt", "isnt", "arent"])
TURNS = frozenset(["but", "although", "though", "however", "yet", "despite", "nevertheless", "except"])
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NUMBER_NAMES = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
NUMBER_WORDS = {name: str(number) for number, name in enumerate(NUMBER_NAMES, start=2)}
# a tag that nearly all rows have says nothing about any of them
MOST = 0.9


@dataclass(frozen=True)
class Tag:
    holds: Callable[[Row], bool]
    reason: str
    # what it is told by: a tag that knows gold picks some labels, one that knows the answer picks mistakes
    sees: Literal["texts", "gold", "answer"] = "texts"


def few_changed_words(row: Row) -> bool:
    return row.overlap is not None and row.alike is not None and row.overlap >= 0.5 and row.alike <= 0.4


def other_words(row: Row) -> bool:
    return row.overlap is not None and row.alike is not None and row.overlap <= 0.25 and row.alike >= 0.8


def summary(row: Row) -> bool:
    if len(row.words) != 2:
        return False
    short, long = sorted(row.words, key=len)
    if not short or len(long) < 1.5 * len(short):
        return False
    distinct = set(short)
    return len(distinct & set(long)) >= 0.75 * len(distinct)


def negation(row: Row) -> bool:
    return len(row.words) == 1 and negated(row.words[0])


def negation_in_one(row: Row) -> bool:
    return len(row.words) == 2 and negated(row.words[0]) != negated(row.words[1])


def numbers_differ(row: Row) -> bool:
    if len(row.words) != 2:
        return False
    first, second = (numbers(*each) for each in zip(row.texts, row.words, strict=True))
    return bool(first and second and first != second)


def turn(row: Row) -> bool:
    return len(row.words) == 1 and not TURNS.isdisjoint(row.words[0])


def question(row: Row) -> bool:
    return any(text.rstrip(" \"'”’)").endswith("?") for text in row.texts)


def long_text(row: Row) -> bool:
    return count_words(row.words) > row.long_from


def cut(row: Row) -> bool:
    # a word is at least one token, and [CLS] and [SEP] are two more
    return any(len(words) > row.room - 2 for words in row.words)


def trained(row: Row) -> bool:
    return row.trained


def off_by_one(row: Row) -> bool:
    return row.ordered and abs(row.answer - row.gold) == 1


def far_off(row: Row) -> bool:
    return row.ordered and abs(row.answer - row.gold) > 1


def negated(words: Sequence[str]) -> bool:
    return any(word in NEGATIONS or word in UNMARKED or word.endswith(("n't", "n’t")) for word in words)


def numbers(text: str, words: Sequence[str]) -> set[str]:
    """1,000 and 1000 are the same number, and so are 2 and two; "one" is seldom a number."""
    found = {number.replace(",", "") for number in NUMBER.findall(text)}
    return found | {NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS}


TAGS: dict[str, Tag] = {
    "few changed words": Tag(
        few_changed_words, "most words are the same, yet gold says the texts are not: report B's hard pairs", "gold"
    ),
    "other words": Tag(other_words, "hardly a common word, yet gold says the texts mean the same", "gold"),
    "summary": Tag(summary, "one text is the other without its details: report B's hard similarities"),
    "negation in one": Tag(negation_in_one, "one small word that turns a meaning round, in only one of the texts"),
    "numbers differ": Tag(numbers_differ, "both texts have numbers, and not the same"),
    "negation": Tag(negation, "a word that turns the meaning of others round"),
    "turn": Tag(turn, "a 'but' or its like: the text says one thing, then another"),
    "question": Tag(question, "asks, where other rows state"),
    "long": Tag(long_text, "longer than nine in ten rows"),
    "cut": Tag(cut, "more words than the model reads tokens, so it never saw the end"),
    "in training": Tag(trained, "the same row stands in the training rows, so the answer may be remembered"),
    "off by one": Tag(off_by_one, "a label beside the right one: most mistakes of reports B and E", "answer"),
    "far off": Tag(far_off, "two or more labels from the right one: what a scale should make rare", "answer"),
}


def tag_rows(rows: Sequence[Row]) -> dict[str, Array]:
    """Tag -> which rows have it, N; without the tags that no row has, or nearly all have."""
    found = {name: np.fromiter(map(tag.holds, rows), bool, len(rows)) for name, tag in TAGS.items()}
    return {name: has_N for name, has_N in found.items() if has_N.any() and has_N.mean() <= MOST}


def tags_at(row: int, tagged: Mapping[str, Array]) -> tuple[str, ...]:
    return tuple(name for name, has_N in tagged.items() if has_N[row])
