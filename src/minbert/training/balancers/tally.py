"""The losses of a step, part by part -> each task's losses as they were before they were divided.

The loop divides each loss by the number of parts, so that their gradients add up to a mean; only after the last part it
is known how many there were. Whatever remembers losses takes a task's loss in a step to be the mean over its batches in
it, in however many parts these came.
"""

from collections.abc import Mapping

from torch import Tensor

from minbert.errors import UserError


class Tally:
    def __init__(self) -> None:
        self.parts: list[dict[str, float]] = []

    def add(self, losses: Mapping[str, Tensor]) -> None:
        self.parts.append({task: loss.item() for task, loss in losses.items()})

    def close(self) -> dict[str, list[float]]:
        """After the last part: the loss of each batch, by task. The next part is that of a new step."""
        parts, self.parts = self.parts, []
        found: dict[str, list[float]] = {}
        for part in parts:
            for task, loss in part.items():
                found.setdefault(task, []).append(loss * len(parts))
        return found


def means(losses: Mapping[str, list[float]]) -> dict[str, float]:
    return {task: sum(each) / len(each) for task, each in losses.items()}


def no_ratio(balancer: str, task: str, loss: float) -> UserError:
    """For balancers that divide losses by each other, which means nothing across 0."""
    return UserError(
        f"The loss of task '{task}' is {loss:g}; the balancer '{balancer}' goes by ratios of losses, "
        "so they should be above 0.",
        "Give the task a loss that cannot fall below 0, or take the balancer 'sum'.",
    )
