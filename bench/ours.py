"""minbert, used as a user would."""

import contextlib
import io
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import torch

from bench.data import Rows, TaskRows, write_rows
from bench.sizes import BATCH
from minbert import __version__
from minbert.config.loading import read_recipe
from minbert.config.task import read_task, task_from
from minbert.data.dataset import Dataset
from minbert.data.metrics import score
from minbert.data.source import DataSource
from minbert.encoder.bert import Bert, BertConfig
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import load_backbone, read_config, save_backbone
from minbert.inference.predictor import Predictor, load_predictor
from minbert.inference.saved_model import save_model
from minbert.runs.events import Finished
from minbert.runs.run import start_run
from minbert.training.loop import Loop, Step
from minbert.training.prepare import prepare

BACKBONE = "minilm"
STANDARD = ("sst", "sts", "quora")
DEMO = ("demo/sentiment", "demo/similarity", "demo/paraphrase")
# more steps than any measurement takes, so that training does not end
ENDLESS = 1_000_000
VERSION = __version__
COMMAND = [sys.executable, "-m", "minbert"]


def backbone_folder() -> Path:
    return find_backbone(BACKBONE)


def read_standard(data_root: Path) -> dict[str, TaskRows]:
    """SST, STS and Quora if their files exist, otherwise minbert's demo data."""
    there = all((data_root / str(read_task(name).files.train)).is_file() for name in STANDARD)
    found = {}
    for name, spec in zip(STANDARD, STANDARD if there else DEMO, strict=True):
        task, train_rows, dev_rows = DataSource(data_root if there else None).read_splits(read_task(name, spec))
        settings = {key: value for key, value in task.as_settings().items() if key != "files"}
        found[name] = TaskRows(name, settings, task.label_keys, to_rows(train_rows), to_rows(dev_rows))
    return found


def to_rows(dataset: Dataset) -> Rows:
    assert dataset.labels is not None
    return Rows(dataset.texts, dataset.labels)


# ---- training -----------------------------------------------------------------------------------------


def write_recipe(folder: Path, backbone: Path, tasks: Mapping[str, TaskRows], endless: bool = False) -> Path:
    """Write a recipe, its tasks and their data: cross-encoders for pairs, round-robin sampling, one epoch."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, task in tasks.items():
        files = {part: f"{name}-{part}.tsv" for part in ("train", "dev")}
        write_rows(folder / files["train"], task, task.train)
        write_rows(folder / files["dev"], task, task.dev)
        (folder / f"{name}.toml").write_text(tomli_w.dumps(task.settings | {"files": files}), encoding="utf-8")
    stage: dict[str, Any] = {"sampler": "round_robin"}
    recipe = {
        "backbone": str(backbone.resolve()),
        # the vector of [CLS], as in the peer
        "tasks": {name: {"task": f"{name}.toml", "batch_size": BATCH, "pooling": "cls"} for name in tasks},
        "stages": [stage | ({"steps_per_epoch": ENDLESS} if endless else {})],
    }
    path = folder / "recipe.toml"
    path.write_text(tomli_w.dumps(recipe), encoding="utf-8")
    return path


class Training:
    """Trains a recipe one step at a time."""

    def __init__(self, recipe: Path) -> None:
        self.ready = prepare(read_recipe(str(recipe)))
        self.precision = str(self.ready.model.bert.dtype).removeprefix("torch.")
        self._steps = iter(Loop(self.ready.model, self.ready.setup))

    def tokens(self, task: str) -> int:
        """The number of tokens in all training rows of a task."""
        return int(self.ready.train[task].encoded.tokens.sum())

    def step(self) -> Step:
        return next(self._steps)

    def rewind(self) -> None:
        """Start again with the first batch."""
        for loader in self.ready.setup.loaders.values():
            loader.restore({"taken": 0})


def task_of(step: Step) -> str:
    (task,) = step.losses
    return task


def whole_run(recipe: Path, out: Path) -> Finished:
    """Like `minbert train`, without output."""
    *_, last = start_run(read_recipe(str(recipe)), out, force=True)
    assert isinstance(last, Finished)
    return last


def scored(task: TaskRows, predictions: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> dict[str, float]:
    """The scores of predictions on the dev rows."""
    return score(task_from(task.name, Path(), task.settings, "bench"), predictions, task.dev.labels)


# ---- inference ----------------------------------------------------------------------------------------


def embed_file(backbone: Path, source: Path, target: Path) -> None:
    """`minbert embed`: load the model, read the file, write the vectors."""
    from minbert.cli.embed import embed

    with silent():
        embed(str(backbone), source, target, pooling="mean", normalize=True, max_length=256, force=True)


def predict_file(run: Path, task: str, source: Path, target: Path) -> None:
    """`minbert predict` on a file: load the model, read the rows, write the predictions."""
    from minbert.cli.predict import predict

    with silent():
        predict(run, task, input_=source, output=target, force=True)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def untrained_run(recipe: Path, out: Path) -> Path:
    """The untrained model of a recipe, saved as in a run; inference costs the same as with a trained one."""
    ready = prepare(read_recipe(str(recipe)))
    save_model(out / "model", ready.model, ready.tokenizer)
    return out


def predictor(run: Path) -> Predictor:
    return load_predictor(run)


def token_counts(predictor: Predictor, texts: list[str]) -> list[int]:
    """The number of tokens of each text, including special tokens."""
    return [int(length) + 2 for length in predictor.tokenizer.encode(texts, 256).lengths]


def encoder_config(backbone: Path) -> BertConfig:
    return read_config(backbone)[0]


def tiny_backbone(backbone: Path, target: Path) -> Path:
    """A very small random encoder with the real tokenizer, so that the work around the encoder dominates."""
    _, tokenizer = load_backbone(backbone)
    config = BertConfig(num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=64)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        save_backbone(target, Bert(config), tokenizer)
    return target
