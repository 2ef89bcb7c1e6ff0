"""FAMO: all losses should fall by the same share.

Descends c sum of z_k log L_k, z = softmax(xi), c = 1 / (sum of z_k / L_k): a loss counts c z_k / L_k, 1 altogether.
After the step the losses of the same batches are measured again, and xi descends J' delta, J the derivative of the
softmax, delta_k = log L_k(before) - log L_k(after). Liu et al. 2023, https://arxiv.org/abs/2306.03792
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from minbert.training.balancers.learned import Learned
from minbert.training.balancers.tally import no_ratio
from minbert.training.balancers.whole_step import WholeStep

# a loss that a step brought to 0 has fallen as far as this
LEAST = 1e-8


class FamoBalancer(WholeStep):
    def __init__(
        self, tasks: Mapping[str, str], seed: int, *, learning_rate: float = 0.025, decay: float = 0.001
    ) -> None:
        super().__init__(tasks, seed)
        self.logits = Learned(tasks, 0.0, learning_rate, decay)
        self.before: dict[str, float] = {}

    def shares(self, tasks: Collection[str]) -> dict[str, float]:
        """The softmax over the tasks of a step."""
        highest = max(self.logits[task] for task in tasks)
        powers = {task: math.exp(self.logits[task] - highest) for task in tasks}
        return {task: power / sum(powers.values()) for task, power in powers.items()}

    def weigh(self, losses: Mapping[str, float]) -> dict[str, float]:
        for task, loss in losses.items():
            if loss < 0:
                raise no_ratio("famo", task, loss)
        # a loss of 0, as of a batch without a pair to learn from, has no gradient: as if the task were not in the step
        self.before = {task: loss for task, loss in losses.items() if loss > 0}
        if not self.before:
            return dict.fromkeys(losses, 0.0)
        each = {task: share / self.before[task] for task, share in self.shares(self.before).items()}
        return {task: each.get(task, 0.0) / sum(each.values()) for task in losses}

    def stepped(self, again: Callable[[], Mapping[str, float]]) -> None:
        # alone, a task has the share 1 whatever its logit
        if len(self.before) < 2:
            return
        after, shares = again(), self.shares(self.before)
        fallen = {task: math.log(loss / max(LEAST, after[task])) for task, loss in self.before.items()}
        mean = sum(shares[task] * fallen[task] for task in shares)
        self.logits.descend({task: share * (fallen[task] - mean) for task, share in shares.items()})

    def state(self) -> dict[str, Any]:
        return super().state() | {"logits": self.logits.state()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.logits.restore(state["logits"])
