"""What all measurements share: sizes, data, weights, a work folder."""

import sys
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench import ours, peers
from bench.data import TaskRows
from bench.sizes import Sizes


def say(text: str) -> None:
    """Print one line of progress."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Context:
    sizes: Sizes
    data_root: Path
    # files made for the measurements
    work: Path
    threads: int

    @cached_property
    def tasks(self) -> dict[str, TaskRows]:
        return ours.read_standard(self.data_root)

    @property
    def data(self) -> str:
        """The name of the data, for notes."""
        known = all((self.data_root / name).is_file() for name in ("ids-sst-train.csv", "sts-train.csv"))
        return "SST, STS and Quora" if known else "minbert's demo data instead of SST, STS and Quora"

    @cached_property
    def folder(self) -> Path:
        """The weights that every side loads."""
        return peers.model_folder(ours.backbone_folder(), self.work / "weights")

    @cached_property
    def run(self) -> Path:
        """An untrained model of all three tasks, for inference."""
        tasks = {name: task.sample(8, 8) for name, task in self.tasks.items()}
        recipe = ours.write_recipe(self.work / "inference", self.folder, tasks)
        return ours.untrained_run(recipe, self.work / "inference/run")

    @property
    def names(self) -> dict[str, Any]:
        """The values that names of rows can refer to."""
        return asdict(self.sizes)
