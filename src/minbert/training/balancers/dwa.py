"""Dynamic weight average: the slower a task's loss falls, the more it counts.

weight = K exp(r / T) / (sum of exp(r / T) over the K tasks), r = L(e-1) / L(e-2), L(e) the mean loss of the task's
batches in epoch e. Liu et al. 2019, https://arxiv.org/abs/1803.10704; report E.
"""

import math
from collections.abc import Mapping
from typing import Any

from minbert.training.balancers.tally import no_ratio
from minbert.training.balancers.weighing import Weighing


class DynamicWeightAverage(Weighing):
    def __init__(self, tasks: Mapping[str, str], seed: int, *, temperature: float = 2.0) -> None:
        super().__init__(tasks, seed)
        if temperature <= 0:
            raise ValueError(f"temperature {temperature} is not above 0")
        self.temperature = temperature
        # task: the sum of its losses in this epoch, and how many they are
        self.epoch: dict[str, tuple[float, int]] = {}
        # task: its mean loss in the last epoch that had it; that over the one before
        self.last: dict[str, float] = {}
        self.ratios: dict[str, float] = {}

    def seen(self, losses: Mapping[str, list[float]]) -> None:
        for task, found in losses.items():
            total, count = self.epoch.get(task, (0.0, 0))
            self.epoch[task] = total + sum(found), count + len(found)

    def epoch_ended(self) -> None:
        for task, (total, count) in self.epoch.items():
            mean = total / count
            if mean <= 0:
                raise no_ratio("dwa", task, mean)
            if task in self.last:
                self.ratios[task] = mean / self.last[task]
            self.last[task] = mean
        self.epoch = {}

    def weights(self) -> dict[str, float]:
        """1 for a task that was in fewer than two epochs; the others share what they would have with 1 each."""
        highest = max(self.ratios.values(), default=0.0)
        powers = {task: math.exp((ratio - highest) / self.temperature) for task, ratio in self.ratios.items()}
        factor = len(powers) / (sum(powers.values()) or 1)
        return {task: factor * powers[task] if task in powers else 1.0 for task in self.tasks}

    def state(self) -> dict[str, Any]:
        epoch = {task: list(each) for task, each in self.epoch.items()}
        return {"epoch": epoch, "last": dict(self.last), "ratios": dict(self.ratios)}

    def restore(self, state: dict[str, Any]) -> None:
        self.epoch = {task: (total, count) for task, (total, count) in state["epoch"].items()}
        self.last = dict(state["last"])
        self.ratios = dict(state["ratios"])
