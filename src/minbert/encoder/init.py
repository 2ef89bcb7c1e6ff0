"""How modules are initialized: not at all, or with random numbers of a seed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class SkipInit(TorchFunctionMode):
    """Skips the functions of torch.nn.init.

    Weights on the meta device have no values, and initializing them anyway imports torch's compiler, which takes two
    seconds.
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
def empty_weights() -> Iterator[None]:
    """Modules made inside have weights without values: to count them, or to load values from a file."""
    with torch.device("meta"), SkipInit():
        yield


@contextmanager
def seeded_init(seed: int) -> Iterator[None]:
    """Initialization draws from torch's global generator: seed it, and restore it afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
