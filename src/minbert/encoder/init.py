"""How modules come by their first numbers: none at all, or those of a seed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Undrawn(TorchFunctionMode):
    """Leaves weights as they are where a module would draw or fill in its first ones.

    They have no numbers here, and asking torch to draw some nevertheless imports its compiler, which takes two seconds.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


@contextmanager
def blank() -> Iterator[None]:
    """Modules without numbers: to know their shapes, or to give them weights from a file."""
    with torch.device("meta"), Undrawn():
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Initialisation draws from torch's global generator: seed it, and put it back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
