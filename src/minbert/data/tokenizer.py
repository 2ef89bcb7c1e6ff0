"""Texts -> Tokens: the ids of their tokens, by the `tokenizers` library."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from minbert.errors import UserError

# A token rarely has more than a dozen characters. A text is truncated to this many characters for each
# allowed token before the tokenizer sees it, which would tokenize all of a 50 MB string first.
CHARACTERS_PER_TOKEN = 64
# ...but never to fewer than this many, which cost nothing: the longer text of a pair must still be the longer one.
FEWEST_CHARACTERS = 32_768
CHUNK = 10_000


@dataclass(frozen=True)
class Tokens:
    """Rows of token ids of different lengths, end to end in one array."""

    flat: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Tokens":
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        flat = np.concatenate([np.asarray(row, np.int32) for row in rows]) if offsets[-1] else np.empty(0, np.int32)
        return cls(flat, offsets)

    @classmethod
    def end_to_end(cls, parts: Sequence["Tokens"]) -> "Tokens":
        """The rows of all parts, one part after another."""
        if len(parts) == 1:
            return parts[0]
        lengths = np.concatenate([part.lengths for part in parts] or [np.empty(0, np.int64)])
        flat = np.concatenate([part.flat for part in parts] or [np.empty(0, np.int32)])
        return cls(flat, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def take(self, rows: npt.NDArray[np.int64]) -> "Tokens":
        """Some of the rows, in the given order."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]  # only of these rows: there may be millions of others
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        place = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Tokens(self.flat[place], offsets)


class Tokenizer:
    """A tokenizer and the ids of its special tokens."""

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        # encode_texts in batch.py truncates, and nothing is padded
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.cls = self._special("[CLS]", "<s>")
        self.sep = self._special("[SEP]", "</s>")
        # None: the tokenizer has a token for every character or byte
        self.unknown = next((id for id in map(backend.token_to_id, ("[UNK]", "<unk>")) if id is not None), None)
        # only masked language modeling needs it: where it is missing, the token of unknown words is used
        found = backend.token_to_id("[MASK]")
        self.mask = self._special("[UNK]", "[SEP]", "</s>") if found is None else int(found)

    def _special(self, *spellings: str) -> int:
        for token in spellings:
            number = self.backend.token_to_id(token)
            if number is not None:
                return int(number)
        raise UserError(f"The tokenizer has no {spellings[0]} token: it is not a BERT tokenizer.")

    @property
    def vocabulary(self) -> int:
        return int(self.backend.get_vocab_size())

    def encode(self, texts: Sequence[str], most_tokens: int) -> Tokens:
        """The tokens of each text without special tokens."""
        parts = []
        for chunk in self.chunks(texts, most_tokens):
            found = self.backend.encode_batch_fast(chunk, add_special_tokens=False)
            parts.append(Tokens.of([encoding.ids for encoding in found]))
        return Tokens.end_to_end(parts)

    def chunks(self, texts: Sequence[str], most_tokens: int) -> Iterator[list[str]]:
        """The texts as the backend sees them, some at a time; very long ones are truncated by characters."""
        limit = max_characters(most_tokens)
        for start in range(0, len(texts), CHUNK):
            yield [without_lone_surrogates(text[:limit]) for text in texts[start : start + CHUNK]]

    def save(self, folder: Path) -> None:
        self.backend.save(str(folder / "tokenizer.json"))


def max_characters(most_tokens: int) -> int:
    return max(most_tokens * CHARACTERS_PER_TOKEN, FEWEST_CHARACTERS)


def over_character_limit(texts: Sequence[str], most_tokens: int) -> npt.NDArray[np.bool_]:
    """Which texts are truncated by characters before they are tokenized."""
    limit = max_characters(most_tokens)
    return np.fromiter((len(text) > limit for text in texts), bool, len(texts))


def without_lone_surrogates(text: str) -> str:
    """JSON may hold half a surrogate pair, which the backend refuses: it becomes a replacement character."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_tokenizer(folder: Path, lowercase: bool = True) -> Tokenizer:
    """The tokenizer of a model folder: tokenizer.json, else vocab.txt."""
    whole, vocabulary = folder / "tokenizer.json", folder / "vocab.txt"
    try:
        if whole.is_file():
            return Tokenizer(tokenizers.Tokenizer.from_file(str(whole)))
        if vocabulary.is_file():
            return Tokenizer(wordpiece_tokenizer(vocabulary, lowercase))
    except UserError as wrong:
        raise UserError(f"{folder}: {wrong.problem}") from None
    except Exception as wrong:  # the library raises bare Exception
        raise UserError(f"{folder}: the tokenizer cannot be read: {wrong}") from None
    raise UserError(f"{folder}: neither tokenizer.json nor vocab.txt.", "Copy the model's tokenizer files there.")


def wordpiece_tokenizer(vocabulary: Path, lowercase: bool) -> tokenizers.Tokenizer:
    """BERT's tokenizer from its vocabulary alone."""
    backend = tokenizers.Tokenizer(models.WordPiece.from_file(str(vocabulary), unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.add_special_tokens(
        [token for token in ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]") if backend.token_to_id(token) is not None]
    )
    ids = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    if all(number is not None for _, number in ids):
        # not used here, but by other programs that read the saved tokenizer.json
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids
        )
    return backend
