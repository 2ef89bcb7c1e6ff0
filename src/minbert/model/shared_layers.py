"""Layers that several tasks share, by the names that recipes give them."""

from collections.abc import Callable
from typing import TypeVar, cast

from torch import Tensor, nn
from torch.nn import functional

from minbert.config.recipe import SharedLayerPlan
from minbert.config.schema import Spec
from minbert.encoder.bert import Bert, initialize
from minbert.encoder.dropout import Dropout
from minbert.errors import UserError

L = TypeVar("L", bound=nn.Module)


class SharedLayer(nn.Module):
    """Between pooling and head: ReLU(W dropout(x) + b), or ReLU(dropout(W x + b)).

    x is each vector of an example, or the two vectors of a pair, concatenated.
    """

    def __init__(self, bert: Bert, plan: SharedLayerPlan) -> None:
        super().__init__()
        self.concatenates = plan.vectors == "concatenated"
        self.dropout = Dropout(plan.dropout, bert.dropout_generator)
        self.dropout_first = plan.dropout_place == "before"
        width = bert.config.hidden_size
        self.linear = nn.Linear(2 * width if self.concatenates else width, width)
        initialize(self.linear)

    def forward(self, x_XW: Tensor) -> Tensor:
        if self.dropout_first:
            return functional.relu(self.linear(self.dropout(x_XW)))
        return functional.relu(self.dropout(self.linear(x_XW)))


class SharedLayers(nn.ModuleDict):
    """All layers of a model that tasks share."""

    def __init__(self) -> None:
        super().__init__()
        # name -> the first task that used it, and its settings
        self.first_uses: dict[str, tuple[str, Spec]] = {}

    def get_or_create(self, name: str, task: str, spec: Spec, create: Callable[[], L], where: str) -> L:
        """The layer of this name; the first task that names it creates it, and the others must give the same `spec`."""
        if "." in name:
            raise UserError(f"{where}: the name of a shared layer must not contain a dot: '{name}'.")
        # the prefix allows layers called `type` or `keys`, which are attributes of ModuleDict
        key = f"shared_{name}"
        first, expected = self.first_uses.setdefault(name, (task, spec))
        if spec != expected:
            raise UserError(
                f"{where}: the shared layer '{name}' is {describe_layer(spec)} here, "
                f"but {describe_layer(expected)} in task '{first}'.",
                "Give it the same settings in both tasks, or use two names.",
            )
        if key not in self:
            self[key] = create()
        return cast(L, self[key])


def describe_layer(spec: Spec) -> str:
    if isinstance(spec, str):
        return spec
    settings = ", ".join(f"{key} = {value}" for key, value in spec.items() if key not in ("name", "shared"))
    return f"{spec['name']} ({settings})"
