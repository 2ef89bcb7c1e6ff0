"""Runs of one shape -> one model with the mean of their weights. Wortsman et al. 2022."""

from collections.abc import Sequence
from pathlib import Path

import torch

from minbert.errors import UserError
from minbert.model import Model
from minbert.saved import load_model, save_model


def make_soup(runs: Sequence[Path], out: Path, force: bool = False) -> Model:
    """The mean model, saved in out/model: `minbert predict OUT`, `minbert evaluate OUT`."""
    if len(runs) < 2:
        raise UserError("A soup needs at least two runs.", "minbert soup RUN RUN --out OUT")
    if out.exists() and not force:
        raise UserError(f"{out}: exists already.", "Name another --out, or replace it with --force.")
    model, text = load_model(runs[0], "fp32")
    mean = {name: tensor.double() for name, tensor in model.state_dict().items()}
    for path in runs[1:]:
        other, _ = load_model(path, "fp32")
        check_alike(runs[0], model, path, other)
        for name, tensor in other.state_dict().items():
            mean[name] += tensor
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            tensor.copy_(mean[name] / len(runs))
    save_model(out / "model", model, text)
    return model


def check_alike(first: Path, model: Model, path: Path, other: Model) -> None:
    """The mean of weights means something only where each weight has the same place in both."""
    own, theirs = ({name: tuple(tensor.shape) for name, tensor in each.state_dict().items()} for each in (model, other))
    differing = sorted(name for name in own.keys() | theirs.keys() if own.get(name) != theirs.get(name))
    if differing:
        raise UserError(
            f"{path}: not of the same shape as {first}: {len(differing)} weights differ, the first is {differing[0]}.",
            "Weights are averaged only over runs of one recipe with other seeds; for others: `minbert ensemble`.",
        )
    for name, part in model.tasks.items():
        if part.task.label_keys != other.task(name).task.label_keys:
            raise UserError(f"{path}: task '{name}' has other labels than in {first}.")
