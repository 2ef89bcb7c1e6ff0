"""Adapters: a task's own small parts at the ports of the shared encoder (see `Ports` in bert.py)."""

from collections.abc import Callable

from minbert.adapters.base import Adapter
from minbert.adapters.houlsby import Houlsby
from minbert.adapters.lora import Lora
from minbert.adapters.low_rank import LowRank
from minbert.adapters.pal import Pal
from minbert.adapters.pos_tags import PosTags
from minbert.adapters.top_layer import TopLayer

ADAPTERS: dict[str, Callable[..., Adapter]] = {
    "houlsby": Houlsby,
    "lora": Lora,
    "low_rank": LowRank,
    "pal": Pal,
    "pos_tags": PosTags,
    "top_layer": TopLayer,
}

__all__ = ["ADAPTERS", "Adapter"]
