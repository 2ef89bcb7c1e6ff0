"""What run.json records of leaks and of labels without training rows -> lines with the scores without these rows."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from minbert.plural import plural

if TYPE_CHECKING:
    from minbert.runs.outcomes import TaskOutcome


def score_lines(
    outcomes: "Mapping[str, TaskOutcome]",
    leaks: Mapping[str, Any],
    test_leaks: Mapping[str, Any],
    unseen_labels: Mapping[str, Any],
) -> Iterator[str]:
    """As run.json has them, by task: `leaks`, `test_leaks`: the dev and test rows that are also training rows;
    `unseen_labels`: those whose label no training row has."""
    for split, found in (("dev", leaks), ("test", test_leaks)):
        for name, record in found.items():
            yield from score_line(name, outcomes[name], split, without_leaks(outcomes[name].metric, split, record))
    for name, splits in unseen_labels.items():
        for split, record in splits.items():
            yield from score_line(name, outcomes[name], split, without_unseen(outcomes[name].metric, record))


def score_line(name: str, outcome: "TaskOutcome", split: str, more: str) -> Iterator[str]:
    """The score of the dev or test rows, as far as it is known, and what else is to say of it."""
    value = outcome.value if split == "dev" else outcome.test
    if value is not None:
        yield f"{name}: {'' if split == 'dev' else 'test '}{outcome.metric} {value:.3f}, {more}"


def without_leaks(metric: str, split: str, found: Mapping[str, Any]) -> str:
    """The score without the leaked rows, and next to it those of the controls, as far as they are known."""
    if found["scores_without"] is None:
        return f"all of its {split} rows leaked"
    controls = {"constant": found.get("constant_without"), "untrained": found.get("probe_without")}
    shown = ", ".join(f"{name} {scores[metric]:.3f}" for name, scores in controls.items() if scores)
    beside = f" ({shown})" if shown else ""
    return f"without {plural(found['rows'], 'leaked row')} {found['scores_without'][metric]:.3f}{beside}"


def without_unseen(metric: str, found: Mapping[str, Any]) -> str:
    """The score of the rows that the model can be right about."""
    labels = ", ".join(f"{label} ({count:,})" for label, count in found["labels"].items())
    if found["scores_without"] is None:
        return f"and no training row has the labels of its rows: {labels}"
    rows = f"{plural(found['rows'], 'row')} whose label no training row has"
    return f"without {rows} {found['scores_without'][metric]:.3f}: {labels}"
