"""Parameter groups and AdamW."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from minbert.model import Model
from minbert.recipe import Optimiser


class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), from scratch.

    The bias correction is the efficient form at the end of section 2 of Kingma and Ba 2015: the step size
    is corrected instead of the moments, so epsilon is added to the uncorrected root. Where epsilon is
    negligible this equals torch's AdamW. Decay is scaled by the learning rate and taken off first.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        correct_bias: bool = True,
    ) -> None:
        if lr < 0 or eps < 0 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"AdamW needs lr >= 0, eps >= 0 and betas in [0, 1), not {lr}, {eps}, {betas}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "correct_bias": correct_bias
        }  # fmt: skip
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["step"] = 0
                    state["mean"] = torch.zeros_like(parameter)
                    state["square"] = torch.zeros_like(parameter)
                state["step"] += 1
                state["mean"].lerp_(parameter.grad, 1 - beta1)
                state["square"].mul_(beta2).addcmul_(parameter.grad, parameter.grad, value=1 - beta2)
                size = group["lr"]
                if group["correct_bias"]:
                    size *= math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.addcdiv_(state["mean"], state["square"].sqrt().add_(group["eps"]), value=-size)
        return loss


def make_optimiser(model: Model, settings: Optimiser) -> torch.optim.Optimizer:
    """AdamW over all parameters, for all stages: one that is frozen has no gradient, and is left as it is."""
    beta1, beta2 = settings.betas
    groups = parameter_groups(model, settings)
    if settings.implementation == "minbert":
        return AdamW(groups, betas=(beta1, beta2), eps=settings.epsilon)
    return torch.optim.AdamW(groups, betas=(beta1, beta2), eps=settings.epsilon, fused=True)


def parameter_groups(model: Model, settings: Optimiser) -> list[dict[str, Any]]:
    """Parameters by owner, share of its learning rate, and decay.

    `own`: the tasks' parts, which have a rate of their own. Biases and norms, which have one dimension, do not decay.
    """
    groups: dict[tuple[bool, float, float], list[nn.Parameter]] = {}
    layers = model.bert.shape.layers
    for name, parameter in model.named_parameters():
        own = name.startswith(("parts.", "shared."))
        share = 1.0 if own else settings.layer_decay ** (layers - depth(name, layers))
        decay = settings.weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((own, share, decay), []).append(parameter)
    return [
        {"params": parameters, "own": own, "share": share, "weight_decay": decay}
        for (own, share, decay), parameters in groups.items()
    ]


def set_rates(optimiser: torch.optim.Optimizer, rate: float, head_rate: float) -> None:
    """The learning rates of the encoder and of the tasks' own parts, in each group by its share."""
    for group in optimiser.param_groups:
        group["lr"] = group["share"] * (head_rate if group["own"] else rate)


def moments(optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """What the optimiser remembers of each parameter, by its number."""
    return {str(number): dict(kept) for number, kept in optimiser.state_dict()["state"].items()}


def restore_moments(optimiser: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    whole = optimiser.state_dict()
    optimiser.load_state_dict({**whole, "state": {int(number): kept for number, kept in state.items()}})


def depth(name: str, layers: int) -> int:
    """0 for the embeddings, 1 for the lowest layer, ... `layers` for the highest and what is above it."""
    if name.startswith("bert.embeddings."):
        return 0
    if name.startswith("bert.layers."):
        return int(name.split(".")[2]) + 1
    return layers
