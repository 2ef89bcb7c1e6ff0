"""The base of balancers that compare the gradients of the tasks.

The batches of tasks are separate forward passes, so one backward pass per task costs no more than one for all. During a
task's backward pass the shared parameters hold the gradients of this task, to which the micro-batches of the step add;
nothing is copied. It takes the memory of one gradient of the shared parameters per task. Parameters that belong to one
task get their plain gradient.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from minbert.training.balancers.base import Balancer
from minbert.training.balancers.step_losses import StepLosses

# one tensor per shared parameter; None if the task does not use it
Gradient = list[Tensor | None]


class TaskGradientBalancer(Balancer):
    def __init__(self, tasks: Mapping[str, str], seed: int) -> None:
        super().__init__(tasks, seed)
        # task -> its gradient in the current step
        self.gradients: dict[str, Gradient] = {}

    def combine(self, gradients: Mapping[str, Gradient]) -> dict[str, float]:
        """The gradients of two or more tasks -> the factor of each in their sum (1 if a task is left out)."""
        return {}

    def backward(self, losses: Mapping[str, Tensor], micro_batches: int, shared: Sequence[nn.Parameter]) -> None:
        weights = self.weights()
        for task, loss in losses.items():
            previous = swap_gradients(shared, self.gradients.get(task) or [None] * len(shared))
            (weights.get(task, 1.0) * (loss / micro_batches)).backward()  # type: ignore[no-untyped-call]
            self.gradients[task] = swap_gradients(shared, previous)

    def finish_step(self, losses: StepLosses, shared: Sequence[nn.Parameter]) -> None:
        gradients, self.gradients = self.gradients, {}
        factors = self.combine(gradients) if len(gradients) > 1 and shared else {}
        for i, parameter in enumerate(shared):
            for task, gradient in gradients.items():
                add_gradient(parameter, gradient[i], factors.get(task, 1.0))


def swap_gradients(parameters: Sequence[nn.Parameter], gradients: Gradient) -> Gradient:
    """Give the parameters these gradients, and return the ones they had."""
    previous: Gradient = [parameter.grad for parameter in parameters]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    return previous


def add_gradient(parameter: nn.Parameter, gradient: Tensor | None, factor: float) -> None:
    """Consumes `gradient`: the first one of a parameter becomes its .grad, scaled in place."""
    if gradient is None:
        return
    if parameter.grad is not None:
        parameter.grad.add_(gradient, alpha=factor)
    else:
        parameter.grad = gradient if factor == 1 else gradient.mul_(factor)


def dot(one: Gradient, other: Gradient) -> float:
    """The inner product over all shared parameters; parameters that a task does not use count as 0."""
    products = [
        torch.dot(a.flatten(), b.flatten()) for a, b in zip(one, other, strict=True) if a is not None and b is not None
    ]
    # the parameters have millions of elements: their products are added up in double precision
    return torch.stack(products).double().sum().item() if products else 0.0
