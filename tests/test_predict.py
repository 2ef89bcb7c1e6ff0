"""minbert.load: predictions and vectors from Python."""

from pathlib import Path

import numpy as np
import pytest
import torch

import minbert
from minbert.errors import UserError
from minbert.inference.embedder import Embedder, load_encoder
from minbert.inference.predictor import Predictor
from tests.workbench import demo_recipe, run_all


@pytest.fixture(scope="module")
def run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    recipe = demo_recipe(tiny, "tasks.similarity.pairing=bi_encoder", "tasks.similarity.head=cosine", steps=30)
    run_all(recipe, run)
    return run


@pytest.fixture(scope="module")
def model(run: Path) -> Predictor:
    return minbert.load(run, "fp32")


TEXTS = ["Short.", "A much longer text, with many more words than the short one has.", "Ünïcödé 🎈", "", "x" * 5000]


def test_alone_or_together_the_predictions_are_the_same(model: Predictor) -> None:
    together = model.predict("sentiment", TEXTS)
    for text, prediction in zip(TEXTS, together, strict=True):
        [alone] = model.predict("sentiment", [text])
        assert alone.label == prediction.label
        assert alone.probabilities == pytest.approx(prediction.probabilities, abs=1e-5)


def test_pairs_are_predicted_in_the_order_given(model: Predictor) -> None:
    pairs = [(a, b) for a in TEXTS for b in TEXTS]
    together = [prediction.score for prediction in model.predict("similarity", pairs)]
    alone = [model.predict("similarity", [pair])[0].score for pair in pairs]
    assert together == pytest.approx(alone, abs=1e-4)
    # a cosine of two separate vectors does not mind their order
    assert together == pytest.approx(
        [a.score for a in model.predict("similarity", [(b, a) for a, b in pairs])], abs=1e-4
    )
    # and that of a text with itself is the highest score
    assert model.predict("similarity", [(TEXTS[1], TEXTS[1])])[0].score == pytest.approx(5, abs=1e-4)


def test_in_bf16_the_labels_stay_and_scores_differ_in_the_third_digit(run: Path, model: Predictor) -> None:
    rough = minbert.load(run, "bf16")
    assert rough.model.bert.pooler.weight.dtype == torch.bfloat16
    ours, theirs = rough.predict("sentiment", TEXTS), model.predict("sentiment", TEXTS)
    assert [prediction.label for prediction in ours] == [prediction.label for prediction in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.probabilities == pytest.approx(other.probabilities, abs=5e-3)
    alone = [rough.predict("sentiment", [text])[0].label for text in TEXTS]
    assert alone == [prediction.label for prediction in ours]
    vectors = rough.embed(TEXTS, normalize=True)
    assert vectors.dtype == np.float32
    assert ((vectors * model.embed(TEXTS, normalize=True)).sum(1) > 0.999).all()


def test_labels_are_what_people_read(model: Predictor) -> None:
    [prediction] = model.predict("sentiment", ["A fine day."])
    assert list(prediction.probabilities or ()) == ["very negative", "negative", "neutral", "positive", "very positive"]
    assert model.tasks["paraphrase"].display_labels == ("different", "duplicate")


def test_no_texts_no_predictions(model: Predictor) -> None:
    assert model.predict("sentiment", []) == []
    assert model.predict("similarity", []) == []
    assert model.embed([]).shape == (0, 32)


def test_any_iterable_will_do(model: Predictor) -> None:
    texts = ["One.", "Two."]
    assert model.predict("sentiment", iter(texts)) == model.predict("sentiment", texts)  # type: ignore[arg-type]
    assert model.embed(text for text in texts).shape == (2, 32)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="reads one text"):
        model.predict("sentiment", [None])  # type: ignore[list-item]


def test_wrong_shapes_are_refused_by_name(model: Predictor) -> None:
    with pytest.raises(UserError, match="list of texts"):
        model.predict("sentiment", "one text")
    with pytest.raises(UserError, match="reads a pair of texts"):
        model.predict("paraphrase", ["alone"])
    with pytest.raises(UserError, match="reads one text"):
        model.predict("sentiment", [("a", "b")])
    with pytest.raises(UserError, match="Did you mean 'sentiment'"):
        model.predict("sentimant", ["a"])


def test_vectors_are_means_over_tokens_whatever_the_batch(model: Predictor) -> None:
    together = model.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(model.embed([text])[0], vector, atol=1e-5)
    assert not np.allclose(model.embed(TEXTS, pooling="cls"), together)


def test_a_backbone_embeds_without_a_run(tiny: Path, model: Predictor) -> None:
    vectors = Embedder(*load_encoder(str(tiny))).embed(["One."])
    assert vectors.any() and not np.allclose(vectors, model.embed(["One."]))
