"""Texts to ids against transformers' tokenizer, and rows to batches."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, BertTokenizer

from minbert.data.batch import encode_texts, length_batches, share_length
from minbert.data.tokenizer import Tokenizer, Tokens, read_tokenizer
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import load_tokenizer
from minbert.errors import UserError
from tests.tiny import tiny_backbone, tiny_tokenizer

ORDINARY = [
    "A man is playing a guitar.",
    "What's the best way to learn Python in 2024?",
    "It's a charming and often affecting journey .",
    "don't -LRB- really -RRB- know",
]
HOSTILE = [
    "",
    " \t\r\n ",
    ".",
    "a\x00b\x07c",
    "\u200b\ufeff\u00ad",  # characters without a width
    "ﬁancée İstanbul ẞtraße e\u0301\u0301\u0301 Ångström",
    "日本語のテキスト 中文 한국어 ไทย עברית العربية",
    "👩‍👩‍👧‍👦 🇩🇪 ❤️ 🏳️‍🌈 ok",
    "\u202eright to left\u202c \U0010ffff \ufffd",
    "[CLS] [SEP] [MASK] [PAD] [UNK] inside a text",
    "##ing ##s #hash @user https://example.org/a?b=c&d=%20",
    "x" * 99 + " " + "x" * 100 + " " + "x" * 101,  # WordPiece gives up on words over 100 characters
    "!?" * 40,
    "1,234.56 -7e-9 ½ ²",
    "tab\tand\nnew line\u2028separator\u00a0no-break",
]
LONG = ["very " * 600 + "long", "The quick brown fox. " * 60, "🙂 naïve " * 200]
TEXTS = ORDINARY + HOSTILE + LONG


@pytest.fixture(scope="module")
def folder() -> Path:
    return find_backbone("minilm")


@pytest.fixture(scope="module")
def text(folder: Path) -> Tokenizer:
    return load_tokenizer(folder)


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def rows(ragged: Tokens) -> list[list[int]]:
    return [row.tolist() for row in np.split(ragged.flat, ragged.offsets[1:-1])]


@pytest.mark.parametrize("max_length", [8, 64, 512])
def test_single_texts_have_the_ids_of_transformers(text: Tokenizer, theirs: Any, max_length: int) -> None:
    sequences = encode_texts(text, (TEXTS,), "cross_encoder", max_length)
    expected = theirs(TEXTS, truncation=True, max_length=max_length)["input_ids"]
    assert rows(sequences.parts[0]) == expected
    whole = theirs(TEXTS)["input_ids"]
    assert sequences.truncated.tolist() == [len(ids) > max_length for ids in whole]
    assert sequences.truncated.any()


@pytest.mark.parametrize("max_length", [8, 9, 64, 512])
def test_joined_pairs_have_the_ids_and_segments_of_transformers(text: Tokenizer, theirs: Any, max_length: int) -> None:
    # each with every other one: all the ways that one, the other, both or none is too long. The long ones are
    # cut to what is long here: transformers also makes all pairs of the pieces that it leaves out
    texts = ORDINARY[:2] + HOSTILE[::3] + [text[: 12 * max_length] for text in LONG]
    firsts = [first for first in texts for _ in texts]
    seconds = texts * len(texts)
    sequences = encode_texts(text, (firsts, seconds), "cross_encoder", max_length)
    expected = theirs(firsts, seconds, truncation="longest_first", max_length=max_length)
    assert rows(sequences.parts[0]) == expected["input_ids"]
    packed = sequences.pack(np.arange(len(firsts)))
    assert packed.ids_T.tolist() == [number for ids in expected["input_ids"] for number in ids]
    assert packed.segments_T.tolist() == [segment for ids in expected["token_type_ids"] for segment in ids]
    assert packed.lengths_S.tolist() == [len(ids) for ids in expected["input_ids"]]


def test_the_longer_text_of_a_pair_gives_way_however_long_both_are(text: Tokenizer, theirs: Any) -> None:
    # 400 pieces of 5 characters, 300 of 2: were each cut to 64 characters a token, the second would be the longer
    pair = "very " * 400, "a " * 300
    sequences = encode_texts(text, ([pair[0]], [pair[1]]), "cross_encoder", 8)
    assert rows(sequences.parts[0]) == [theirs(*pair, truncation=True, max_length=8)["input_ids"]]


def test_pairs_read_apart_are_two_single_texts_each(text: Tokenizer, theirs: Any) -> None:
    firsts, seconds = TEXTS, TEXTS[::-1]
    sequences = encode_texts(text, (firsts, seconds), "bi_encoder", 64)
    picked = np.array([5, 0, 17])
    packed = sequences.pack(picked)
    expected = theirs([firsts[i] for i in picked] + [seconds[i] for i in picked], truncation=True, max_length=64)[
        "input_ids"
    ]
    assert packed.ids_T.tolist() == [number for ids in expected for number in ids]
    assert packed.lengths_S.tolist() == [len(ids) for ids in expected]
    assert not packed.segments_T.any()
    whole = theirs(firsts)["input_ids"], theirs(seconds)["input_ids"]
    longest = [max(len(first), len(second)) for first, second in zip(*whole, strict=True)]
    assert sequences.truncated.tolist() == [length > 64 for length in longest]


def test_share_length_by_hand() -> None:
    # nothing to cut; only the second is long; only the first is long; both are, and the odd one out
    # goes to the longer, which is the second where they are equally long
    first, second = np.array([4, 2, 20, 20, 9, 8]), np.array([5, 20, 3, 30, 9, 7])
    kept = share_length(first, second, 9)
    assert [pair.tolist() for pair in kept] == [[4, 2, 6, 4, 4, 5], [5, 7, 3, 5, 5, 4]]


def test_share_length_keeps_what_it_can_for_all_lengths() -> None:
    first, second = (side.ravel() for side in np.meshgrid(np.arange(25), np.arange(25)))
    for budget in (5, 6, 13, 40):
        kept_first, kept_second = share_length(first, second, budget)
        assert ((kept_first <= first) & (kept_second <= second)).all()
        assert (kept_first + kept_second == np.minimum(first + second, budget)).all()
        # a text is only cut while it is the longer one
        assert (kept_first[kept_first < first] >= kept_second[kept_first < first] - 1).all()
        assert (kept_second[kept_second < second] >= kept_first[kept_second < second] - 1).all()


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_vocabulary_alone_makes_the_tokenizer(folder: Path, text: Tokenizer, lowercase: bool, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes((folder / "vocab.txt").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(f'{{"do_lower_case": {str(lowercase).lower()}}}')
    alone = load_tokenizer(tmp_path)
    assert (alone.cls, alone.sep, alone.vocabulary) == (text.cls, text.sep, text.vocabulary)
    if lowercase:
        assert rows(alone.encode(TEXTS, 512)) == rows(text.encode(TEXTS, 512))
    expected = BertTokenizer.from_pretrained(tmp_path, do_lower_case=lowercase)
    sequences = encode_texts(alone, (TEXTS,), "cross_encoder", 512)
    assert rows(sequences.parts[0]) == expected(TEXTS, truncation=True, max_length=512)["input_ids"]


def test_a_tokenizer_saved_and_loaded_gives_the_same_ids(text: Tokenizer, tmp_path: Path) -> None:
    text.save(tmp_path)
    assert rows(read_tokenizer(tmp_path).encode(TEXTS, 512)) == rows(text.encode(TEXTS, 512))


def test_half_a_surrogate_pair_is_read_like_a_broken_character(text: Tokenizer) -> None:
    # JSON may say "\ud83d", which no encoding can carry; the tokenizer library refuses such a string
    broken = ["cut \ud83d emoji", "\udc00", "whole \ud83d\ude42 pair"]
    expected = ["cut \ufffd emoji", "\ufffd", "whole 🙂 pair"]
    assert rows(text.encode(broken, 64)) == rows(text.encode(expected, 64))


def test_a_huge_text_is_cut_before_it_is_tokenized(text: Tokenizer, theirs: Any) -> None:
    sentence = "the quick brown fox jumps over the lazy dog. "
    huge = sentence * (5_000_000 // len(sentence))
    pieces = text.encode([huge], 128)
    # all 5 MB would be over a million pieces; only the first 32768 characters are looked at
    assert 128 <= len(pieces.flat) <= 32_768
    expected = theirs(huge[:10_000], truncation=True, max_length=128)["input_ids"]
    assert rows(encode_texts(text, ([huge],), "cross_encoder", 128).parts[0]) == [expected]
    # one endless word is one unknown piece, wherever it is cut
    assert rows(text.encode(["x" * 5_000_000], 128)) == rows(text.encode(["x" * 101], 128))


def test_more_texts_than_one_call_takes_keep_their_order(tmp_path: Path, monkeypatch: Any) -> None:
    text = tiny_tokenizer(tmp_path)
    texts = [f"text number {i}" for i in range(25)] + [""]
    expected = rows(text.encode(texts, 16))
    monkeypatch.setattr("minbert.data.tokenizer.CHUNK", 10)
    assert rows(text.encode(texts, 16)) == expected


def test_no_texts_are_no_sequences(text: Tokenizer) -> None:
    assert len(text.encode([], 16)) == 0
    assert len(encode_texts(text, ([],), "cross_encoder", 16)) == 0
    assert len(encode_texts(text, ([], []), "cross_encoder", 16)) == 0


def test_only_empty_texts_are_their_special_tokens(text: Tokenizer) -> None:
    assert rows(encode_texts(text, (["", ""],), "cross_encoder", 16).parts[0]) == [[text.cls, text.sep]] * 2
    assert rows(encode_texts(text, ([""], [" "]), "cross_encoder", 16).parts[0]) == [[text.cls, text.sep, text.sep]]


def test_take_picks_rows_in_the_asked_order_and_again() -> None:
    ragged = Tokens.of([[1, 2, 3], [], [4], [5, 6]])
    assert rows(ragged.take(np.array([3, 0, 1, 3]))) == [[5, 6], [1, 2, 3], [], [5, 6]]


@pytest.mark.parametrize("budget", [1, 7, 100, 10_000])
def test_by_length_gives_each_row_once_within_the_budget(budget: int) -> None:
    tokens = np.random.default_rng(0).integers(1, 60, 500)
    batches = list(length_batches(tokens, budget))
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    for batch in batches:
        # a single row longer than the budget has to be answered all the same
        assert tokens[batch].sum() <= budget or len(batch) == 1
        # the grid of attention is as wide as the longest: it must fit too
        assert len(batch) * tokens[batch].max() <= budget or len(batch) == 1
    assert list(length_batches(np.empty(0, np.int64), budget)) == []


def test_folders_without_a_usable_tokenizer_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"neither tokenizer\.json nor vocab\.txt") as wrong:
        load_tokenizer(tmp_path)
    assert str(tmp_path) in wrong.value.problem
    assert wrong.value.next_step

    (tmp_path / "vocab.txt").write_text("the\na\n[UNK]\n")
    with pytest.raises(UserError, match=r"no \[CLS\] token") as wrong:
        load_tokenizer(tmp_path)
    assert str(tmp_path) in wrong.value.problem

    (tmp_path / "tokenizer.json").write_text('{"version": "1.0", "model"')
    with pytest.raises(UserError, match="the tokenizer cannot be read") as wrong:
        load_tokenizer(tmp_path)
    assert str(tmp_path) in wrong.value.problem

    (tmp_path / "tokenizer_config.json").write_text("{do_lower_case}")
    with pytest.raises(UserError, match=r"tokenizer_config\.json: not JSON"):
        load_tokenizer(tmp_path)


def test_the_tiny_backbone_reads_english_without_unknown_words(tmp_path: Path) -> None:
    # the other tests stand on this: with everything [UNK], texts could not be told apart
    text = load_tokenizer(tiny_backbone(tmp_path))
    unknown = text.backend.token_to_id("[UNK]")
    pieces = text.encode([*ORDINARY, "Zebras waltz quickly over 36 #@$%^& fjords!"], 128)
    assert unknown not in pieces.flat
    assert text.vocabulary == len((tmp_path / "vocab.txt").read_text().split())
