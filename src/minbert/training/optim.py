"""A model and a recipe's [optimizer] -> its optimizer: parameters in groups with their own learning rates and decay."""

from typing import Any

from torch import nn

from minbert.config.recipe import Optimizer
from minbert.config.schema import build_technique
from minbert.model.multitask import Model
from minbert.training.optimizers import OPTIMIZERS, OptimizerAlgorithm


def make_optimizer(model: Model, settings: Optimizer, where: str = "the recipe") -> OptimizerAlgorithm:
    """Over all parameters, for all stages: frozen parameters have no gradient, and are not updated."""
    return build_technique("algorithm", OPTIMIZERS, settings.algorithm, where, parameter_groups(model, settings))


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


def set_learning_rates(optimizer: OptimizerAlgorithm, rate: float, head_rate: float) -> None:
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
