"""(model, training state) <-> a checkpoint folder that is complete or ignored.

step-000200/ holds weights.safetensors, state.safetensors, state.json, and manifest.json, written last, with the
size and SHA-256 of each. It is written as step-000200.tmp/, synced, and renamed: a name without .tmp is complete.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor, nn

from minbert.durations import parse_duration
from minbert.encoder.pretrained import save_tensors
from minbert.errors import UserError
from minbert.files import replace_folder, sha256, write_json

CHECKPOINT_FORMAT = 3
CHECKPOINT_FILES = ("weights.safetensors", "state.safetensors", "state.json")
# in state.json, stands for the tensor of the same name in state.safetensors
TENSOR_MARK = "__tensor__"


@dataclass(frozen=True)
class CheckpointInterval:
    """When checkpoints are written: every so many steps, or seconds; how many are kept."""

    steps: int | None = None
    seconds: float | None = 600.0
    keep: int = 2

    def __post_init__(self) -> None:
        if self.keep < 1 or (self.steps is not None and self.steps < 1):
            raise ValueError("at least one step, and one checkpoint")

    @staticmethod
    def parse(text: str, keep: int = 2) -> "CheckpointInterval":
        """200: steps; 10m, 90s: minutes, seconds."""
        try:
            if text.strip().isdecimal():
                return CheckpointInterval(int(text), None, keep)
            return CheckpointInterval(None, parse_duration(text), keep)
        except ValueError:
            raise UserError(
                f"--save-every {text}: neither a number of steps nor a time.", "For example: 200, or 10m."
            ) from None

    def due(self, step: int, seconds: float) -> bool:
        return (self.steps is not None and step % self.steps == 0) or (
            self.seconds is not None and seconds >= self.seconds
        )


@dataclass(frozen=True)
class Checkpoint:
    step: int
    weights: dict[str, Tensor]
    state: dict[str, Any]


def save_checkpoint(folder: Path, step: int, model: nn.Module, state: Mapping[str, Any], keep: int) -> None:
    """Write a checkpoint, then remove all but the newest `keep`."""
    place = folder / f"step-{step:06d}"
    aside = place.with_name(place.name + ".tmp")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    tensors: dict[str, Tensor] = {}
    plain = split_tensors(state, "", tensors)
    save_tensors(model.state_dict(), aside / CHECKPOINT_FILES[0])
    save_tensors(tensors, aside / CHECKPOINT_FILES[1])
    (aside / CHECKPOINT_FILES[2]).write_text(json.dumps(plain), encoding="utf-8")
    kept = {name: {"bytes": (aside / name).stat().st_size, "sha256": sha256(aside / name)} for name in CHECKPOINT_FILES}
    write_json(aside / "manifest.json", {"format": CHECKPOINT_FORMAT, "step": step, "files": kept})
    replace_folder(aside, place)
    for _, old in sorted(complete_checkpoints(folder).items())[:-keep]:
        shutil.rmtree(old)


def complete_checkpoints(folder: Path) -> dict[int, Path]:
    """The checkpoints in a folder that were finished, by step."""
    found: dict[int, Path] = {}
    for path in sorted(folder.glob("step-*")):
        # .old: it was being replaced; where its successor is complete, that sorts first
        if match := re.fullmatch(r"step-(\d+)(?:\.old)?", path.name):
            found.setdefault(int(match[1]), path)
    return found


def load_newest_checkpoint(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest intact checkpoint, and a note on each newer one that is ignored."""
    skipped = [f"step {int(path.name[5:-4])} incomplete, ignored" for path in sorted(folder.glob("step-*.tmp"))]
    for step, path in sorted(complete_checkpoints(folder).items(), reverse=True):
        wrong = next(checkpoint_faults(path), None)
        if wrong is not None:
            skipped.append(f"step {step} damaged, ignored: {wrong}")
            continue
        state = json.loads((path / CHECKPOINT_FILES[2]).read_text(encoding="utf-8"))
        weights, tensors = (copy_tensors(path / name) for name in CHECKPOINT_FILES[:2])
        return Checkpoint(step, weights, join_tensors(state, tensors)), skipped
    return None, skipped


def copy_tensors(path: Path) -> dict[str, Tensor]:
    """Copies of a file's tensors: while one is mapped from the file, Windows refuses to remove the file."""
    return {name: tensor.clone() for name, tensor in load_file(path).items()}


def checkpoint_faults(path: Path) -> Iterator[str]:
    """What is wrong with a checkpoint's files."""
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        files = manifest["files"]
    except (OSError, ValueError, KeyError, TypeError):
        yield "manifest.json cannot be read"
        return
    if manifest.get("format") != CHECKPOINT_FORMAT:
        yield f"written by another version of minbert (format {manifest.get('format')})"
        return
    for name in CHECKPOINT_FILES:
        if not (path / name).is_file():
            yield f"{name} is missing"
        elif (path / name).stat().st_size != files[name]["bytes"]:
            yield f"{name} has {(path / name).stat().st_size:,} bytes, not {files[name]['bytes']:,}"
        elif sha256(path / name) != files[name]["sha256"]:
            yield f"{name}: sha256 mismatch"


def split_tensors(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """The value as JSON can hold it; its tensors go into `tensors`, named by their place."""
    if isinstance(value, Tensor):
        # a copy: safetensors refuses tensors that share memory
        tensors[name] = value.detach().cpu().clone().contiguous()
        return TENSOR_MARK
    if isinstance(value, Mapping):
        return {key: split_tensors(item, f"{name}/{key}", tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [split_tensors(item, f"{name}/{i}", tensors) for i, item in enumerate(value)]
    return value


def join_tensors(value: Any, tensors: Mapping[str, Tensor], name: str = "") -> Any:
    """The opposite of split_tensors."""
    if value == TENSOR_MARK:
        return tensors[name]
    if isinstance(value, dict):
        return {key: join_tensors(item, tensors, f"{name}/{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [join_tensors(item, tensors, f"{name}/{i}") for i, item in enumerate(value)]
    return value
