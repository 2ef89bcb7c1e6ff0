"""[overall] of a recipe -> the terms of the one score that ranks its models."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minbert.config.schema import convert
from minbert.config.task import TASK_METRICS, Task
from minbert.errors import UserError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class OverallTerm:
    """What one metric counts in the overall score."""

    weight: float = 1.0
    # "zero_to_one": (value + 1) / 2, for a correlation
    transform: Literal["none", "zero_to_one"] = "none"

    def __post_init__(self) -> None:
        if self.weight <= 0:
            raise ValueError(f"'weight' should be above 0, not {self.weight:g}")


# "task.metric" = weight, or {weight = 1, transform = "zero_to_one"}; empty: the default
DeclaredOverall = Mapping[str, float | OverallTerm]


def split_measure(measure: str) -> tuple[str, str]:
    """ "sst.accuracy" -> task and metric."""
    task, _, metric = measure.rpartition(".")
    return task, metric


def overall_terms(declared: DeclaredOverall, tasks: Mapping[str, Task]) -> dict[str, OverallTerm]:
    """The declared terms of these tasks; if there are none, the main metric of each task with weight 1."""
    terms = {
        measure: term if isinstance(term, OverallTerm) else OverallTerm(weight=term)
        for measure, term in declared.items()
        if split_measure(measure)[0] in tasks
    }
    return terms or {f"{name}.{task.metric}": OverallTerm() for name, task in tasks.items()}


def check_overall(declared: DeclaredOverall, tasks: Mapping[str, Task], measured: Collection[str], where: str) -> None:
    """Every term must be a metric of a task that is measured."""
    where = f"{where}: [overall]"
    for measure in declared:
        task, metric = split_measure(measure)
        if not task:
            example = next(f"{name}.{known.metric}" for name, known in tasks.items())
            raise UserError(f"{where}: '{measure}' should be task.metric, for example '{example}'.")
        if task not in tasks:
            raise UserError(f"{where}: '{measure}' should be task.metric. {did_you_mean(task, tasks)}")
        known = TASK_METRICS[tasks[task].kind]
        if metric not in known:
            raise UserError(f"{where}: unknown metric '{metric}' of task '{task}'. {did_you_mean(metric, known)}")
        if task not in measured:
            raise UserError(
                f"{where}: task '{task}' only trains the encoder, so it has no {metric}.", "Remove this term."
            )


def flatten_overall(table: Any) -> Any:
    """{sst = {accuracy = 1}}, which TOML makes of sst.accuracy without quotes -> {"sst.accuracy" = 1}."""
    if not isinstance(table, dict):
        return table
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and "." not in name:
            flat |= {f"{name}.{metric}": term for metric, term in value.items()}
        else:
            flat[name] = value
    return flat


def drop_terms(declared: Mapping[str, Any], gone: Collection[str]) -> dict[str, Any]:
    return {measure: term for measure, term in declared.items() if split_measure(measure)[0] not in gone}


def overall_as_table(terms: Mapping[str, OverallTerm]) -> dict[str, Any]:
    """The terms as a recipe writes them."""
    return {
        measure: term.weight if term.transform == "none" else {"weight": term.weight, "transform": term.transform}
        for measure, term in terms.items()
    }


def overall_from(table: Any, where: str) -> dict[str, float | OverallTerm]:
    """The terms of a table as TOML or JSON gives it."""
    try:
        found: dict[str, float | OverallTerm] = convert(table, dict[str, float | OverallTerm], where, "overall")
    except TypeError as wrong:
        raise UserError(f"{where}: 'overall' should be {wrong}.") from None
    return found
