"""Parts of speech: each piece has the tag of its word, through every layout, batch, training and saved model."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import minbert
from minbert.config.recipe import TaskPlan
from minbert.config.task import Task
from minbert.data.batch import Layout, encode_texts
from minbert.data.packed import Packed
from minbert.data.pos_tags import POS_TAGS, QUOTES, TAGGED_WORD, align, tag_tokens, tagger
from minbert.data.tokenizer import Tokenizer, Tokens
from minbert.errors import UserError
from minbert.inference.ensemble import Member
from minbert.inference.loop import encode_for_task
from minbert.inference.predictor import Predictor
from minbert.inference.saved_model import load_model, save_model
from minbert.model.multitask import Model
from tests.tiny import tiny_bert, tiny_tokenizer
from tests.workbench import demo_recipe, run_all

# a range that cuts off no answer
TASKS = {
    "mood": Task("mood", Path(), kind="score", text=("a",), label="c", range=(-99.0, 99.0)),
    "alike": Task("alike", Path(), kind="score", text=("a", "b"), label="c", range=(-99.0, 99.0)),
}
NOUNS = ["a good film", "the dog runs in the water"]
NO_NOUNS = ["she runs", "it is very good"]


@pytest.fixture
def text(tmp_path: Path) -> Tokenizer:
    return tiny_tokenizer(tmp_path / "text")


def named(ragged: Tokens) -> list[str]:
    """The tags of each row, as words."""
    return [" ".join(POS_TAGS[i] for i in row) for row in np.split(ragged.flat, ragged.offsets[1:-1])]


def model_of(adapters: tuple[str, ...] = ("pos_tags",), **plan: object) -> Model:
    plans = {name: TaskPlan(adapters=adapters, **(plan if name == "alike" else {})) for name in TASKS}
    torch.manual_seed(0)
    return Model(tiny_bert(), TASKS, plans, "test")


def learned(model: Model, tag: str = "NOUN") -> Model:
    """As if it had learned something about one tag."""
    for name in TASKS:
        (adapter,) = model.task(name).adapters
        with torch.no_grad():
            adapter.tag.weight[POS_TAGS.index(tag)] = torch.linspace(-1, 1, 32)
    return model.eval()


def scores(model: Model, text: Tokenizer, task: str, rows: list[object]) -> list[float | None]:
    return [answer.score for answer in Predictor([Member.with_all_tasks(model, text)]).predict(task, rows)]  # type: ignore[arg-type]


# ---- each piece has the tag of its word -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "pieces", "tags"),
    [
        ("The dog runs.", "the dog runs .", "DET NOUN VERB PUNCT"),
        # one word, two pieces
        ("a playful cat", "a play ##ful cat", "DET ADJ ADJ NOUN"),
        # two words, is and n't, where the tokenizer sees three: isn, ' and t
        ("A good film, isn't it?", "a good film , is ##n ' t it ?", "DET ADJ NOUN PUNCT AUX PART PART PART PRON PUNCT"),
        # one word where it sees many
        ("a 3.5-year story", "a 3 . 5 - year story", "DET NUM NUM NUM PUNCT NOUN NOUN"),
        ("She is in the U.S. now", "she is in the u . s . no ##w", "PRON AUX ADP DET PROPN PROPN PROPN PROPN ADV ADV"),
        ("I love it 😀!!", "i love it [UNK] ! !", "PRON VERB PRON SYM PUNCT PUNCT"),
        ("no-one can see 50%", "no - one can see 5 ##0 %", "PRON PRON PRON AUX VERB NUM NUM SYM"),
        # half a surrogate pair, and a whole one: the tokenizer sees fewer characters than are here
        ("\ud83d the \ud83d\ude00 dog", "the [UNK] dog", "DET SYM NOUN"),
        ("", "", ""),
        (" \t", "", ""),
    ],
)
def test_a_piece_has_the_tag_of_its_word(text: Tokenizer, sentence: str, pieces: str, tags: str) -> None:
    found = text.encode([sentence], 32).flat
    assert " ".join(text.backend.id_to_token(i) for i in found) == pieces
    assert named(tag_tokens(text, [sentence], 32)) == [tags]


def test_the_space_before_a_word_may_belong_to_its_piece() -> None:
    """As in tokenizers that work on bytes."""
    assert [POS_TAGS[i] for i in align("the dog runs", [(0, 3), (3, 7), (7, 12)], 8)] == ["DET", "NOUN", "VERB"]


def test_words_are_split_as_the_tagger_learned_them() -> None:
    sentence = "He can’t, cannot & won't; O'Brien's well-known 2nd U.S. film isn't 3.5... it'd"
    words = [word[0] for word in TAGGED_WORD.finditer(sentence.translate(QUOTES))]
    assert " ".join(words) == "He ca n't , can not & wo n't ; O'Brien 's well-known 2nd U.S. film is n't 3.5 ... it 'd"


def test_the_search_finds_what_hanta_itself_finds() -> None:
    """Known words, unknown ones, capitals, and words in an order that nobody would write."""
    draw = np.random.default_rng(0)
    words = "The dog runs Blorgs frumiously in Mumbai , n't 's 1990s 😀 x re-zorped I What to that ! her left"
    for _ in range(200):
        sentence = draw.choice(words.split(), draw.integers(1, 12)).tolist()
        found = [tagger().model.int2tag[number] for number in tagger().search(sentence)]
        assert found == tagger().model.tag_sent(sentence, taglevel=0)


def test_very_long_words_and_texts_cost_little(text: Tokenizer) -> None:
    """Unknown words take time with the square of their length; of a long text only the kept pieces are looked at."""
    assert len(tag_tokens(text, ["x" * 30_000], 8).flat) == 1
    assert named(tag_tokens(text, ["the dog runs" + " cat" * 5000], 3)) == ["DET NOUN VERB" + " none" * 5000]
    assert len(tag_tokens(text, [], 8)) == 0


# ---- through the layouts ---------------------------------------------------------------------------------

FIRST, SECOND = "the good dog runs in the water", "a cat"


@pytest.mark.parametrize(
    ("layout", "ids", "tags"),
    [
        # 7 pieces for both texts: the longer one is cut to 5
        (
            "cross_encoder",
            ["[CLS] the good dog runs in [SEP] a cat [SEP]"],
            ["none DET ADJ NOUN VERB ADP none DET NOUN none"],
        ),
        (
            "both_orders",
            ["[CLS] the good dog runs in [SEP] a cat [SEP]", "[CLS] a cat [SEP] the good dog runs in [SEP]"],
            ["none DET ADJ NOUN VERB ADP none DET NOUN none", "none DET NOUN none DET ADJ NOUN VERB ADP none"],
        ),
        (
            "bi_encoder",
            ["[CLS] the good dog runs in the water [SEP]", "[CLS] a cat [SEP]"],
            ["none DET ADJ NOUN VERB ADP DET NOUN none", "none DET NOUN none"],
        ),
        (
            "simcse",
            ["[CLS] the good dog runs in the water [SEP]"] * 2,
            ["none DET ADJ NOUN VERB ADP DET NOUN none"] * 2,
        ),
    ],
)
def test_tags_go_where_their_tokens_go(text: Tokenizer, layout: Layout, ids: list[str], tags: list[str]) -> None:
    sequences = encode_texts(text, ([FIRST, "no"], [SECOND, "yes"]), layout, 10, tag_tokens)
    packed = sequences.take(np.array([1, 0])).pack(np.array([1]))
    words = " ".join(text.backend.id_to_token(int(i)) for i in packed.ids_T)
    assert words == " ".join(ids)
    assert packed.tags_T is not None and packed.tags_T.dtype == torch.int64
    assert " ".join(POS_TAGS[i] for i in packed.tags_T) == " ".join(tags)


def test_tags_stay_with_the_tokens_of_a_part_and_of_the_first_places() -> None:
    tags_T = torch.tensor([0, 5, 0, 0, 7, 8, 0])
    packed = Packed(torch.arange(7), torch.zeros(7, dtype=torch.int64), torch.tensor([3, 4]), tags_T=tags_T)
    first, second = (packed.sequences(torch.tensor(chosen)) for chosen in ([True, False], [False, True]))
    assert first.tags_T is not None and second.tags_T is not None and packed.firsts.tags_T is not None
    assert [first.tags_T.tolist(), second.tags_T.tolist()] == [[0, 5, 0], [0, 7, 8, 0]]
    assert packed.firsts.tags_T.tolist() == [0, 0]
    moved = packed.to(torch.device("meta")).tags_T
    assert moved is not None and moved.device.type == "meta"


def test_who_does_not_want_tags_gets_none(text: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a plain task need the extra."""
    monkeypatch.setitem(sys.modules, "HanTa", None)
    sequences = encode_for_task(model_of(()), "alike", text, (NOUNS, NO_NOUNS))
    assert sequences.tags == () and sequences.pack(np.array([0])).tags_T is None


# ---- in a model ------------------------------------------------------------------------------------------


def test_a_tags_row_is_added_to_what_the_embeddings_give() -> None:
    (adapter,) = model_of().task("mood").adapters
    assert isinstance(adapter.tag, nn.Embedding) and not adapter.tag.weight.any()
    with torch.no_grad():
        adapter.tag.weight[8] = 0.5
        adapter.tag.weight[16] = -2.0
    packed = Packed(torch.arange(4), torch.zeros(4).long(), torch.tensor([4]), tags_T=torch.tensor([0, 8, 16, 0]))
    x_TD = adapter.on_embeddings(torch.ones(4, 32), packed)
    assert x_TD[:, 0].tolist() == [1, 1.5, -1, 1] and torch.equal(x_TD[:, :1].expand(4, 32), x_TD)


@pytest.mark.parametrize("plan", [{}, {"pairing": "bi_encoder"}, {"symmetric": True}], ids=str)
def test_only_texts_with_that_part_of_speech_are_answered_otherwise(text: Tokenizer, plan: dict[str, object]) -> None:
    plain, fresh = model_of((), **plan), model_of(**plan)
    fresh.load_state_dict(plain.state_dict(), strict=False)
    pairs: list[object] = [*zip(NO_NOUNS, NO_NOUNS[::-1], strict=True), *zip(NO_NOUNS, NOUNS, strict=True)]
    before = scores(fresh, text, "alike", pairs)
    assert before == pytest.approx(scores(plain, text, "alike", pairs), abs=1e-5)
    after = scores(learned(fresh), text, "alike", pairs)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False, False]


@pytest.mark.parametrize("task", TASKS)
def test_answers_alone_among_others_and_after_saving_agree(text: Tokenizer, task: str, tmp_path: Path) -> None:
    model = learned(model_of())
    singles: list[object] = [*NOUNS, *NO_NOUNS, "", "I love it 😀!", "two men, isn't it?"]
    rows = singles if task == "mood" else [(row, NOUNS[1]) for row in singles]
    together = scores(model, text, task, rows)
    assert [scores(model, text, task, [row])[0] for row in rows] == pytest.approx(together, abs=1e-5)
    save_model(tmp_path / "model", model, text)
    again, _ = load_model(tmp_path, "fp32")
    assert scores(again, text, task, rows) == together


def test_tags_are_learned_in_a_run(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, 'defaults.adapters=["pos_tags"]')
    run_all(recipe, tmp_path / "run")
    predictor = minbert.load(tmp_path / "run")
    for part in predictor.model.tasks.values():
        (adapter,) = part.adapters
        assert adapter.tag.weight[POS_TAGS.index("NOUN")].any()
        assert not adapter.tag.weight[POS_TAGS.index("X")].any(), "no demo text has a word without a part of speech"
    assert predictor.predict("sentiment", ["A good film."])[0].label


def test_without_the_extra_a_recipe_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "HanTa", None)
    with pytest.raises(UserError) as caught:
        model_of()
    assert str(caught.value) == ("test: task 'mood': adapter 'pos_tags': needs the extra: pip install 'minbert[tags]'")
