"""What only trains the encoder: contrastive learning and hidden words, by hand and in a run.

B examples, T tokens, M asked for, D width, V words.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import minbert
from minbert.config.loading import read_recipe
from minbert.config.schema import build_technique
from minbert.config.task import Task
from minbert.data.batch import Batch, encode_texts
from minbert.data.packed import Packed
from minbert.encoder.bert import NO_HOOKS, EncoderHooks, SpecialTokens
from minbert.encoder.dropout import Dropout, DropoutGenerator, dropout_rate
from minbert.errors import UserError
from minbert.model.heads.base import HeadContext
from minbert.model.heads.mlm import MaskedLanguageModelHead
from minbert.model.losses import LOSSES
from minbert.model.pairings.simcse import SimCse
from minbert.runs.events import Evaluated
from tests.tiny import tiny_bert, tiny_tokenizer
from tests.workbench import demo_recipe, run_all

PAIR = Task("same", Path(), kind="classify", text=("a", "b"), label="c", labels=(0, 1))
SCORE = Task("alike", Path(), kind="score", text=("a", "b"), label="c", range=(0.0, 5.0))
FIVE = Task("mood", Path(), kind="classify", text=("a",), label="c", labels=tuple(range(5)))


def at(*degrees: float) -> torch.Tensor:
    """Vectors of length 2 in these directions: lengths must not count."""
    return 2 * torch.tensor([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees])


def softmax_loss(*cosines: float, temperature: float = 0.5) -> float:
    """-log of the softmax at the first place."""
    exponents = [math.exp((cosine - cosines[0]) / temperature) for cosine in cosines]
    return math.log(sum(exponents))


def test_contrastive_is_its_equation() -> None:
    """u at 0 and 90 degrees, v at 10 and 60: cosines .985 and .5, .174 and .866."""
    loss = build_technique(
        "loss", LOSSES, {"name": "contrastive", "positives": "all", "temperature": 0.5}, "test", FIVE
    )
    cos = [math.cos(math.radians(d)) for d in (10, 60, 80, 30)]
    expected = (softmax_loss(cos[0], cos[1]) + softmax_loss(cos[3], cos[2])) / 2
    output = torch.cat([at(0, 90), at(10, 60)], 1)
    assert float(loss(output, torch.zeros(2))) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("task", "labels"), [(PAIR, [1, 0]), (SCORE, [4.2, 3.9])], ids=["labels", "scores"])
def test_only_pairs_that_belong_together_are_pulled_and_the_others_are_wrong_answers(
    task: Task, labels: list[float]
) -> None:
    loss = build_technique("loss", LOSSES, {"name": "contrastive", "temperature": 0.5}, "test", task)
    cos = [math.cos(math.radians(d)) for d in (10, 60)]
    found = loss(torch.cat([at(0, 90), at(10, 60)], 1), torch.tensor(labels))
    assert float(found) == pytest.approx(softmax_loss(*cos), rel=1e-4)


def test_a_batch_without_a_pair_that_belongs_together_teaches_nothing() -> None:
    loss = build_technique("loss", LOSSES, "contrastive", "test", PAIR)
    output = torch.cat([at(0, 90), at(10, 60)], 1).requires_grad_()
    loss(output, torch.tensor([0, 0])).backward()
    assert output.grad is not None and not output.grad.any()


def test_five_labels_do_not_say_what_belongs_together() -> None:
    with pytest.raises(UserError, match='set positives = "all"'):
        build_technique("loss", LOSSES, "contrastive", "test", FIVE)


# ---- hidden words ---------------------------------------------------------------------------------------


def asked(count: int = 40_000, seed: int = 0) -> tuple[Batch, Batch]:
    """A long batch of the words 10 to 49 between marks, before and after it is prepared."""
    bert = tiny_bert(seed)
    bert.special_tokens = SpecialTokens(cls=1, sep=2, mask=3)
    ids_T = torch.arange(count) % 40 + 10
    ids_T[::20], ids_T[19::20] = 1, 2
    packed = Packed(ids_T, torch.zeros_like(ids_T), torch.full((count // 20,), 20))
    batch = Batch("words", packed, None, np.arange(count // 20))
    return batch, MaskedLanguageModelHead(HeadContext(FIVE, bert, 1, 0)).prepare(batch)


def test_fifteen_percent_are_asked_for_and_most_of_them_hidden() -> None:
    before, after = asked()
    assert after.packed.masked_M is not None and after.labels_B is not None
    places_M = after.packed.masked_M
    words = int((before.packed.ids_T >= 10).sum())
    assert len(places_M) / words == pytest.approx(0.15, abs=0.01)
    assert torch.equal(after.labels_B, before.packed.ids_T[places_M])
    assert int(after.labels_B.min()) >= 10, "marks are not asked for"
    seen_M = after.packed.ids_T[places_M]
    same = float((seen_M == after.labels_B).double().mean())
    assert float((seen_M == 3).double().mean()) == pytest.approx(0.8, abs=0.03)
    assert same == pytest.approx(0.1, abs=0.02)
    untouched = torch.ones(len(before.packed.ids_T), dtype=torch.bool).index_fill_(0, places_M, False)
    assert torch.equal(after.packed.ids_T[untouched], before.packed.ids_T[untouched])


def test_even_a_single_word_is_asked_for() -> None:
    for seed in range(20):
        bert = tiny_bert(seed)
        bert.special_tokens = SpecialTokens(1, 2, 3)
        packed = Packed(torch.tensor([1, 30, 2]), torch.zeros(3, dtype=torch.int64), torch.tensor([3]))
        found = MaskedLanguageModelHead(HeadContext(FIVE, bert, 1, 0)).prepare(
            Batch("words", packed, None, np.arange(1))
        )
        assert found.packed.masked_M.tolist() == [1]


def test_guesses_are_made_by_the_encoders_own_word_vectors() -> None:
    bert = tiny_bert()
    head = MaskedLanguageModelHead(HeadContext(FIVE, bert, 1, 0))
    x_MD = torch.randn(3, 32)
    inner_MD = head.norm(torch.nn.functional.gelu(head.dense(x_MD)))
    torch.testing.assert_close(head(x_MD), inner_MD @ bert.embeddings.word.weight.T + head.bias)
    head(x_MD).sum().backward()
    assert bert.embeddings.word.weight.grad is not None
    own = sum(p.numel() for p in head.parameters())
    assert own == 32 * 32 + 32 + 2 * 32 + bert.config.vocab_size


def test_not_knowing_any_word_costs_the_logarithm_of_the_vocabulary() -> None:
    loss = build_technique("loss", LOSSES, "mlm", "test", FIVE)
    assert float(loss(torch.zeros(4, 30522), torch.tensor([0, 1, 2, 3]))) == pytest.approx(math.log(30522), rel=1e-6)


# ---- two passes -----------------------------------------------------------------------------------------


def test_a_text_twice_gives_two_vectors_that_only_dropout_tells_apart(tmp_path: Path) -> None:
    text, bert = tiny_tokenizer(tmp_path), tiny_bert()
    packed = encode_texts(text, (["a good film", "the dog"],), "simcse", 32).pack(np.arange(2))
    first, second = (packed.sequences(torch.arange(4) // 2 == half) for half in (0, 1))
    assert torch.equal(first.ids_T, second.ids_T) and first.lengths_S.tolist() == second.lengths_S.tolist()
    for rates, training in (((), True), ((0.1, 0.5), True), ((), False)):
        pairing = SimCse(bert, FIVE, rates=rates).train(training)
        bert.train(training)
        one_TD, other_TD = pairing.encode(bert, packed, "all", NO_HOOKS).chunk(2)
        assert torch.allclose(one_TD, other_TD, atol=1e-6) != training


def test_each_pass_drops_at_a_rate_of_its_own() -> None:
    generator = DropoutGenerator(0)
    part, still = Dropout(0.1, generator), Dropout(0.0, generator)
    both = torch.nn.ModuleList([part, still])
    with dropout_rate(both, 0.5):
        assert (part.rate, still.rate) == (0.5, 0.0)
    assert part.rate == 0.1


@pytest.mark.parametrize("rate_per", ["pass", "sentence"])
def test_every_pass_or_every_sentence_has_a_dropout_rate_of_its_own(rate_per: Any) -> None:
    """The rate of a sentence shows in how many of its embeddings are 0 after the embeddings' dropout."""
    bert = tiny_bert()
    lengths = torch.full((80,), 30)
    packed = Packed(torch.randint(5, 20, (2400,)), torch.zeros(2400, dtype=torch.int64), lengths)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    class Watch(EncoderHooks):
        def on_embeddings(self, x_TD: torch.Tensor, packed: Packed) -> torch.Tensor:
            seen.append((packed.ids_T, x_TD))
            return x_TD

    pairing = SimCse(bert, FIVE, rates=(0.1, 0.6), rate_per=rate_per)
    bert.train()
    pairing.encode(bert, packed, "all", Watch())
    rates = sorted(round(float(part.eq(0).float().mean()), 1) for _, x_TD in seen for part in x_TD.split(30))
    assert set(rates) <= {0.1, 0.6} and len(rates) == 80
    # by pass each half has one rate, by sentence about half of them have each
    assert rates.count(0.1) in (0, 40, 80) if rate_per == "pass" else 20 < rates.count(0.1) < 60


@pytest.mark.parametrize("reads", ["all", "first"])
def test_sentences_with_their_own_rates_come_back_in_order(reads: Any, tmp_path: Path) -> None:
    text, bert = tiny_tokenizer(tmp_path), tiny_bert()
    texts = ["a good film", "the dog", "a", "good dog runs", "film"]
    packed = encode_texts(text, (texts,), "simcse", 32).pack(np.arange(5))
    pairing = SimCse(bert, FIVE, rates=(1e-9, 2e-9, 3e-9), rate_per="sentence")
    bert.train()
    # at such rates nothing is dropped
    assert torch.allclose(pairing.encode(bert, packed, reads, NO_HOOKS), bert.eval()(packed, reads), atol=1e-6)


# ---- in a run -------------------------------------------------------------------------------------------

WORDS = """
extends = "demo"
[tasks.words]
task = "demo/sentiment"
pooling = "masked_tokens"
head = "mlm"
loss = "mlm"
[tasks.same]
task = "demo/paraphrase"
pairing = "bi_encoder"
pooling = "cls"
head = "vectors"
loss = "contrastive"
[[stages]]
tasks = ["words", "same"]
steps_per_epoch = 4
[[stages]]
tasks = ["sentiment", "paraphrase", "similarity"]
steps_per_epoch = 4
"""


def test_first_words_then_the_tasks(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(WORDS, encoding="utf-8")
    recipe = replace(read_recipe(str(tmp_path / "words.toml"), [f"backbone={tiny}"]))
    events, finished = run_all(recipe, tmp_path / "run")
    assert set(finished.scores) == {"sentiment", "paraphrase", "similarity"}
    model = minbert.load(tmp_path / "run")
    assert set(model.tasks) == set(finished.scores)
    with pytest.raises(UserError, match="no task 'words' that it can predict"):
        model.predict("words", ["a text"])
    assert (tmp_path / "run/predictions/sentiment-dev.csv").is_file()
    assert not (tmp_path / "run/predictions/words-dev.csv").exists()
    assert any(isinstance(event, Evaluated) for event in events)


def test_a_recipe_that_only_trains_keeps_its_last_model(tiny: Path, tmp_path: Path) -> None:
    only = [
        'tasks=["sentiment"]',
        "tasks.sentiment.pooling=masked_tokens",
        "tasks.sentiment.head=mlm",
        "tasks.sentiment.loss=mlm",
    ]
    events, finished = run_all(demo_recipe(tiny, *only, epochs=3, steps=2), tmp_path / "run")
    assert finished.scores == {}
    assert [event.best for event in events if isinstance(event, Evaluated)] == [True, True, True]
