"""Parameters of an estimator -> overrides of a recipe; what is wrong with them in the estimator's own words."""

from collections.abc import Mapping
from typing import Any

from minbert.config.task import TASK_METRICS
from minbert.errors import UserError, did_you_mean
from minbert.python.fit_input import ONLY_TASK
from minbert.python.options import as_overrides, check_number, refuse_twice, seed_of

# parameter: the setting that it writes, and others that write the same
SETTINGS = {
    "backbone": ("backbone",),
    "learning_rate": ("optimizer.learning_rate",),
    "batch_size": ("defaults.batch_size", f"tasks.{ONLY_TASK}.batch_size"),
    "max_length": ("defaults.max_length", f"tasks.{ONLY_TASK}.max_length", f"tasks.{ONLY_TASK}.task.max_length"),
    "metric": (f"tasks.{ONLY_TASK}.task.metric",),
    "random_state": ("seed",),
}


def checked_overrides(given: Mapping[str, Any]) -> list[str]:
    """`given`: the parameters of an estimator by their names."""
    check_number("learning_rate", given["learning_rate"], "a number above 0", above=0, example=5e-5)
    check_number("batch_size", given["batch_size"], "a whole number of at least 1", above=0, whole=True, example=16)
    check_number("max_length", given["max_length"], "at least 8 (tokens)", above=7, whole=True, example=128)
    chosen = {name: given[name] for name in SETTINGS if name != "random_state" or given[name] != 0}
    refuse_twice(given["settings"], {name: SETTINGS[name] for name, value in chosen.items() if value is not None})
    named = {SETTINGS[name][0]: given[name] for name in ("backbone", "learning_rate", "batch_size", "max_length")}
    return as_overrides(given["settings"], seed=seed_of(given["random_state"]), **named)


def check_metric(metric: Any, kind: str) -> dict[str, str]:
    """The main metric as a setting of a task."""
    if metric is None:
        return {}
    known = TASK_METRICS[kind]
    if metric not in known:
        other = next((name for name, metrics in TASK_METRICS.items() if metric in metrics), None)
        whose = f"; that is a metric of {'Classifier' if other == 'classify' else 'Regressor'}" if other else ""
        raise UserError(
            f"metric is one of {', '.join(known)}, not {metric!r}{whose}.",
            did_you_mean(str(metric), known) if isinstance(metric, str) and not other else f'For example: "{known[1]}"',
        )
    return {"metric": metric}
