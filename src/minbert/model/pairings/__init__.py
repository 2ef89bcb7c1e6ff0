"""Pairings: how the two texts of a pair meet. `layout` says how they are laid out as sequences; the module
itself maps the encoder's T x D token vectors to T x D."""

from collections.abc import Callable

from minbert.model.pairings.apart import Apart
from minbert.model.pairings.base import Pairing
from minbert.model.pairings.cross_attention import CrossAttention
from minbert.model.pairings.joined import Joined
from minbert.model.pairings.task_attention import TaskAttention
from minbert.model.pairings.twice import Twice

PAIRINGS: dict[str, Callable[..., Pairing]] = {
    "apart": Apart,
    "cross_attention": CrossAttention,
    "joined": Joined,
    "task_attention": TaskAttention,
    "twice": Twice,
}

__all__ = ["PAIRINGS", "Pairing"]
