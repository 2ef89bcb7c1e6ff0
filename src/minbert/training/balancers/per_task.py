"""What balancers have in common that compare the tasks' gradients.

The batches of tasks are separate passes, so a backward pass for each task costs no more than one for all. While that of
a task runs, the shared parameters hold the gradients of this task, to which the parts of a step add; nothing is copied.
It takes the memory of one gradient of the shared parameters for each task of a step. What belongs to one task alone
gets its plain gradient.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from minbert.training.balancers.base import Balancer

# a tensor for each shared parameter; None where the task does not use it
Gradient = list[Tensor | None]


class PerTask(Balancer):
    def __init__(self, tasks: Mapping[str, str], seed: int) -> None:
        super().__init__(tasks, seed)
        # of the step that is being made
        self.gradients: dict[str, Gradient] = {}

    def combine(self, gradients: Mapping[str, Gradient]) -> dict[str, float]:
        """The gradients of two or more tasks -> how often each is taken in their sum; left out: once."""
        return {}

    def backward(self, losses: Mapping[str, Tensor], shared: Sequence[nn.Parameter]) -> None:
        weights = self.weights()
        for task, loss in losses.items():
            aside = exchange(shared, self.gradients.get(task) or [None] * len(shared))
            (weights.get(task, 1.0) * loss).backward()  # type: ignore[no-untyped-call]
            self.gradients[task] = exchange(shared, aside)

    def settle(self, shared: Sequence[nn.Parameter]) -> None:
        gradients, self.gradients = self.gradients, {}
        factors = self.combine(gradients) if len(gradients) > 1 and shared else {}
        for i, parameter in enumerate(shared):
            for task, gradient in gradients.items():
                add(parameter, gradient[i], factors.get(task, 1.0))


def exchange(parameters: Sequence[nn.Parameter], gradients: Gradient) -> Gradient:
    """Put these gradients in the place of those that the parameters have, which are returned."""
    had: Gradient = [parameter.grad for parameter in parameters]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    return had


def add(parameter: nn.Parameter, gradient: Tensor | None, factor: float) -> None:
    """Consumes the gradient: the first of a parameter becomes its own, scaled in place."""
    if gradient is None:
        return
    if parameter.grad is not None:
        parameter.grad.add_(gradient, alpha=factor)
    else:
        parameter.grad = gradient if factor == 1 else gradient.mul_(factor)


def dot(one: Gradient, other: Gradient) -> float:
    """The inner product over all shared parameters; what a task does not use is 0 there."""
    products = [
        torch.dot(a.flatten(), b.flatten()) for a, b in zip(one, other, strict=True) if a is not None and b is not None
    ]
    # of millions of numbers each: added up in double precision
    return torch.stack(products).double().sum().item() if products else 0.0
