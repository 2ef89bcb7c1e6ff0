"""Parameter groups and AdamW."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from minbert.config.recipe import Optimizer
from minbert.model.multitask import Model


class Descent(ABC):
    """Parameters in groups with settings of their own, and what is remembered of each parameter.

    In the shape of torch's Optimizer but not one: at its first use that imports torch's compiler, which
    nothing here needs and which takes each process longer than to load a model.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ) -> None:
        """`params`: or groups of them, each a dict with "params" and whatever of the others it has of its own."""
        if lr < 0 or eps < 0 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"AdamW needs lr >= 0, eps >= 0 and betas in [0, 1), not {lr}, {eps}, {betas}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        given = list(params)
        groups = [each for each in given if isinstance(each, dict)] or [{"params": given}]
        self.param_groups: list[dict[str, Any]] = [{**defaults, **group} for group in groups]
        self.state: dict[Tensor, dict[str, Any]] = {}

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            moved = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in moved:
                if parameter not in self.state:
                    self.state[parameter] = self.fresh(parameter)
            if moved:
                self.move(moved, [self.state[parameter] for parameter in moved], group)

    def zero_grad(self) -> None:
        for parameter in self.parameters():
            parameter.grad = None

    def parameters(self) -> Iterator[Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    @abstractmethod
    def fresh(self, parameter: Tensor) -> dict[str, Any]:
        """What is remembered of a parameter before its first step."""

    @abstractmethod
    def move(self, parameters: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]) -> None:
        """One step of these parameters, which have gradients."""


class AdamW(Descent):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), from scratch.

    The bias correction is the efficient form at the end of section 2 of Kingma and Ba 2015: the step size
    is corrected instead of the moments, so epsilon is added to the uncorrected root. Where epsilon is
    negligible this equals torch's AdamW. Decay is scaled by the learning rate and taken off first. A group may do
    without the correction (`correct_bias`).
    """

    def fresh(self, parameter: Tensor) -> dict[str, Any]:
        return {"step": 0, "mean": torch.zeros_like(parameter), "square": torch.zeros_like(parameter)}

    def move(self, parameters: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        for parameter, state in zip(parameters, states, strict=True):
            gradient = parameter.grad
            assert gradient is not None
            state["step"] += 1
            state["mean"].lerp_(gradient, 1 - beta1)
            state["square"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            size = group["lr"]
            if group.get("correct_bias", True):
                size *= math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.addcdiv_(state["mean"], state["square"].sqrt().add_(group["eps"]), value=-size)


class FusedAdamW(Descent):
    """torch's AdamW in its fused form: the same numbers as torch.optim.AdamW(fused=True)."""

    def fresh(self, parameter: Tensor) -> dict[str, Any]:
        step = torch.zeros((), dtype=torch.float32, device=parameter.device)
        return {"step": step, "exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}

    def move(self, parameters: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]) -> None:
        adamw(
            parameters,
            [parameter.grad for parameter in parameters if parameter.grad is not None],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            fused=True,
            amsgrad=False,
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )


def make_optimizer(model: Model, settings: Optimizer) -> Descent:
    """AdamW over all parameters, for all stages: one that is frozen has no gradient, and is left as it is."""
    kind = AdamW if settings.implementation == "minbert" else FusedAdamW
    beta1, beta2 = settings.betas
    return kind(parameter_groups(model, settings), betas=(beta1, beta2), eps=settings.eps)


def parameter_groups(model: Model, settings: Optimizer) -> list[dict[str, Any]]:
    """Parameters by owner, share of its learning rate, and decay.

    `own`: the tasks' parts, which have a rate of their own. Biases and norms, which have one dimension, do not decay.
    """
    groups: dict[tuple[bool, float, float], list[nn.Parameter]] = {}
    layers = model.bert.config.num_hidden_layers
    for name, parameter in model.named_parameters():
        own = name.startswith(("parts.", "shared."))
        share = 1.0 if own else settings.layer_decay ** (layers - depth(name, layers))
        decay = settings.weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((own, share, decay), []).append(parameter)
    return [
        {"params": parameters, "own": own, "share": share, "weight_decay": decay}
        for (own, share, decay), parameters in groups.items()
    ]


def set_rates(optimizer: Descent, rate: float, head_rate: float) -> None:
    """The learning rates of the encoder and of the tasks' own parts, in each group by its share."""
    for group in optimizer.param_groups:
        group["lr"] = group["share"] * (head_rate if group["own"] else rate)


def moments(optimizer: Descent) -> dict[str, Any]:
    """What the optimizer remembers of each parameter, by its number."""
    return {
        str(number): dict(optimizer.state[parameter])
        for number, parameter in enumerate(optimizer.parameters())
        if parameter in optimizer.state
    }


def restore_moments(optimizer: Descent, state: dict[str, Any]) -> None:
    parameters = list(optimizer.parameters())
    optimizer.state = {
        parameters[int(number)]: {
            name: value.to(parameters[int(number)].device) if isinstance(value, Tensor) else value
            for name, value in kept.items()
        }
        for number, kept in state.items()
    }


def depth(name: str, layers: int) -> int:
    """0 for the embeddings, 1 for the lowest layer, ... `layers` for the highest and what is above it."""
    if name.startswith("bert.embeddings."):
        return 0
    if name.startswith("bert.layers."):
        return int(name.split(".")[2]) + 1
    return layers
