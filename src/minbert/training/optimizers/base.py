"""(parameters, their gradients, what the optimizer remembers) -> updated parameters: the interface of an optimizer.

It resembles torch.optim.Optimizer but does not inherit from it: the first use of that class imports torch's compiler,
which nothing here needs and which takes longer than loading a model. torch's functional forms do not import it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

# what an optimizer remembers of one parameter
ParameterState = dict[str, Any]


class OptimizerAlgorithm:
    def __init__(self, groups: Iterable[Mapping[str, Any]]) -> None:
        """`groups`: each has "params", "weight_decay" and, from the first step on, "lr"."""
        self.param_groups: list[dict[str, Any]] = [dict(group) for group in groups]
        self.state: dict[Tensor, ParameterState] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Update the parameters that have a gradient."""
        for group in self.param_groups:
            updated = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in updated:
                if parameter not in self.state:
                    self.state[parameter] = self.init_state(parameter)
            if updated:
                gradients = [parameter.grad for parameter in updated]
                self.update(updated, gradients, [self.state[parameter] for parameter in updated], group)

    def init_state(self, parameter: Tensor) -> ParameterState:
        """The state of a parameter before its first update."""
        raise AssertionError("an optimizer defines init_state")

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        """Update these parameters of a group, and their states, in place."""
        raise AssertionError("an optimizer defines update")

    def zero_grad(self) -> None:
        for parameter in self.parameters():
            parameter.grad = None

    def parameters(self) -> Iterator[Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    def state_dict(self) -> dict[str, Any]:
        """The state of each parameter by its number; the groups are not part of it."""
        return {
            str(number): dict(self.state[parameter])
            for number, parameter in enumerate(self.parameters())
            if parameter in self.state
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        parameters = list(self.parameters())
        self.state = {
            parameters[int(number)]: self.place(parameters[int(number)], saved) for number, saved in state.items()
        }

    def place(self, parameter: Tensor, saved: Mapping[str, Any]) -> ParameterState:
        """A saved state with each tensor on the device where this optimizer keeps it."""
        fresh = self.init_state(parameter)
        return {
            name: value.to(fresh[name].device) if isinstance(value, Tensor) else value for name, value in saved.items()
        }


def new_step(device: torch.device | None = None) -> Tensor:
    """The number of updates as torch counts them: fused kernels on the parameter's device, the others on the CPU."""
    return torch.zeros((), dtype=torch.float32, device=device)


def state_tensors(states: Sequence[ParameterState], name: str) -> list[Tensor]:
    """One tensor of each state, as torch's functional forms take them."""
    return [state[name] for state in states]
