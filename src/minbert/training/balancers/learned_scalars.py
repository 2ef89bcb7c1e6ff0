"""One number per task that a balancer learns, with its own Adam optimizer."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn


class LearnedScalars:
    """Task -> number. A task that is not in a step keeps its number and its moments."""

    def __init__(self, tasks: Iterable[str], initial: float, learning_rate: float, decay: float = 0.0) -> None:
        if learning_rate <= 0 or decay < 0:
            raise ValueError("needs learning_rate > 0 and decay >= 0")
        self.parameters = {task: nn.Parameter(torch.tensor(initial, dtype=torch.float64)) for task in tasks}
        self.adam = torch.optim.Adam(self.parameters.values(), lr=learning_rate, weight_decay=decay)

    def __getitem__(self, task: str) -> float:
        return self.parameters[task].item()

    def __setitem__(self, task: str, value: float) -> None:
        self.parameters[task].data.fill_(value)

    def update(self, gradients: Mapping[str, float]) -> None:
        """One Adam step of the tasks that have a gradient."""
        for task, gradient in gradients.items():
            self.parameters[task].grad = torch.tensor(gradient, dtype=torch.float64)
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Any]:
        return {
            task: {"value": self[task], "adam": {key: float(kept) for key, kept in self.adam.state[parameter].items()}}
            for task, parameter in self.parameters.items()
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        for task, kept in state.items():
            self[task] = kept["value"]
            self.adam.state[self.parameters[task]] = {
                # torch counts steps in float32
                key: torch.tensor(value, dtype=torch.float32 if key == "step" else torch.float64)
                for key, value in kept["adam"].items()
            }
