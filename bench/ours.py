"""minbert as its users use it. Nothing else in this folder imports it."""

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
from minbert.data.dataset import Dataset, read_split
from minbert.data.metrics import score
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
# more steps than anyone will take: a training that is stepped from outside does not end by itself
ENDLESS = 1_000_000
VERSION = __version__
COMMAND = [sys.executable, "-m", "minbert"]


def backbone_folder() -> Path:
    return find_backbone(BACKBONE)


def read_standard(data_root: Path) -> dict[str, TaskRows]:
    """SST, STS and Quora where their files are, else the small data sets that minbert carries."""
    there = all((data_root / str(read_task(name).files.train)).is_file() for name in STANDARD)
    found = {}
    for name, spec in zip(STANDARD, STANDARD if there else DEMO, strict=True):
        task, train_rows, dev_rows = read_split(read_task(name, spec), data_root if there else None)
        settings = {key: value for key, value in task.as_settings().items() if key != "files"}
        found[name] = TaskRows(name, settings, task.label_keys, plain(train_rows), plain(dev_rows))
    return found


def plain(examples: Dataset) -> Rows:
    assert examples.labels is not None
    return Rows(examples.texts, examples.labels)


# ---- learning -----------------------------------------------------------------------------------------


def write_recipe(folder: Path, backbone: Path, tasks: Mapping[str, TaskRows], endless: bool = False) -> Path:
    """A recipe with its tasks and their files in a folder: joined pairs, all tasks in turn, one epoch."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, task in tasks.items():
        files = {part: f"{name}-{part}.tsv" for part in ("train", "dev")}
        write_rows(folder / files["train"], task, task.train)
        write_rows(folder / files["dev"], task, task.dev)
        (folder / f"{name}.toml").write_text(tomli_w.dumps(task.settings | {"files": files}), encoding="utf-8")
    stage: dict[str, Any] = {"sampler": "round_robin"}
    recipe = {
        "backbone": str(backbone.resolve()),
        # the vector of [CLS], as the peer reads it
        "tasks": {name: {"task": f"{name}.toml", "batch_size": BATCH, "pooling": "cls"} for name in tasks},
        "stages": [stage | ({"steps_per_epoch": ENDLESS} if endless else {})],
    }
    path = folder / "recipe.toml"
    path.write_text(tomli_w.dumps(recipe), encoding="utf-8")
    return path


class Training:
    """The training of a recipe, one step at a time."""

    def __init__(self, recipe: Path) -> None:
        self.ready = prepare(read_recipe(str(recipe)), None)
        self.precision = str(self.ready.model.bert.dtype).removeprefix("torch.")
        self._steps = iter(Loop(self.ready.model, self.ready.setup))

    def tokens(self, task: str) -> int:
        """Tokens of all training rows of a task."""
        return int(self.ready.train[task].sequences.tokens.sum())

    def step(self) -> Step:
        return next(self._steps)

    def rewind(self) -> None:
        """The next step learns the first batch again."""
        for loader in self.ready.setup.loaders.values():
            loader.restore({"taken": 0})


def task_of(step: Step) -> str:
    (task,) = step.losses
    return task


def whole_run(recipe: Path, out: Path) -> Finished:
    """As `minbert train` does it, without a screen."""
    *_, last = start_run(read_recipe(str(recipe)), out, force=True)
    assert isinstance(last, Finished)
    return last


def scored(task: TaskRows, answers: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> dict[str, float]:
    """The scores of anybody's answers to the dev rows."""
    return score(task_from(task.name, Path(), task.settings, "bench"), answers, task.dev.labels)


# ---- answering ----------------------------------------------------------------------------------------


def embed_file(backbone: Path, source: Path, target: Path) -> None:
    """`minbert embed`: the model loaded, the file read, the vectors written."""
    from minbert.cli.embed import embed

    with silent():
        embed(str(backbone), source, target, pooling="mean", normalize=True, max_length=256, force=True)


def answer_file(run: Path, task: str, source: Path, target: Path) -> None:
    """`minbert predict` on a file: the model loaded, the rows read, the answers written."""
    from minbert.cli.predict import predict

    with silent():
        predict(run, task, input_=source, output=target, force=True)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def untrained_run(recipe: Path, out: Path) -> Path:
    """The model of a recipe as it is before the first step, saved as a run keeps it: answers cost the same."""
    ready = prepare(read_recipe(str(recipe)), None)
    save_model(out / "model", ready.model, ready.tokenizer)
    return out


def predictor(run: Path) -> Predictor:
    return load_predictor(run)


def token_counts(asked: Predictor, texts: list[str]) -> list[int]:
    """Tokens of each text as the encoder reads it, special tokens included."""
    return [int(length) + 2 for length in asked.tokenizer.encode(texts, 256).lengths]


def encoder_config(backbone: Path) -> BertConfig:
    return read_config(backbone)[0]


def tiny_backbone(backbone: Path, target: Path) -> Path:
    """Random weights of a very small encoder with the real tokenizer: what is left is the pipeline around it."""
    _, text = load_backbone(backbone)
    config = BertConfig(num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=64)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        save_backbone(target, Bert(config), text)
    return target
