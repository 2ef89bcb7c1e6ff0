"""Who trains the cells of a comparison: processes of this machine, or a Ray cluster."""

from minbert.engines.base import Engine, Going
from minbert.engines.local import Local
from minbert.engines.ray import Ray

__all__ = ["ENGINES", "Engine", "Going"]

ENGINES: dict[str, type[Engine]] = {"local": Local, "ray": Ray}
