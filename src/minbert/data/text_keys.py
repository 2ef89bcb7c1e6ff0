"""Texts -> keys that are equal for examples that are the same apart from case, punctuation and order."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")


def example_key(texts: Iterable[str]) -> tuple[str, ...]:
    """Equal for examples that are the same: (a, b) and (b, a) are the same pair."""
    return tuple(sorted(normalized_text(text) for text in texts))


def example_keys(texts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The key of each row of one or two columns of texts."""
    return [example_key(row) for row in zip(*texts, strict=True)]


def normalized_text(text: str) -> str:
    """A text without case, punctuation and spacing."""
    text = text.casefold()
    if text.isascii():
        return NEITHER_LETTER_NOR_DIGIT.sub(" ", text).strip() or text.strip()
    # marks belong to the letters before them: without its vowel signs, a Hindi text is another text
    letters = "".join(" " if unicodedata.category(c)[0] in "PSZC" else c for c in text)
    return " ".join(letters.split()) or text.strip()
