"""The losses of a step as numbers.

A balancer that remembers losses takes a task's loss in a step to be the mean over its micro-batches, however many of
them had the task.
"""

from collections.abc import Mapping, Sequence

from minbert.errors import UserError

# one mapping per micro-batch of the step: task -> loss
StepLosses = Sequence[Mapping[str, float]]


def losses_by_task(losses: StepLosses) -> dict[str, list[float]]:
    """Task -> the losses of the micro-batches that had it."""
    found: dict[str, list[float]] = {}
    for micro_batch in losses:
        for task, loss in micro_batch.items():
            found.setdefault(task, []).append(loss)
    return found


def mean_losses(losses: StepLosses) -> dict[str, float]:
    return {task: sum(each) / len(each) for task, each in losses_by_task(losses).items()}


def loss_ratio_error(balancer: str, task: str, loss: float) -> UserError:
    """For balancers that divide losses by each other, which is meaningless below 0."""
    return UserError(
        f"The loss of task '{task}' is {loss:g}; the balancer '{balancer}' compares ratios of losses, "
        "so losses must be above 0.",
        "Give the task a loss that cannot fall below 0, or use the balancer 'sum'.",
    )
