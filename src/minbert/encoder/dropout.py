"""Dropout with cheap masks from its own random generator.

torch draws one Bernoulli number per element, which costs more than the matrix products around it on a CPU. Here one
64-bit random number decides for four elements, 16 bits each, so a rate is exact to 1/65536.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class DropoutGenerator:
    """The random generator of a model's dropout, so that torch's global one is not used."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def to(self, device: torch.device) -> None:
        """Draw on this device from now on, with a new generator of the same seed."""
        if device != self.generator.device:
            self.generator = torch.Generator(device).manual_seed(self.generator.initial_seed())

    def keep(self, x: Tensor, rate: float) -> Tensor:
        """A mask with the shape of x: true with probability 1 - rate."""
        count = x.numel()
        bits = torch.empty((count + 3) // 4, dtype=torch.int64, device=self.generator.device)
        bits.random_(-(2**63), None, generator=self.generator)
        # at most the largest 16-bit number: one more would overflow and keep everything
        kept = bits.view(torch.int16)[:count] >= min(round(rate * 2**16), 2**16 - 1) - 2**15
        return kept.view(x.shape)

    def mask(self, x: Tensor, rate: float) -> Tensor:
        """What to multiply x by: 0, or 1 / (1 - rate)."""
        scale = torch.full((), 1 / (1 - rate), dtype=x.dtype, device=x.device)
        return torch.where(self.keep(x, rate), scale, torch.zeros_like(scale))

    def state(self) -> Tensor:
        return self.generator.get_state()

    def restore(self, state: Tensor) -> None:
        self.generator.set_state(state)


class Dropout(nn.Module):
    def __init__(self, rate: float, generator: DropoutGenerator) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout {rate} is not at least 0 and below 1")
        self.rate = rate
        self.generator = generator

    @property
    def rate_now(self) -> float:
        return self.rate if self.training else 0.0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.generator.mask(x, self.rate) if self.rate_now else x

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + dropout(y), in one pass over them."""
        return torch.addcmul(x, y, self.generator.mask(y, self.rate)) if self.rate_now else x + y


@contextmanager
def dropout_rate(module: nn.Module, rate: float) -> Iterator[None]:
    """Inside, all dropout of a module uses another rate, except dropout with a rate of 0."""
    before = {part: part.rate for part in module.modules() if isinstance(part, Dropout) and part.rate}
    for part in before:
        part.rate = rate
    try:
        yield
    finally:
        for part, own in before.items():
            part.rate = own
