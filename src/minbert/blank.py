"""Modules without numbers: to know their shapes, or to give them weights from a file."""

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
    with torch.device("meta"), Undrawn():
        yield
