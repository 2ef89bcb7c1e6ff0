"""Texts -> keys that are equal for examples that are the same apart from case, punctuation and order."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")
# the texts of an example, ignoring case, punctuation and the order within a pair
ExampleKey = tuple[str, ...]


class SpacesForPunctuation(dict[int, int]):
    """For str.translate: a space for punctuation, symbols and control characters; other characters as they are."""

    def __missing__(self, code: int) -> int:
        # marks belong to the letters before them: without its vowel signs, a Hindi text is another text
        self[code] = ord(" ") if unicodedata.category(chr(code))[0] in "PSZC" else code
        return self[code]


SPACES = SpacesForPunctuation()


def example_key(texts: Iterable[str]) -> ExampleKey:
    """Equal for examples that are the same: (a, b) and (b, a) are the same pair."""
    return tuple(sorted(normalized_text(text) for text in texts))


def example_keys(texts: Sequence[Sequence[str]]) -> list[ExampleKey]:
    """The key of each row of one or two columns of texts."""
    return [example_key(row) for row in zip(*texts, strict=True)]


def ordered_keys(texts: Sequence[Sequence[str]]) -> list[ExampleKey]:
    """The same with the texts of a pair in their order: for labels that depend on it, such as entailment."""
    return list(zip(*([normalized_text(text) for text in column] for column in texts), strict=True))


def normalized_text(text: str) -> str:
    """A text without case, punctuation and spacing."""
    text = text.casefold()
    if text.isascii():
        return NEITHER_LETTER_NOR_DIGIT.sub(" ", text).strip() or text.strip()
    return " ".join(text.translate(SPACES).split()) or text.strip()
