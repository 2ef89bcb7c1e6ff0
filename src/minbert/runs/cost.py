"""A finished run -> what it cost: time, steps, examples, tokens, parameters, memory, disk."""

import sys
from pathlib import Path

from minbert.config.recipe import Recipe
from minbert.encoder.bert import BertConfig
from minbert.runs.metrics_log import logged_cost
from minbert.training.prepare import parameter_counts


def run_cost(run: Path, recipe: Recipe, config: BertConfig, seconds: float, memory: int) -> dict[str, float]:
    """`seconds` of training steps alone; `memory`: bytes of the process at its largest."""
    counts = parameter_counts(recipe, config)
    return {
        "seconds": round(seconds, 2),
        **logged_cost(run),
        "total": counts["total"],
        "trainable": counts["trainable"],
        "memory": memory,
        "size": sum(path.stat().st_size for path in (run / "model").rglob("*") if path.is_file()),
    }


def peak_memory() -> int:
    """Bytes of this process at its largest; 0 on Windows, where Python cannot ask."""
    try:
        import resource
    except ImportError:
        return 0
    # Linux counts in KiB, macOS in bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
