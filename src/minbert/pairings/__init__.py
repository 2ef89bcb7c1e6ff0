"""Pairings: how the two texts of a pair meet. `layout` says how they are laid out as sequences; the module
itself maps the encoder's T x D token vectors to T x D."""

from collections.abc import Callable

from minbert.pairings.apart import Apart
from minbert.pairings.base import Pairing
from minbert.pairings.joined import Joined

PAIRINGS: dict[str, Callable[..., Pairing]] = {
    "apart": Apart,
    "joined": Joined,
}

__all__ = ["PAIRINGS", "Pairing"]
