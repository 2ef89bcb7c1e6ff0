"""Pairings: how the two texts of a pair are encoded. `layout` says which sequences are made of them; the module itself
maps the encoder's T x D token vectors to T x D."""

from collections.abc import Callable

from minbert.model.pairings.base import Pairing
from minbert.model.pairings.bi_encoder import BiEncoder
from minbert.model.pairings.combined import Combined
from minbert.model.pairings.cross_attention import CrossAttention
from minbert.model.pairings.cross_encoder import CrossEncoder
from minbert.model.pairings.simcse import SimCse
from minbert.model.pairings.task_attention import TaskAttention

PAIRINGS: dict[str, Callable[..., Pairing]] = {
    "bi_encoder": BiEncoder,
    "combined": Combined,
    "cross_attention": CrossAttention,
    "cross_encoder": CrossEncoder,
    "task_attention": TaskAttention,
    "simcse": SimCse,
}

__all__ = ["PAIRINGS", "Pairing"]
