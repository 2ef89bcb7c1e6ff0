"""Who trains the cells of a comparison: processes of this machine, or a Ray cluster."""

from minbert.comparison.engines.base import Engine, Going
from minbert.comparison.engines.local import Local
from minbert.comparison.engines.ray import Ray

__all__ = ["ENGINES", "Engine", "Going"]

ENGINES: dict[str, type[Engine]] = {"local": Local, "ray": Ray}
