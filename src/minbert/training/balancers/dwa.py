"""Dynamic weight average: the more slowly a task's loss falls, the higher its weight.

weight = K exp(r / T) / (sum of exp(r / T) over the K tasks), r = L(e-1) / L(e-2), L(e) the mean loss of the task's
batches in epoch e. Liu et al. 2019, https://arxiv.org/abs/1803.10704; report E.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from minbert.training.balancers.base import Balancer
from minbert.training.balancers.step_losses import StepLosses, loss_ratio_error, losses_by_task


class DwaBalancer(Balancer):
    """Gives a task more weight the more slowly its loss falls from epoch to epoch (dynamic weight average)."""

    def __init__(self, tasks: Mapping[str, str], seed: int, *, temperature: float = 2.0) -> None:
        super().__init__(tasks, seed)
        if temperature <= 0:
            raise ValueError(f"temperature {temperature} is not above 0")
        self.temperature = temperature
        # task -> the sum of its losses in this epoch, and their count
        self.epoch: dict[str, tuple[float, int]] = {}
        # task -> its mean loss in the last epoch that had it, and the ratio of that to the one before
        self.last: dict[str, float] = {}
        self.ratios: dict[str, float] = {}

    def finish_step(self, losses: StepLosses, shared: Sequence[nn.Parameter]) -> None:
        for task, found in losses_by_task(losses).items():
            total, count = self.epoch.get(task, (0.0, 0))
            self.epoch[task] = total + sum(found), count + len(found)

    def after_epoch(self) -> None:
        for task, (total, count) in self.epoch.items():
            mean = total / count
            if mean <= 0:
                raise loss_ratio_error("dwa", task, mean)
            if task in self.last:
                self.ratios[task] = mean / self.last[task]
            self.last[task] = mean
        self.epoch = {}

    def weights(self) -> dict[str, float]:
        """1 for a task that was in fewer than two epochs; the weights of the others have a mean of 1."""
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
