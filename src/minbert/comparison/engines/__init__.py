"""What trains the trials of a comparison: processes on this machine, or a Ray cluster."""

from minbert.comparison.engines.base import Engine, Returned, TrialProgress
from minbert.comparison.engines.local import LocalEngine
from minbert.comparison.engines.ray import RayEngine

__all__ = ["ENGINES", "Engine", "Returned", "TrialProgress"]

ENGINES: dict[str, type[Engine]] = {"local": LocalEngine, "ray": RayEngine}
