"""metrics.jsonl and TensorBoard events of a run."""

import json
from pathlib import Path
from typing import Any

from minbert.files import write_text
from minbert.runs.events import Evaluated
from minbert.training.gradient_conflict import GradientCosines
from minbert.training.loop import Step


class Log:
    def __init__(self, out: Path, done: int = 0, measured: bool = True) -> None:
        """`done`: steps that the log goes on after; `measured`: whether the last of them was evaluated if it had to.

        What an interrupted run wrote after its last checkpoint is taken back: those steps are done again.
        """
        from tensorboardX import SummaryWriter

        path = out / "metrics.jsonl"
        if path.is_file():
            keep_until(path, done, measured)
        self.events = SummaryWriter(str(out / "events"), **({"purge_step": done + 1} if done else {}))
        self.file = path.open("a", encoding="utf-8", buffering=1)  # a line at a time

    def step(self, step: Step) -> None:
        row = {"step": step.number, "stage": step.stage, "epoch": step.epoch, "losses": step.losses}
        row |= {"weights": step.weights} if step.weights else {}
        self.write(row | {"learning_rate": step.learning_rate, "tokens": step.tokens})
        for name, loss in step.losses.items():
            self.events.add_scalar(f"loss/{name}", loss, step.number)
        for name, weight in step.weights.items():
            self.events.add_scalar(f"weight/{name}", weight, step.number)
        self.events.add_scalar("learning_rate", step.learning_rate, step.number)

    def evaluated(self, event: Evaluated) -> None:
        row = {"step": event.step, "scores": event.scores, "overall": event.overall, "best": event.best}
        self.write(row)
        for name, found in event.scores.items():
            for metric, value in found.items():
                self.events.add_scalar(f"dev/{name}/{metric}", value, event.step)
        self.events.add_scalar("dev/overall", event.overall, event.step)

    def compared(self, step: int, found: GradientCosines) -> None:
        self.write({"step": step, "cosines": found.cosines, "norms": found.norms})
        for pair, cosine in found.cosines.items():
            self.events.add_scalar(f"cosine/{pair.replace(' ', '/')}", cosine, step)
        for name, norm in found.norms.items():
            self.events.add_scalar(f"norm/{name}", norm, step)

    def write(self, row: dict[str, Any]) -> None:
        self.file.write(json.dumps(row) + "\n")

    def close(self) -> None:
        self.file.close()
        self.events.close()


def keep_until(path: Path, done: int, measured: bool) -> None:
    """Drop the lines of steps after `done`, and a last line that was cut off."""
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["step"] < done or (row["step"] == done and (measured or "losses" in row)):
            kept.append(line + "\n")
    write_text(path, "".join(kept))


def steps_and_tokens(run: Path) -> tuple[int, int]:
    """How many steps a run has done, on how many tokens."""
    steps = tokens = 0
    with (run / "metrics.jsonl").open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "tokens" in line:
                steps, tokens = steps + 1, tokens + line["tokens"]
    return steps, tokens
