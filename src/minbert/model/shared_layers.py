"""Layers that several tasks share, by the names that recipes give them."""

from collections.abc import Callable
from typing import TypeVar, cast

from torch import Tensor, nn
from torch.nn import functional

from minbert.config.schema import Spec
from minbert.encoder.bert import Bert, initialize
from minbert.encoder.dropout import Dropout
from minbert.errors import UserError

L = TypeVar("L", bound=nn.Module)


class SharedLayer(nn.Module):
    """Between pooling and head: ReLU(W dropout(x) + b)."""

    def __init__(self, bert: Bert, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = Dropout(dropout, bert.dropout_generator)
        self.linear = nn.Linear(bert.config.hidden_size, bert.config.hidden_size)
        initialize(self.linear)

    def forward(self, x_SD: Tensor) -> Tensor:
        return functional.relu(self.linear(self.dropout(x_SD)))


class Shared(nn.ModuleDict):
    """All layers of a model that tasks share."""

    def __init__(self) -> None:
        super().__init__()
        # of each name: the task that was the first to use it, and what it is
        self.firsts: dict[str, tuple[str, Spec]] = {}

    def same(self, name: str, task: str, what: Spec, make: Callable[[], L], where: str) -> L:
        """The one layer of this name, made for the first task that asks; all others must ask for the same."""
        if "." in name:
            raise UserError(f"{where}: '{name}' is no name of a shared layer: it has a dot.")
        # the prefix lets a layer be called `type` or `keys`, which are names of ModuleDict's own
        key = f"shared_{name}"
        first, there = self.firsts.setdefault(name, (task, what))
        if what != there:
            raise UserError(
                f"{where}: the shared layer '{name}' is {described(what)} here, "
                f"but {described(there)} in task '{first}'.",
                "Give it the same settings in both, or two names.",
            )
        if key not in self:
            self[key] = make()
        return cast(L, self[key])


def described(what: Spec) -> str:
    if isinstance(what, str):
        return what
    settings = ", ".join(f"{key} = {value}" for key, value in what.items() if key not in ("name", "shared"))
    return f"{what['name']} ({settings})"
