"""AdamW, and a model's parameters in groups with their own learning rates and weight decay."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from minbert.config.recipe import Optimizer
from minbert.model.multitask import Model


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2), from scratch.

    The bias correction is the efficient form at the end of section 2 of Kingma and Ba 2015: it corrects the step size
    instead of the moments, so eps is added to the uncorrected root. Where eps is negligible this equals torch's AdamW.
    Weight decay is scaled by the learning rate and applied first.

    It has the interface of torch.optim.Optimizer but does not inherit from it: the first use of that class imports
    torch's compiler, which nothing here needs and which takes longer than loading a model.
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
        """`params`: parameters, or groups, each a dict with "params" and the settings that differ in this group."""
        if lr < 0 or eps < 0 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"AdamW needs lr >= 0, eps >= 0 and betas in [0, 1), not {lr}, {eps}, {betas}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "correct_bias": correct_bias}
        listed = list(params)
        groups = [each for each in listed if isinstance(each, dict)] or [{"params": listed}]
        self.param_groups: list[dict[str, Any]] = [{**defaults, **group} for group in groups]
        self.state: dict[Tensor, dict[str, Any]] = {}

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            updated = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in updated:
                if parameter not in self.state:
                    self.state[parameter] = self.init_state(parameter)
            if updated:
                self.update(updated, [self.state[parameter] for parameter in updated], group)

    def init_state(self, parameter: Tensor) -> dict[str, Any]:
        """The state of a parameter before its first update."""
        return {"step": 0, "mean": torch.zeros_like(parameter), "square": torch.zeros_like(parameter)}

    def update(self, parameters: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]) -> None:
        """Update these parameters of a group, which have gradients."""
        beta1, beta2 = group["betas"]
        for parameter, state in zip(parameters, states, strict=True):
            gradient = parameter.grad
            assert gradient is not None
            state["step"] += 1
            state["mean"].lerp_(gradient, 1 - beta1)
            state["square"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            step_size = group["lr"]
            if group["correct_bias"]:
                step_size *= math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.addcdiv_(state["mean"], state["square"].sqrt().add_(group["eps"]), value=-step_size)

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
            parameters[int(number)]: {
                name: value.to(parameters[int(number)].device) if isinstance(value, Tensor) else value
                for name, value in saved.items()
            }
            for number, saved in state.items()
        }


class FusedAdamW(AdamW):
    """torch's fused kernel instead of ours: the same numbers as torch.optim.AdamW(fused=True)."""

    def init_state(self, parameter: Tensor) -> dict[str, Any]:
        step = torch.zeros((), dtype=torch.float32, device=parameter.device)
        return {"step": step, "exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}

    def update(self, parameters: list[Tensor], states: list[dict[str, Any]], group: dict[str, Any]) -> None:
        if not group["correct_bias"]:
            raise ValueError("torch's fused AdamW always corrects the bias; use AdamW for correct_bias=False")
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


def make_optimizer(model: Model, settings: Optimizer) -> AdamW:
    """AdamW over all parameters, for all stages: frozen parameters have no gradient, and are not updated."""
    kind = AdamW if settings.implementation == "minbert" else FusedAdamW
    beta1, beta2 = settings.betas
    return kind(parameter_groups(model, settings), betas=(beta1, beta2), eps=settings.eps)


def parameter_groups(model: Model, settings: Optimizer) -> list[dict[str, Any]]:
    """Parameters grouped by learning rate and weight decay.

    "head": the group uses the heads' learning rate; "lr_factor": the layer decay. Biases and norms, which have one
    dimension, do not decay.
    """
    groups: dict[tuple[bool, float, float], list[nn.Parameter]] = {}
    layers = model.bert.config.num_hidden_layers
    for name, parameter in model.named_parameters():
        head = name.startswith(("parts.", "shared."))
        factor = 1.0 if head else settings.layer_decay ** (layers - layer_depth(name, layers))
        decay = settings.weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((head, factor, decay), []).append(parameter)
    return [
        {"params": parameters, "head": head, "lr_factor": factor, "weight_decay": decay}
        for (head, factor, decay), parameters in groups.items()
    ]


def set_learning_rates(optimizer: AdamW, rate: float, head_rate: float) -> None:
    """Set the learning rates of the encoder and of the tasks' modules, scaled by each group's factor."""
    for group in optimizer.param_groups:
        group["lr"] = group["lr_factor"] * (head_rate if group["head"] else rate)


def layer_depth(name: str, layers: int) -> int:
    """0 for the embeddings, 1 for the lowest layer, ... `layers` for the highest layer and everything above it."""
    if name.startswith("bert.embeddings."):
        return 0
    if name.startswith("bert.layers."):
        return int(name.split(".")[2]) + 1
    return layers
