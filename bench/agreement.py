"""Do minbert and a plain transformers loop reach the same dev scores after one epoch, over several seeds?

python -m bench.agreement --data-root DATA --task sst --seeds 3
Both use the same weights, pooler, linear head, batch size, learning rate and schedule. Dropout masks and the order of
the rows differ.
"""

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
import tomli_w
import torch

from bench import ours, peers
from bench.data import TaskRows
from bench.sizes import BATCH


def our_scores(folder: Path, backbone: Path, task: TaskRows, seed: int) -> dict[str, float]:
    path = ours.write_recipe(folder, backbone, {task.name: task})
    recipe = {
        "backbone": str(backbone.resolve()),
        "seed": seed,
        "tasks": {task.name: {"task": f"{task.name}.toml", "batch_size": BATCH, "pooling": "pooler"}},
        "optimizer": {"learning_rate": peers.LEARNING_RATE, "warmup_ratio": 0.0},
        "stages": [{"epochs": 1}],
    }
    path.write_text(tomli_w.dumps(recipe), encoding="utf-8")
    shutil.rmtree(folder / "run", ignore_errors=True)
    return ours.whole_run(path, folder / "run").scores[task.name]


def their_predictions(backbone: Path, task: TaskRows, seed: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    torch.manual_seed(seed)
    training = peers.Training(backbone, {task.name: task})
    order = np.random.default_rng(seed).permutation(len(task.train.texts[0]))
    batches = [order[i : i + BATCH].tolist() for i in range(0, len(order), BATCH)]
    for done, rows in enumerate(batches):
        for group in training.optimizers[task.name].param_groups:
            group["lr"] = peers.LEARNING_RATE * (1 - done / len(batches))
        training.step(task.name, rows)
    return peers.predictions(training.models[task.name], backbone, task)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data-root", type=Path, default=Path("data"))
    options.add_argument("--task", default="sst")
    options.add_argument("--seeds", type=int, default=3)
    chosen = options.parse_args()
    task, backbone = ours.read_standard(chosen.data_root)[chosen.task], ours.backbone_folder()
    found: dict[str, list[float]] = {"minbert": [], "transformers": []}
    with tempfile.TemporaryDirectory() as work:
        for seed in range(chosen.seeds):
            scores = our_scores(Path(work), backbone, task, seed)
            metric = next(iter(scores))
            found["minbert"].append(scores[metric])
            predictions = their_predictions(backbone, task, seed)
            found["transformers"].append(ours.scored(task, predictions)[metric])
            print(f"seed {seed}: " + ", ".join(f"{who} {each[-1]:.4f}" for who, each in found.items()), flush=True)
    for who, each in found.items():
        spread = statistics.stdev(each) if len(each) > 1 else 0.0
        print(f"{task.name} {metric}, one epoch: {who} {statistics.mean(each):.4f}, standard deviation {spread:.4f}")


if __name__ == "__main__":
    main()
