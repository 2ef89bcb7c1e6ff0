"""metrics.jsonl and TensorBoard events of a run."""

import json
from pathlib import Path
from typing import Any

from minbert.files import write_text
from minbert.runs.events import Evaluated
from minbert.training.gradient_conflict import GradientCosines
from minbert.training.loop import Step

# more than the longest line has
LAST_BYTES = 2**16


class MetricsLog:
    def __init__(
        self, out: Path, done: int = 0, measured: bool = True, tensorboard: bool = True, rows: str = "dev"
    ) -> None:
        """`done`: steps that the log already has; `measured`: whether the last of them was evaluated if it was due;
        `tensorboard`: whether to write events for it; `rows`: those that are scored.

        Lines that an interrupted run wrote after its last checkpoint are removed: those steps are repeated.
        """
        path = out / "metrics.jsonl"
        if path.is_file():
            drop_lines_after(path, done, measured)
        self.rows = rows
        self.events = event_writer(out, done) if tensorboard else None
        self.file = path.open("a", encoding="utf-8", buffering=1)  # flushed line by line

    def step(self, step: Step) -> None:
        row = {"step": step.number, "stage": step.stage, "epoch": step.epoch, "losses": step.losses}
        row |= {"weights": step.weights} if step.weights else {}
        self.write(row | {"learning_rate": step.learning_rate, "examples": step.examples, "tokens": step.tokens})
        for name, loss in step.losses.items():
            self.add_scalar(f"loss/{name}", loss, step.number)
        for name, weight in step.weights.items():
            self.add_scalar(f"weight/{name}", weight, step.number)
        self.add_scalar("learning_rate", step.learning_rate, step.number)

    def evaluated(self, event: Evaluated) -> None:
        row = {"step": event.step, "scores": event.scores, "overall": event.overall, "best": event.best}
        self.write(row)
        for name, found in event.scores.items():
            for metric, value in found.items():
                self.add_scalar(f"{self.rows}/{name}/{metric}", value, event.step)
        self.add_scalar(f"{self.rows}/overall", event.overall, event.step)

    def compared(self, step: int, found: GradientCosines) -> None:
        self.write({"step": step, "cosines": found.cosines, "norms": found.norms})
        for pair, cosine in found.cosines.items():
            self.add_scalar(f"cosine/{pair.replace(' ', '/')}", cosine, step)
        for name, norm in found.norms.items():
            self.add_scalar(f"norm/{name}", norm, step)

    def add_scalar(self, name: str, value: float, step: int) -> None:
        if self.events is not None:
            self.events.add_scalar(name, value, step)

    def write(self, row: dict[str, Any]) -> None:
        self.file.write(json.dumps(row) + "\n")

    def close(self) -> None:
        self.file.close()
        if self.events is not None:
            self.events.close()


def event_writer(out: Path, done: int) -> Any:
    from tensorboardX import SummaryWriter

    return SummaryWriter(str(out / "events"), **({"purge_step": done + 1} if done else {}))


def drop_lines_after(path: Path, done: int, measured: bool) -> None:
    """Remove the lines of steps after `done`, and an incomplete last line."""
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["step"] < done or (row["step"] == done and (measured or "losses" in row)):
            kept.append(line + "\n")
    write_text(path, "".join(kept))


def logged_cost(run: Path) -> dict[str, int]:
    """The number of steps of a run, and of examples and tokens in them."""
    found = {"steps": 0, "examples": 0, "tokens": 0}
    with (run / "metrics.jsonl").open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "tokens" in line:
                for name, count in {"steps": 1, "examples": line.get("examples", 0), "tokens": line["tokens"]}.items():
                    found[name] += count
    return found


def last_logged_step(run: Path) -> int:
    """The step of the last complete line; 0 before the first."""
    path = run / "metrics.jsonl"
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LAST_BYTES))
        lines = file.read().split(b"\n")[:-1]
    for line in reversed(lines):
        try:
            return int(json.loads(line)["step"])
        except (ValueError, KeyError, TypeError):
            # the first of these lines may be incomplete
            continue
    return 0
