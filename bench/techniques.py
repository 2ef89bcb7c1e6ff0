"""The cost of each adapter and pairing: the time of a training step relative to the plain model, in turns.

`.venv/bin/python -m bench.techniques` prints a Markdown table; without --data-root it uses the demo data.
"""

import argparse
import time
from pathlib import Path
from statistics import median

import numpy as np

from bench.sizes import BATCH
from minbert.config.loading import read_recipe
from minbert.data.batch import collate
from minbert.data.source import DataSource
from minbert.training.prepare import Prepared, prepare

PLAIN = "cross_encoder, mean, no adapter"
VARIED = {
    PLAIN: [],
    "pooling cls": ["pooling=cls"],
    "pairing bi_encoder": ["pairing=bi_encoder"],
    "pairing cross_attention": ["pairing=cross_attention"],
    "pairing task_attention": ["pairing=task_attention"],
    "symmetric": ["symmetric=true"],
    **{
        f"adapter {name}": [f'adapters=["{name}"]']
        for name in ("pal", "low_rank", "houlsby", "top_layer", "lora", "pos_tags")
    },
    "adapters low_rank, top_layer": ['adapters=["low_rank", "top_layer"]'],
}


def prepare_variant(overrides: list[str], data_root: Path | None) -> Prepared:
    recipe, task = ("baseline", "sts") if data_root else ("demo", "similarity")
    plain = [
        f'tasks=["{task}"]',
        f'stages.0.tasks=["{task}"]',
        f"tasks.{task}.pairing=cross_encoder",
        f"tasks.{task}.head=linear",
    ]
    return prepare(
        read_recipe(recipe, [*plain, *(f"tasks.{task}.{each}" for each in overrides)]), DataSource(data_root)
    )


def step_seconds(ready: Prepared, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> float:
    """One forward and backward pass."""
    ((task, split),) = ready.train.items()
    batch = collate(task, split.encoded, split.dataset.labels, rows)
    ready.model.train()
    began = time.perf_counter()
    ready.model.loss(batch).backward()  # type: ignore[no-untyped-call]
    took = time.perf_counter() - began
    ready.model.zero_grad(set_to_none=True)
    return took


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data-root", type=Path)
    options.add_argument("--rounds", type=int, default=8)
    chosen = options.parse_args()
    sides = {name: prepare_variant(overrides, chosen.data_root) for name, overrides in VARIED.items()}
    count = min(len(split.dataset) for ready in sides.values() for split in ready.train.values())
    draw = np.random.default_rng(0)
    costs: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(chosen.rounds + 1):
        rows = draw.permutation(count)[:BATCH]
        found = {name: step_seconds(ready, rows) for name, ready in sides.items()}
        if number:  # the first round warms up
            for name, took in found.items():
                costs[name].append(took / found[PLAIN])
    print("| technique | relative time per step |\n|---|--:|")
    for name, ratios in costs.items():
        print(f"| {name} | {median(ratios):.2f} |")


if __name__ == "__main__":
    main()
