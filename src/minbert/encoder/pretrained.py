"""A model folder in the Hugging Face layout <-> Bert and Tokenizer."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from minbert.data.tokenizer import Tokenizer, read_tokenizer
from minbert.encoder.bert import ACTIVATIONS, Bert, BertConfig, SpecialTokens
from minbert.encoder.dropout import DropoutGenerator
from minbert.encoder.init import empty_weights
from minbert.errors import UserError

EMBEDDING_MODULES = {
    "embeddings.word": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "pooler": "pooler.dense",
}
# our module of a layer -> their modules, whose weights are concatenated
LAYER_MODULES = {
    "attention.qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention.output": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "inner": ("intermediate.dense",),
    "outer": ("output.dense",),
    "norm": ("output.LayerNorm",),
}


def checkpoint_names(config: BertConfig, parameters: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The name of our parameter -> the names of theirs, which are concatenated."""
    modules: dict[str, tuple[str, ...]] = {ours: (theirs,) for ours, theirs in EMBEDDING_MODULES.items()}
    for i in range(config.num_hidden_layers):
        for ours, theirs in LAYER_MODULES.items():
            modules[f"layers.{i}.{ours}"] = tuple(f"encoder.layer.{i}.{name}" for name in theirs)
    table = {}
    for parameter in parameters:
        module, _, kind = parameter.rpartition(".")
        table[parameter] = tuple(f"{name}.{kind}" for name in modules[module])
    return table


def read_config(folder: Path) -> tuple[BertConfig, dict[str, Any]]:
    """The config of a model folder, and its whole config.json."""
    path = folder / "config.json"
    if not path.is_file():
        raise UserError(
            f"{folder}: no config.json, so this is not a model folder.", "`minbert models` lists backbones."
        )
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as wrong:
        raise UserError(f"{path}: not JSON: {wrong}", "Download the file again.") from None
    kind = raw.get("model_type", "bert") if isinstance(raw, dict) else "unknown"
    if kind != "bert":
        raise UserError(
            f"{folder}: a '{kind}' model, not a BERT.",
            'Use a model whose config.json says "model_type": "bert"; `minbert models` lists some.',
        )
    known = {field.name: raw[field.name] for field in fields(BertConfig) if field.name in raw}
    try:
        config = BertConfig(**known)
        check_config(config, raw)
    except (TypeError, ValueError) as wrong:
        raise UserError(f"{path}: {wrong}.", "`minbert models` lists backbones that work.") from None
    return config, raw


def check_config(config: BertConfig, raw: Mapping[str, Any]) -> None:
    for field in fields(BertConfig):
        value, kind = getattr(config, field.name), type(field.default)
        if kind is int and (type(value) is not int or value < 1):
            raise ValueError(f"{field.name} is {value!r}, not an integer above 0")
        if kind is float and not (isinstance(value, int | float) and 0 <= value < 1):
            raise ValueError(f"{field.name} is {value!r}, not a number from 0 to 1")
    if config.hidden_act not in ACTIVATIONS:
        raise ValueError(f"the activation '{config.hidden_act}' is unknown")
    if raw.get("position_embedding_type", "absolute") != "absolute":
        raise ValueError(f"position_embedding_type '{raw['position_embedding_type']}' is not supported")
    if config.hidden_size % config.num_attention_heads:
        raise ValueError(f"hidden_size {config.hidden_size} is not a multiple of {config.num_attention_heads} heads")


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Every tensor of a model folder by its name there, from safetensors (one file or shards) or pytorch_model.bin."""
    path = folder / "model.safetensors.index.json"
    try:
        if path.is_file():
            shards = sorted(set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()))
            tensors: dict[str, Tensor] = {}
            for shard in shards:
                path = folder / Path(shard).name
                tensors.update(load_file(path))
            return tensors
        path = folder / "model.safetensors"
        if path.is_file():
            return load_file(path)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as wrong:
        reason = str(wrong).strip().splitlines()[0] if str(wrong).strip() else type(wrong).__name__
        raise UserError(f"{path}: the weights cannot be read: {reason}", "Download the file again.") from None
    path = folder / "pytorch_model.bin"
    if path.is_file():
        return read_pickle(path)
    raise UserError(
        f"{folder}: no weights: neither model.safetensors nor pytorch_model.bin.", "Download the model again."
    )


def read_pickle(path: Path) -> dict[str, Tensor]:
    """The tensors of a pytorch_model.bin. Reading a pickle can run code; here it cannot."""
    try:
        # weights_only rejects everything but tensors, and there is no fallback
        loaded = torch.load(path, map_location="cpu", weights_only=True)
        return {name: tensor for name, tensor in loaded.items() if isinstance(tensor, Tensor)}
    except Exception:  # a broken or hostile pickle can fail in any way, and torch's message advises to trust it
        raise UserError(
            f"{path}: rejected: it is damaged, or contains more than tensors (reading a pickle can run code).",
            "Download the file again, or a copy of the model with model.safetensors.",
        ) from None


def current_name(name: str) -> str:
    """Old checkpoints have names that start with `bert.`, and gamma and beta for the weight and bias of a norm."""
    name = name.removeprefix("bert.")
    if name.endswith(".gamma"):
        return name.removesuffix("gamma") + "weight"
    if name.endswith(".beta"):
        return name.removesuffix("beta") + "bias"
    return name


def load_bert(
    folder: Path,
    generator: DropoutGenerator | None = None,
    special_tokens: SpecialTokens = SpecialTokens(),  # noqa: B008 (frozen)
) -> Bert:
    """The encoder of a model folder, in fp32. A missing pooler gets random weights."""
    config, _ = read_config(folder)
    theirs = {current_name(name): tensor for name, tensor in read_tensors(folder).items()}
    with empty_weights():
        bert = Bert(config, generator, special_tokens)
    shapes = {name: parameter.shape for name, parameter in bert.named_parameters()}
    ours = {}
    for name, sources in checkpoint_names(config, shapes).items():
        missing = [source for source in sources if source not in theirs]
        if missing and not name.startswith("pooler."):
            raise UserError(
                f"{folder}: not a complete BERT: the tensor '{missing[0]}' is missing.", "Download the model again."
            )
        if missing:
            ours[name] = new_pooler(name, shapes[name])
        else:
            check_shapes(folder, shapes[name], {source: theirs[source] for source in sources})
            ours[name] = torch.cat([theirs[source] for source in sources]).float()
    bert.load_state_dict(ours, assign=True)
    return bert.requires_grad_(True)


def new_pooler(name: str, shape: torch.Size) -> Tensor:
    """The initial weight or bias of a pooler, always the same."""
    zeros = torch.zeros(shape)
    if name != "pooler.weight":
        return zeros
    return torch.nn.init.normal_(zeros, std=0.02, generator=torch.Generator().manual_seed(0))


def check_shapes(folder: Path, shape: torch.Size, sources: Mapping[str, Tensor]) -> None:
    """`shape`: that of the tensors in `sources`, concatenated."""
    rows, *rest = shape
    expected = [rows // len(sources), *rest]
    for name, tensor in sources.items():
        if list(tensor.shape) != expected:
            raise UserError(
                f"{folder}: the tensor '{name}' has the shape {list(tensor.shape)}, but config.json needs {expected}.",
                "The weights and config.json belong to different models: download the model again.",
            )


def load_backbone(folder: Path, generator: DropoutGenerator | None = None) -> tuple[Bert, Tokenizer]:
    """The encoder and the tokenizer of a model folder."""
    # first of all: whether this is a model folder
    read_config(folder)
    tokenizer = load_tokenizer(folder)
    special_tokens = SpecialTokens(tokenizer.cls, tokenizer.sep, tokenizer.mask)
    bert = load_bert(folder, generator, special_tokens)
    if tokenizer.vocabulary > bert.config.vocab_size:
        raise UserError(
            f"{folder}: the tokenizer has {tokenizer.vocabulary} tokens, the weights only {bert.config.vocab_size}.",
            "The tokenizer belongs to another model: download the model again.",
        )
    return bert, tokenizer


def load_tokenizer(folder: Path) -> Tokenizer:
    path = folder / "tokenizer_config.json"
    settings = {}
    if path.is_file():
        try:
            settings = dict(json.loads(path.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as wrong:
            raise UserError(f"{path}: not JSON: {wrong}", "Download the file again.") from None
    return read_tokenizer(folder, bool(settings.get("do_lower_case", True)))


def save_backbone(folder: Path, bert: Bert, tokenizer: Tokenizer) -> None:
    """Write a model folder that transformers loads: config.json, model.safetensors, tokenizer.json."""
    folder.mkdir(parents=True, exist_ok=True)
    config = asdict(bert.config) | {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "pad_token_id": 0,
        "dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    state = bert.state_dict()
    tensors = {}
    for ours, sources in checkpoint_names(bert.config, state).items():
        for source, tensor in zip(sources, state[ours].chunk(len(sources)), strict=True):
            tensors[source] = tensor.detach().cpu().contiguous().clone()
    save_tensors(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(folder)
    # transformers prefers these settings to tokenizer.json: without them it would lowercase everything
    normalizer = json.loads(tokenizer.tokenizer.to_str())["normalizer"] or {}
    settings = {
        "tokenizer_class": "BertTokenizer",
        "model_max_length": bert.config.max_position_embeddings,
        "do_lower_case": normalizer.get("lowercase", True),
        "strip_accents": normalizer.get("strip_accents"),
        "tokenize_chinese_chars": normalizer.get("handle_chinese_chars", True),
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings) + "\n", encoding="utf-8")


def save_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write safetensors; if the disk is full, the error says how much space is needed."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(whole, path, metadata)
    except (OSError, SafetensorError) as wrong:
        needed = sum(tensor.numel() * tensor.element_size() for tensor in whole.values())
        raise UserError(
            f"{path}: could not be written ({needed:,} bytes): {wrong}", "Free some disk space, then try again."
        ) from None
