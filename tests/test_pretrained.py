"""Model folders in the Hugging Face layout: all the ways they are written, and all the ways they are broken."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from minbert.data.batch import encode_texts
from minbert.data.packed import Packed
from minbert.data.tokenizer import Tokenizer, wordpiece_tokenizer
from minbert.encoder.bert import Bert
from minbert.encoder.pretrained import load_backbone, load_bert, save_backbone
from minbert.errors import UserError
from tests.tiny import SPECIAL, pack_padded, tiny_backbone, tiny_bert

TEXTS = ["A good film.", "The dogs aren't playing with 3 cats, are they?", "yes", "Écoutez ; 日本 [SEP] ok"]
GTE = Path(__file__).parents[2] / "shared" / "weights" / "gte-small"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_backbone(tmp_path / "tiny", seed=1)


def batch() -> Packed:
    ids_T = torch.tensor([2, 120, 130, 3, 2, 140, 3, 150, 160, 3])
    return Packed(ids_T, torch.tensor([0] * 7 + [1] * 3), torch.tensor([4, 6]))


@torch.no_grad()
def vectors(bert: Bert) -> tuple[Tensor, Tensor]:
    bert.eval()
    x_TD = bert(batch())
    return x_TD, bert.pool(x_TD, batch())


def assert_same_model(bert: Bert, other: Bert) -> None:
    for ours, theirs in zip(vectors(bert), vectors(other), strict=True):
        assert torch.equal(ours, theirs)


def tensors(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def rewrite(folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> None:
    save_file(change(tensors(folder)), folder / "model.safetensors")


def set_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def old_name(name: str) -> str:
    """The names of 2018: gamma and beta for a norm's weight and bias."""
    return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


RENAMES: dict[str, Callable[[str], str]] = {
    "plain": lambda name: name,
    "with bert.": lambda name: f"bert.{name}",
    "gamma and beta": old_name,
    "with bert., gamma and beta": lambda name: f"bert.{old_name(name)}",
}


@pytest.mark.parametrize("rename", RENAMES.values(), ids=RENAMES)
@pytest.mark.parametrize("form", ["safetensors", "shards", "pickle"])
def test_all_file_forms_and_names_give_the_same_model(folder: Path, form: str, rename: Callable[[str], str]) -> None:
    expected = load_bert(folder)
    named = {rename(name): tensor for name, tensor in tensors(folder).items()}
    (folder / "model.safetensors").unlink()
    if form == "safetensors":
        save_file(named, folder / "model.safetensors")
    elif form == "pickle":
        torch.save(named, folder / "pytorch_model.bin")
    else:
        # dealt out so that the query, key and value that become one tensor here lie in different shards
        shards = {f"model-{i + 1:05}-of-00003.safetensors": sorted(named)[i::3] for i in range(3)}
        for shard, names in shards.items():
            save_file({name: named[name] for name in names}, folder / shard)
        weight_map = {name: shard for shard, names in shards.items() for name in names}
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map})
        )
    assert_same_model(load_bert(folder), expected)


def test_safetensors_are_preferred_to_a_pickle(folder: Path) -> None:
    expected = load_bert(folder)
    torch.save({name: tensor + 1 for name, tensor in tensors(folder).items()}, folder / "pytorch_model.bin")
    assert_same_model(load_bert(folder), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_other_precisions_become_fp32(folder: Path, dtype: torch.dtype) -> None:
    rewrite(folder, lambda named: {name: tensor.to(dtype) for name, tensor in named.items()})
    bert = load_bert(folder)
    assert {parameter.dtype for parameter in bert.parameters()} == {torch.float32}
    stored = tensors(folder)["encoder.layer.1.output.dense.weight"]
    assert torch.equal(bert.layers[1].outer.weight, stored.float())


def test_every_loaded_parameter_can_learn(folder: Path) -> None:
    bert = load_bert(folder)
    bert.pool(bert(batch()), batch()).sum().backward()
    assert all(parameter.requires_grad and parameter.grad is not None for parameter in bert.parameters())
    assert {parameter.device.type for parameter in bert.parameters()} == {"cpu"}


def test_a_missing_pooler_is_accepted_and_always_the_same(folder: Path) -> None:
    expected_TD, _ = vectors(load_bert(folder))
    rewrite(folder, lambda named: {n: tensor for n, tensor in named.items() if not n.startswith("pooler")})
    first, again = load_bert(folder), load_bert(folder)
    assert torch.equal(vectors(first)[0], expected_TD)
    assert torch.equal(first.pooler.weight, again.pooler.weight)
    # fresh weights of BERT's own kind
    assert 0.015 < float(first.pooler.weight.detach().std()) < 0.025
    assert not first.pooler.bias.any()


def test_heads_and_buffers_of_other_trainings_are_ignored(folder: Path) -> None:
    expected = load_bert(folder)
    extra = {
        "cls.predictions.bias": torch.ones(5),
        "cls.predictions.transform.LayerNorm.gamma": torch.ones(32),
        "cls.seq_relationship.weight": torch.ones(2, 32),
        "classifier.weight": torch.ones(3, 32),
        "bert.embeddings.position_ids": torch.arange(128)[None],
    }
    rewrite(folder, lambda named: {f"bert.{name}": tensor for name, tensor in named.items()} | extra)
    assert_same_model(load_bert(folder), expected)


def refusal(folder: Path) -> UserError:
    """The error of loading a broken folder: one sentence with the folder's name, and a next step."""
    with pytest.raises(UserError) as wrong:
        load_backbone(folder)
    error = wrong.value
    assert str(folder) in error.problem
    assert "\n" not in error.problem
    assert len(error.problem) - len(str(folder)) < 200
    assert error.next_step
    assert "\n" not in error.next_step
    return error


@pytest.mark.parametrize(
    "name",
    [
        "embeddings.word_embeddings.weight",
        "embeddings.LayerNorm.bias",
        "encoder.layer.1.attention.self.key.weight",
        "encoder.layer.0.output.dense.bias",
    ],
)
def test_a_missing_tensor_is_named(folder: Path, name: str) -> None:
    rewrite(folder, lambda named: {other: tensor for other, tensor in named.items() if other != name})
    assert f"'{name}' is missing" in refusal(folder).problem


@pytest.mark.parametrize(
    ("name", "shape", "wanted"),
    [
        ("encoder.layer.0.intermediate.dense.weight", (63, 32), "[64, 32]"),
        ("embeddings.position_embeddings.weight", (64, 32), "[128, 32]"),
        ("encoder.layer.1.attention.self.key.weight", (32, 31), "[32, 32]"),
        ("encoder.layer.1.attention.self.query.bias", (), "[32]"),
        ("pooler.dense.weight", (32,), "[32, 32]"),
    ],
)
def test_a_tensor_of_a_wrong_shape_is_named(folder: Path, name: str, shape: tuple[int, ...], wanted: str) -> None:
    rewrite(folder, lambda named: named | {name: torch.zeros(shape)})
    problem = refusal(folder).problem
    assert f"'{name}'" in problem
    assert str(list(shape)) in problem
    assert wanted in problem


def test_query_and_key_may_not_make_up_for_each_other(folder: Path) -> None:
    # 40 + 24 + 32 rows are as many as 3 x 32: the sum fits, the parts do not
    layer = "encoder.layer.0.attention.self"
    wrong = {f"{layer}.query.weight": torch.zeros(40, 32), f"{layer}.key.weight": torch.zeros(24, 32)}
    rewrite(folder, lambda named: named | wrong)
    assert f"'{layer}.query.weight'" in refusal(folder).problem


def test_another_architecture_is_refused(folder: Path) -> None:
    set_config(folder, model_type="roberta")
    error = refusal(folder)
    assert "'roberta' model, not a BERT" in error.problem
    assert "model_type" in error.next_step


def test_an_old_config_without_model_type_is_a_bert(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    del config["model_type"]
    (folder / "config.json").write_text(json.dumps(config))
    load_bert(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_act": "swish_of_tomorrow"},
        {"position_embedding_type": "relative_key"},
        {"num_attention_heads": 5},
        {"num_attention_heads": 0},
        {"num_hidden_layers": "two"},
        {"hidden_size": None},
        {"vocab_size": -1},
        {"hidden_dropout_prob": 1.5},
        {"layer_norm_eps": "small"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_impossible_setting_of_config_json_is_named(folder: Path, change: dict[str, Any]) -> None:
    set_config(folder, **change)
    ((name, value),) = change.items()
    problem = refusal(folder).problem
    assert "config.json" in problem
    assert name in problem or str(value) in problem


@pytest.mark.parametrize("content", ["{", "", "[1, 2]", "null", '"bert"'])
def test_a_config_json_of_no_use_is_refused(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    refusal(folder)


def test_a_folder_without_config_json_is_no_model(tmp_path: Path) -> None:
    assert "no config.json" in refusal(tmp_path).problem
    assert "no config.json" in refusal(tmp_path / "missing").problem


def test_a_folder_without_weights_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert "no weights" in refusal(folder).problem


def test_a_tokenizer_of_a_larger_model_is_refused(folder: Path) -> None:
    words = [f"w{i}" for i in range(1000)]
    (folder / "vocab.txt").write_text("\n".join(SPECIAL + words))
    (folder / "tokenizer.json").unlink()
    assert "the tokenizer has 1005 tokens" in refusal(folder).problem


@pytest.mark.parametrize("cut", [0, 5, 1000, -1])
def test_a_cut_off_safetensors_file_is_refused(folder: Path, cut: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    error = refusal(folder)
    assert "model.safetensors" in error.problem
    assert "again" in error.next_step


# what a failed or clumsy download leaves in the place of the weights
NO_WEIGHTS = {
    "web page": b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
    "lfs pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 90868376\n",
    "zeros": bytes(4096),
    "nothing": b"",
    "end of a pickle": b"\x80\x02.",
}


@pytest.mark.parametrize("content", NO_WEIGHTS.values(), ids=NO_WEIGHTS)
@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_something_else_in_the_place_of_weights_is_refused(folder: Path, name: str, content: bytes) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(content)
    assert name in refusal(folder).problem


@pytest.mark.parametrize("content", ["{", "{}", '{"weight_map": ["a"]}', '{"weight_map": {"a": 1}}'])
def test_a_broken_index_of_shards_is_refused(folder: Path, content: str) -> None:
    (folder / "model.safetensors.index.json").write_text(content)
    assert "model.safetensors.index.json" in refusal(folder).problem


def test_a_missing_shard_is_named(folder: Path) -> None:
    shard = "model-00001-of-00002.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    assert shard in refusal(folder).problem


def test_an_index_cannot_point_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    shutil.move(folder / "model.safetensors", tmp_path / "elsewhere.safetensors")
    weight_map = dict.fromkeys(tensors_of(tmp_path / "elsewhere.safetensors"), "../elsewhere.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    refusal(folder)


def tensors_of(path: Path) -> list[str]:
    return sorted(load_file(path))


class Payload:
    """A pickle of this runs a command when it is read in full."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.proof,)


@pytest.mark.parametrize("form", ["plain pickle", "zip of torch.save", "hidden beside real tensors"])
def test_a_malicious_pickle_is_refused_and_its_payload_is_not_run(folder: Path, form: str, tmp_path: Path) -> None:
    proof = tmp_path / "the payload ran"
    path = folder / "pytorch_model.bin"
    named: dict[str, Any] = dict(tensors(folder))
    (folder / "model.safetensors").unlink()
    if form == "plain pickle":
        path.write_bytes(pickle.dumps(Payload(proof), protocol=2))
    elif form == "zip of torch.save":
        torch.save(Payload(proof), path)
    else:
        torch.save(named | {"extra": Payload(proof)}, path)
    # the payload is real: an ordinary read would run it
    if form == "plain pickle":
        pickle.loads(path.read_bytes())
    else:
        torch.load(path, weights_only=False)
    assert proof.exists()
    proof.unlink()

    error = refusal(folder)
    assert not proof.exists()
    assert "pytorch_model.bin" in error.problem
    assert "model.safetensors" in error.next_step
    # torch's own message advises to switch the protection off
    assert "weights_only" not in str(error)


def test_a_pickle_that_is_no_table_of_tensors_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save([torch.ones(3)], folder / "pytorch_model.bin")
    assert "pytorch_model.bin" in refusal(folder).problem


def test_saved_and_loaded_again_is_exactly_the_same(folder: Path, tmp_path: Path) -> None:
    bert, text = load_backbone(folder)
    save_backbone(tmp_path / "copy" / "deeper", bert, text)
    again, text_again = load_backbone(tmp_path / "copy" / "deeper")
    assert again.config == bert.config
    state, state_again = bert.state_dict(), again.state_dict()
    assert state.keys() == state_again.keys()
    assert all(torch.equal(state[name], state_again[name]) for name in state)
    assert text_again.encode(TEXTS, 64).flat.tolist() == text.encode(TEXTS, 64).flat.tolist()


def assert_transformers_agrees(folder: Path, bert: Bert, text: Tokenizer) -> None:
    """AutoModel and AutoTokenizer on the folder: the same ids, and the same vectors to 1e-5."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    # a pooler that is not in the file would be made up, with a warning only
    model, report = AutoModel.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    firsts, seconds = TEXTS, TEXTS[::-1]
    inputs = tokenizer(firsts, seconds, padding=True, return_tensors="pt")
    packed = pack_padded(inputs["input_ids"], inputs["attention_mask"], inputs["token_type_ids"])
    ours = encode_texts(text, (firsts, seconds), "cross_encoder", 128).pack(torch.arange(len(TEXTS)).numpy())
    assert torch.equal(packed.ids_T, ours.ids_T)
    assert torch.equal(packed.segments_T, ours.segments_T)
    with torch.no_grad():
        theirs = model.eval()(**inputs)
        x_TD = bert.eval()(ours)
    expected_TD = theirs.last_hidden_state[inputs["attention_mask"].bool()]
    torch.testing.assert_close(x_TD, expected_TD, rtol=0, atol=1e-5)
    torch.testing.assert_close(bert.pool(x_TD, ours), theirs.pooler_output, rtol=0, atol=1e-5)


def test_transformers_loads_what_is_saved(tmp_path: Path) -> None:
    folder = tiny_backbone(tmp_path)
    # as most users will have it: tokenizer.json alone
    (folder / "vocab.txt").unlink()
    assert_transformers_agrees(folder, *load_backbone(folder))


def test_transformers_keeps_the_case_that_a_saved_model_keeps(tmp_path: Path) -> None:
    letters = [chr(code) for code in range(33, 127)]
    vocabulary = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), "É", "日"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    text = Tokenizer(wordpiece_tokenizer(tmp_path / "vocab.txt", lowercase=False))
    save_backbone(tmp_path / "cased", tiny_bert(), text)
    bert, text = load_backbone(tmp_path / "cased")
    assert text.encode(["A"], 8).flat.tolist() != text.encode(["a"], 8).flat.tolist()
    assert_transformers_agrees(tmp_path / "cased", bert, text)


def test_a_saved_tokenizer_adds_its_special_tokens_by_itself(tmp_path: Path) -> None:
    # other libraries read tokenizer.json alone and believe its template
    folder = tiny_backbone(tmp_path)
    _, text = load_backbone(folder)
    encoding = text.tokenizer.encode("a dog", "a cat")
    assert encoding.tokens == ["[CLS]", "a", "dog", "[SEP]", "a", "cat", "[SEP]"]
    assert encoding.type_ids == [0, 0, 0, 0, 1, 1, 1]


@pytest.mark.skipif(not GTE.is_dir(), reason=f"the weights of gte-small are not in {GTE}")
def test_gte_small_as_published_gives_the_vectors_of_transformers(tmp_path: Path) -> None:
    # fp16 and without a pooler, as it lies on the hub
    bert, text = load_backbone(GTE)
    assert {parameter.dtype for parameter in bert.parameters()} == {torch.float32}
    model = AutoModel.from_pretrained(GTE, dtype=torch.float32, add_pooling_layer=False).eval()
    tokenizer = AutoTokenizer.from_pretrained(GTE)
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    ours = encode_texts(text, (TEXTS,), "cross_encoder", 128).pack(torch.arange(len(TEXTS)).numpy())
    mask_SL = inputs["attention_mask"].bool()
    assert torch.equal(inputs["input_ids"][mask_SL], ours.ids_T)
    with torch.no_grad():
        expected_TD = model(**inputs).last_hidden_state[mask_SL]
        x_TD = bert.eval()(ours)
    torch.testing.assert_close(x_TD, expected_TD, rtol=0, atol=1e-5)
    # and what we save of it is whole: transformers has nothing to make up
    save_backbone(tmp_path / "saved", bert, text)
    assert_transformers_agrees(tmp_path / "saved", bert, text)
