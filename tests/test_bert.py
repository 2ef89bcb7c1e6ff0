"""The encoder against transformers' BertModel, in fp32: T tokens, S sequences, L tokens in the longest, D width."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoTokenizer, BertConfig, BertModel

from minbert.data.packed import Packed
from minbert.encoder.bert import ACTIVATIONS, Bert
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import load_bert
from tests.tiny import pack_padded, tiny_bert, tiny_config

CLOSE = 1e-5

# from one word to the 512 tokens that the weights have positions for
SENTENCES = [
    "Yes.",
    "A gorgeous, witty, seductive movie.",
    "The cast is uniformly excellent, but the film itself is merely mildly charming.",
    "How do I read and find my YouTube comments? " * 8,
    "It's slow -- very, very slow. " * 100,
]
PAIRS = [
    ("A man is playing a flute.", "A man is playing the guitar."),
    ("Hi.", "What is the step by step guide to invest in share market in India? " * 6),
    ("Two dogs run across a wide field of grass near the water's edge.", "Dogs."),
]


@pytest.fixture(scope="module")
def minilm() -> tuple[Bert, BertModel, Any]:
    folder = find_backbone("minilm")
    theirs = BertModel.from_pretrained(folder, dtype=torch.float32).eval()
    return load_bert(folder).eval(), theirs, AutoTokenizer.from_pretrained(folder)


def padded(tokenizer: Any, texts: list[Any]) -> dict[str, Tensor]:
    firsts, seconds = texts, None
    if isinstance(texts[0], tuple):
        firsts, seconds = [pair[0] for pair in texts], [pair[1] for pair in texts]
    return dict(tokenizer(firsts, seconds, padding=True, truncation=True, max_length=512, return_tensors="pt").items())


def packed(inputs: dict[str, Tensor]) -> Packed:
    return pack_padded(inputs["input_ids"], inputs["attention_mask"], inputs["token_type_ids"])


def one_by_one(inputs: dict[str, Tensor]) -> list[Packed]:
    """Each sequence as its own batch, made without pack_padded."""
    lengths = inputs["attention_mask"].sum(1).tolist()
    return [
        Packed(ids_L[:length], segments_L[:length], torch.tensor([length]))
        for ids_L, segments_L, length in zip(inputs["input_ids"], inputs["token_type_ids"], lengths, strict=True)
    ]


def together(batches: list[Packed]) -> Packed:
    """Packed sequences end to end."""
    return Packed(
        torch.cat([batch.ids_T for batch in batches]),
        torch.cat([batch.segments_T for batch in batches]),
        torch.cat([batch.lengths_S for batch in batches]),
    )


@torch.no_grad()
def ours(bert: Bert, batch: Packed) -> tuple[Tensor, Tensor]:
    x_TD = bert(batch)
    return x_TD, bert.pool(x_TD, batch)


@torch.no_grad()
def theirs_packed(model: BertModel, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    out = model(**inputs)
    return out.last_hidden_state[inputs["attention_mask"].bool()], out.pooler_output


def assert_close(ours_XD: Tensor, theirs_XD: Tensor) -> None:
    torch.testing.assert_close(ours_XD, theirs_XD, rtol=0, atol=CLOSE)


@pytest.fixture(scope="module", params=[SENTENCES, PAIRS], ids=["sentences", "joined pairs"])
def answered(
    request: pytest.FixtureRequest, minilm: tuple[Bert, BertModel, Any]
) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor]]:
    """Real inputs and what transformers makes of them."""
    _, model, tokenizer = minilm
    inputs = padded(tokenizer, request.param)
    assert bool(inputs["token_type_ids"].any()) == (request.param is PAIRS)
    return inputs, theirs_packed(model, inputs)


@pytest.mark.parametrize("form", ["packed together", "one by one", "padded"])
def test_minilm_gives_the_vectors_of_transformers(
    minilm: tuple[Bert, BertModel, Any],
    answered: tuple[dict[str, Tensor], tuple[Tensor, Tensor]],
    form: str,
) -> None:
    bert = minilm[0]
    inputs, (expected_TD, expected_pool_SD) = answered
    if form == "one by one":
        alone = [ours(bert, batch) for batch in one_by_one(inputs)]
        x_TD, pool_SD = torch.cat([x for x, _ in alone]), torch.cat([pool for _, pool in alone])
    else:
        batch = packed(inputs) if form == "padded" else together(one_by_one(inputs))
        x_TD, pool_SD = ours(bert, batch)
    assert x_TD.dtype == torch.float32
    assert_close(x_TD, expected_TD)
    assert_close(pool_SD, expected_pool_SD)


def test_padding_of_any_width_changes_nothing(minilm: tuple[Bert, BertModel, Any]) -> None:
    bert, _, tokenizer = minilm
    inputs = padded(tokenizer, SENTENCES[:3])
    wide = {name: torch.nn.functional.pad(value, (0, 50)) for name, value in inputs.items()}
    for tight_XD, wide_XD in zip(ours(bert, packed(inputs)), ours(bert, packed(wide)), strict=True):
        assert torch.equal(tight_XD, wide_XD)


def test_companions_in_the_batch_change_nothing(minilm: tuple[Bert, BertModel, Any]) -> None:
    bert, _, tokenizer = minilm
    # a short one first, in the middle and last; companions of its own length (a grid without holes) and not
    me, long, other = one_by_one(padded(tokenizer, [SENTENCES[1], SENTENCES[3], SENTENCES[2]]))
    twin = Packed(me.ids_T.flip(0), me.segments_T, me.lengths_S)
    alone_TD, alone_pool_SD = ours(bert, me)
    for batches, place in [([me, long], 0), ([long, me, other], 1), ([other, long, me], 2), ([twin, me], 1)]:
        batch = together(batches)
        x_TD, pool_SD = ours(bert, batch)
        start = int(batch.starts_S[place])
        assert_close(x_TD[start : start + len(me.ids_T)], alone_TD)
        assert_close(pool_SD[place : place + 1], alone_pool_SD)


def random_model(layers: int, width: int, heads: int, folder: Path, **settings: Any) -> BertModel:
    """transformers' own encoder with random weights, saved to the folder: no norm is 1, no bias is 0."""
    # a small vocabulary: the embeddings are looked up, not multiplied, and would only cost time
    config = BertConfig(
        vocab_size=1000,
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        **settings,
    )
    # transformers draws from the global generator: seeded here, and left as it was
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        model = BertModel(config).eval()
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    model.save_pretrained(folder)
    return model


def random_inputs(vocabulary: int = 1000) -> dict[str, Tensor]:
    """Three padded sequences of 11, 1 and 6 tokens, with segments."""
    lengths_S = torch.tensor([11, 1, 6])
    places_L = torch.arange(11)
    generator = torch.Generator().manual_seed(1)
    mask_SL = (places_L < lengths_S[:, None]).long()
    return {
        "input_ids": torch.randint(vocabulary, (3, 11), generator=generator) * mask_SL,
        "attention_mask": mask_SL,
        "token_type_ids": (places_L >= lengths_S[:, None] // 2).long() * mask_SL,
    }


@pytest.mark.parametrize(
    ("layers", "width", "heads"),
    [
        pytest.param(12, 768, 12, id="base"),
        pytest.param(24, 1024, 16, id="large", marks=pytest.mark.slow),
    ],
)
def test_shapes_of_the_original_berts_give_the_vectors_of_transformers(
    layers: int, width: int, heads: int, tmp_path: Path
) -> None:
    model = random_model(layers, width, heads, tmp_path)
    bert = load_bert(tmp_path).eval()
    # pytest keeps the folders of its last runs, and this file has up to 1.2 GB
    (tmp_path / "model.safetensors").unlink()
    assert (bert.config.num_hidden_layers, bert.config.hidden_size, bert.config.num_attention_heads) == (
        layers,
        width,
        heads,
    )
    inputs = random_inputs()
    expected = theirs_packed(model, inputs)
    for batches in ([packed(inputs)], one_by_one(inputs)):
        results = [ours(bert, batch) for batch in batches]
        for part in (0, 1):
            assert_close(torch.cat([result[part] for result in results]), expected[part])


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_other_settings_of_config_json_are_obeyed(activation: str, tmp_path: Path) -> None:
    # an epsilon that shows: at the default of 1e-12 an ignored setting would pass
    settings = {
        "hidden_act": activation,
        "layer_norm_eps": 0.1,
        "max_position_embeddings": 20,
        "type_vocab_size": 3,
    }
    model = random_model(2, 48, 3, tmp_path, **settings)
    # the activation must show too: the random weights are too small to leave its straight middle
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.intermediate.dense.weight.mul_(50)
    model.save_pretrained(tmp_path)
    bert = load_bert(tmp_path).eval()
    inputs = random_inputs()
    inputs["token_type_ids"] *= 2
    for ours_XD, theirs_XD in zip(ours(bert, packed(inputs)), theirs_packed(model, inputs), strict=True):
        assert_close(ours_XD, theirs_XD)


def test_gradients_are_those_of_transformers(tmp_path: Path) -> None:
    # what is learnt must agree too, not only what is answered; both without dropout
    model = random_model(2, 48, 3, tmp_path)
    bert = load_bert(tmp_path).eval()
    inputs = random_inputs()
    batch = packed(inputs)
    bert.pool(bert(batch), batch).square().sum().backward()
    model(**inputs).pooler_output.square().sum().backward()
    first, attention = model.encoder.layer[0], model.encoder.layer[0].attention
    ours_first = bert.layers[0]
    words_VD, qkv = model.embeddings.word_embeddings.weight, attention.self
    for ours_X, theirs_X in [
        (bert.embeddings.word.weight.grad, words_VD.grad),
        (
            ours_first.attention.qkv.weight.grad,
            torch.cat([qkv.query.weight.grad, qkv.key.weight.grad, qkv.value.weight.grad]),
        ),
        (ours_first.norm.weight.grad, first.output.LayerNorm.weight.grad),
        (bert.pooler.weight.grad, model.pooler.dense.weight.grad),
    ]:
        assert float(theirs_X.abs().max()) > 0.01
        torch.testing.assert_close(ours_X, theirs_X, rtol=1e-4, atol=CLOSE)


def test_training_has_dropout_and_the_same_seed_drops_the_same() -> None:
    batch = packed(random_inputs(tiny_config().vocab_size))
    still_TD, _ = ours(tiny_bert(3).eval(), batch)
    first_TD, _ = ours(tiny_bert(3).train(), batch)
    again_TD, _ = ours(tiny_bert(3).train(), batch)
    assert torch.equal(first_TD, again_TD)
    assert float((first_TD - still_TD).abs().max()) > 0.1
