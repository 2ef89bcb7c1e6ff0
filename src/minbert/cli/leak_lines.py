"""The leaks that a run's run.json records -> lines with the scores without the leaked rows."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from minbert.plural import plural

if TYPE_CHECKING:
    from minbert.runs.outcomes import TaskOutcome


def leak_lines(
    outcomes: "Mapping[str, TaskOutcome]", leaks: Mapping[str, Any], test_leaks: Mapping[str, Any]
) -> Iterator[str]:
    """`leaks`, `test_leaks`: by task, the dev and test rows that are also training rows, as run.json has them."""
    for name, found in leaks.items():
        outcome = outcomes[name]
        yield f"{name}: {outcome.metric} {outcome.value:.3f}, {without_leaks(outcome.metric, 'dev', found)}"
    for name, found in test_leaks.items():
        outcome = outcomes[name]
        if outcome.test is not None:
            yield f"{name}: test {outcome.metric} {outcome.test:.3f}, {without_leaks(outcome.metric, 'test', found)}"


def without_leaks(metric: str, split: str, found: Mapping[str, Any]) -> str:
    """The score without the leaked rows, and next to it those of the controls, as far as they are known."""
    if found["scores_without"] is None:
        return f"all of its {split} rows leaked"
    controls = {"constant": found.get("constant_without"), "untrained": found.get("probe_without")}
    shown = ", ".join(f"{name} {scores[metric]:.3f}" for name, scores in controls.items() if scores)
    beside = f" ({shown})" if shown else ""
    return f"without {plural(found['rows'], 'leaked row')} {found['scores_without'][metric]:.3f}{beside}"
