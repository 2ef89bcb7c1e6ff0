"""Texts -> for each token, the part of speech of its word.

By HanTa (Wartena 2019, https://doi.org/10.25968/opus-1527), whose English model comes with the package: the extra
`tags`. The tags are the universal ones, https://universaldependencies.org/u/pos
"""

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

from minbert.data.tokenizer import Tokenizer, Tokens

# A tag's place here is its id. Tokens that are not words, as [CLS], have the first.
POS_TAGS = (
    "none",
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ"),
    *("SYM", "VERB", "X"),
)
# HanTa's tags, those of the British National Corpus (C5); others are X. It does not distinguish the two uses of do
# and have.
UNIVERSAL = {
    "ADJ": "AJ0 AJC AJS ORD",
    "ADP": "AVP PRF PRP",
    "ADV": "AV0 AVQ",
    "AUX": "VBB VBD VBG VBI VBN VBZ VDB VDD VDG VDI VDN VDZ VHB VHD VHG VHI VHN VHZ VM0",
    "CCONJ": "CJC",
    "DET": "AT0 DT0",
    "INTJ": "ITJ",
    "NOUN": "NN NN0 NN1 NN2",
    "NUM": "CRD",
    "PART": "POS TO0 XX0",
    "PRON": "DPS DTQ EX0 PNI PNP PNQ PNX",
    "PROPN": "NP0",
    "PUNCT": "PUL PUN PUQ PUR",
    "SCONJ": "CJS CJT",
    "VERB": "VVB VVD VVG VVI VVN VVZ",
}
# Words as that corpus splits them: is|n't, it|'s, can|not, well-known, U.S., 3.5, 2nd, !!!
TAGGED_WORD = re.compile(
    r"""[^\W\d_]+?(?=n't\b) | n't\b | '(?:s|m|d|re|ve|ll)\b | can(?=not\b)
    | (?:[^\W\d_]\.){2,} | \d+(?:[.,:]\d+)+
    | [^\W_]+(?:-[^\W_]+|'(?!(?:s|m|d|re|ve|ll)\b)[^\W_]+)*
    | ([^\w\s]|_)\1*""",
    re.IGNORECASE | re.VERBOSE,
)
QUOTES = str.maketrans("‘’`´“”", "''''\"\"")
SYMBOL_TAGS = "%#@"  # punctuation in Unicode
# The time for an unknown word grows with the square of its length.
LONGEST_WORD = 40
REMEMBERED_WORDS = 100_000


def check_tagger() -> None:
    """ValueError if the extra is not installed."""
    if find_spec("HanTa") is None:
        raise ValueError("needs the extra: pip install 'minbert[tags]'")


def tag_tokens(tokenizer: Tokenizer, texts: Sequence[str], most_tokens: int) -> Tokens:
    """For each token that `tokenizer.encode` yields, the tag of the word in which it begins.

    At most `most_tokens` tokens of a text are kept, so the words after them are not tagged.
    """
    parts = []
    for chunk in tokenizer.chunks(texts, most_tokens):
        found = tokenizer.backend.encode_batch(chunk, add_special_tokens=False)
        places = (encoding.offsets for encoding in found)
        parts.append(Tokens.of([align(*each, most_tokens) for each in zip(chunk, places, strict=True)]))
    return Tokens.end_to_end(parts)


def align(text: str, places: Sequence[tuple[int, int]], most_tokens: int) -> list[int]:
    """The tags of the tokens at these places of a text: (first character, end)."""
    kept = places[:most_tokens]
    end = kept[-1][1] if kept else 0
    words = list(takewhile(lambda word: word.start() < end, TAGGED_WORD.finditer(text.translate(QUOTES))))
    ends = [word.end() for word in words]
    tags = [*tagger().tag([word[0] for word in words]), 0]
    # the first word that ends after the token begins: with some tokenizers a token includes the space before its word
    return [tags[bisect_right(ends, start)] for start, _ in kept] + [0] * (len(places) - len(kept))


@lru_cache(maxsize=1)
def tagger() -> "Tagger":
    """Loaded once: it takes a fifth of a second, and predictions may be requested one by one."""
    return Tagger()


class Tagger:
    """HanTa's model of words and of sequences of three tags.

    The search for the likeliest tags of a sentence is ours. The result is that of HanTa's `tag_sent`, which tries all
    tags for each word; this one tries only those that the word can have, and is five times as fast.
    """

    def __init__(self) -> None:
        from HanTa import HanoverTagger

        # by its full path: a file of that name in the working directory would be taken first
        path = Path(HanoverTagger.__file__).with_name("morphmodel_en.pgz")
        self.model = HanoverTagger.HanoverTagger(str(path))
        self.start, self.end = (HanoverTagger.EMPTY, HanoverTagger.START), HanoverTagger.END
        self.unknown = HanoverTagger.UNKNOWN
        ids = {name: POS_TAGS.index(tag) for tag, names in UNIVERSAL.items() for name in names.split()}
        self.ids = {number: ids.get(name, POS_TAGS.index("X")) for number, name in self.model.int2tag.items()}
        self.chances = lru_cache(REMEMBERED_WORDS)(self.chances_of)

    def tag(self, words: Sequence[str]) -> list[int]:
        """The tag of each word of a sentence."""
        words = [word[:LONGEST_WORD] for word in words]
        found = zip(words, self.search(words), strict=True)
        return [punctuation_tag(word) or self.ids[number] for word, number in found]

    def chances_of(self, word: str, cased: bool) -> list[tuple[int, float]]:
        """HanTa's tags of a word with their log probabilities."""
        found = self.model._tag_word(word, cutoff=5, casesensitive=cased, conditional=True)
        if [number for number, _ in found] == [self.unknown]:
            return [(number, 0.0) for number in self.model.LP_trans_word[self.start] if number != self.end]
        return list(dict(found).items())

    def search(self, words: Sequence[str]) -> list[int]:
        """Viterbi's search with HanTa's beam: a state is the last two tags."""
        after = self.model.LP_trans_word
        row, came = {self.start: 0.0}, []
        for i, word in enumerate(words):
            # a capital at the start of a sentence means nothing
            chances = self.chances(word, i > 0)
            least = sorted(row.values(), reverse=True)[5] - 1 if len(row) > 5 else -math.inf
            best: dict[tuple[int, int], float] = {}
            origin: dict[tuple[int, int], tuple[int, int]] = {}
            for state, so_far in row.items():
                if so_far < least:
                    continue
                follows = after[state]
                for number, chance in chances:
                    total = so_far + follows[number] + chance
                    reached = state[1], number
                    if reached not in best or total > best[reached]:
                        best[reached], origin[reached] = total, state
            row = best
            came.append(origin)
        state = max(row, key=lambda last: row[last] + after[last][self.end])
        numbers = []
        for origin in reversed(came):
            numbers.append(state[1])
            state = origin[state]
        return numbers[::-1]


def punctuation_tag(word: str) -> int:
    """The tag of punctuation and symbols, which HanTa does not distinguish; 0 for words."""
    if word == "&" or any(character.isalnum() for character in word):
        return 0
    symbol = word[0] in SYMBOL_TAGS or unicodedata.category(word[0]).startswith("S")
    return POS_TAGS.index("SYM" if symbol else "PUNCT")
