"""Adapters: small modules of one task inside the shared encoder (see `EncoderHooks` in encoder/bert.py)."""

from collections.abc import Callable

from minbert.model.adapters.base import Adapter
from minbert.model.adapters.houlsby import Houlsby
from minbert.model.adapters.lhuc import Lhuc
from minbert.model.adapters.lora import Lora
from minbert.model.adapters.low_rank import LowRank
from minbert.model.adapters.own_layers import OwnLayers
from minbert.model.adapters.pal import Pal
from minbert.model.adapters.pos_tags import PosTags
from minbert.model.adapters.top_layer import TopLayer

ADAPTERS: dict[str, Callable[..., Adapter]] = {
    "houlsby": Houlsby,
    "lhuc": Lhuc,
    "lora": Lora,
    "low_rank": LowRank,
    "own_layers": OwnLayers,
    "pal": Pal,
    "pos_tags": PosTags,
    "top_layer": TopLayer,
}

__all__ = ["ADAPTERS", "Adapter"]
