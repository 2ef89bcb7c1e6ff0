"""Everything that training needs -> what is wrong or suspicious about its data, before the first step."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from minbert.data.leaks import SplitLeaks, find_split_leaks
from minbert.data.text_keys import ordered_keys
from minbert.runs.split_report import MANY_TRUNCATED, SplitReport, report_split
from minbert.training.prepare import Prepared

# of the tokens or of the rows: warned about, and wrong
SOME_UNKNOWN, MANY_UNKNOWN = 0.05, 0.2
# of the training rows
MANY_CONTRADICTIONS = 0.05
FEW_CLASS_ROWS = 10
FEW_DEV_ROWS = 30
MANY_SKIPPED = 0.05


@dataclass(frozen=True)
class Finding:
    """wrong: the model will be bad or its scores too good; warning: worth a look."""

    severity: Literal["wrong", "warning"]
    task: str
    message: str
    # whether training shows it, too, though nothing is wrong
    before_training: bool = False


@dataclass(frozen=True)
class ExaminedData:
    splits: list[SplitReport]
    leaks: SplitLeaks
    # what is wrong first
    findings: list[Finding]

    @property
    def warnings(self) -> list[str]:
        """What a user should know before training."""
        return [each.message for each in self.findings if each.severity == "wrong" or each.before_training]


def examine_data(ready: Prepared) -> ExaminedData:
    splits = {"train": ready.train, "dev": ready.dev}
    reports, keys = [], {}
    for name in ready.tasks:
        for split, rows in splits.items():
            own = ordered_keys(rows[name].dataset.texts)
            reports.append(report_split(ready, name, split, rows[name], own))
            keys[split, name] = [tuple(sorted(key)) for key in own]
    scored = [name for name in ready.tasks if ready.model.task(name).loss.predicts]
    leaks = find_split_leaks(
        {name: keys["train", name] for name in ready.tasks},
        {name: keys["dev", name] for name in scored},
        {name: ready.dev[name].dataset for name in scored},
    )
    findings = [Finding("wrong", name, leaks.sentence(name)) for name in leaks.counts]
    for train, dev in zip(reports[::2], reports[1::2], strict=True):
        classes = ready.tasks[train.task].kind == "classify"
        findings += [*train_findings(train, classes), *dev_findings(dev, classes)]
        # dev texts are only worth a word if they are unlike the training texts
        findings += list(text_findings(train)) or list(text_findings(dev))
    return ExaminedData(reports, leaks, sorted(findings, key=lambda finding: finding.severity != "wrong"))


def train_findings(found: SplitReport, classes: bool) -> Iterator[Finding]:
    """What is wrong with the training labels of a task."""
    name = found.task
    if found.constant:
        what = "label" if classes else "score"
        yield Finding("wrong", name, f"{name}: all training rows have the same {what}, so there is nothing to learn")
    elif classes:
        empty = [label for label, count in found.labels.items() if not count]
        rare = [f"{label} ({count})" for label, count in found.labels.items() if 0 < count < FEW_CLASS_ROWS]
        if empty:
            yield Finding("wrong", name, f"{name}: no training row has the label {listed(empty)}")
        if rare:
            message = f"{name}: labels with fewer than {FEW_CLASS_ROWS} training rows: {listed(rare)}"
            yield Finding("warning", name, message)
    if found.contradictions:
        share = found.contradictions / found.rows
        yield Finding(
            "wrong" if share > MANY_CONTRADICTIONS else "warning",
            name,
            f"{name}: {found.contradictions:,} training rows ({share:.1%}) have the same texts as a row with another "
            f"{'label' if classes else 'score'}",
        )
    if found.skipped > MANY_SKIPPED * (found.rows + found.skipped):
        yield Finding(
            "warning", name, f"{name}: {found.skipped:,} of {found.rows + found.skipped:,} training rows are skipped"
        )


def dev_findings(found: SplitReport, classes: bool) -> Iterator[Finding]:
    name = found.task
    if found.rows < FEW_DEV_ROWS:
        yield Finding("warning", name, f"{name}: only {found.rows} dev rows, so its scores are rough")
    if found.constant:
        what = "label" if classes else "score"
        yield Finding("warning", name, f"{name}: all dev rows have the same {what}, so its scores mean little")
    elif classes:
        missing = [label for label, count in found.labels.items() if not count]
        if missing:
            yield Finding("warning", name, f"{name}: no dev row has the label {listed(missing)}")


def text_findings(found: SplitReport) -> Iterator[Finding]:
    """Texts that the tokenizer does not know, or that are truncated."""
    rows = "training rows" if found.split == "train" else "dev rows"
    unknown = max(found.unknown_tokens, found.unknown_rows / found.rows)
    if unknown >= SOME_UNKNOWN:
        yield Finding(
            "wrong" if unknown >= MANY_UNKNOWN else "warning",
            found.task,
            f"{found.task}: the tokenizer does not know {found.unknown_tokens:.0%} of the tokens ([UNK]), and in "
            f"{found.unknown_rows:,} of {found.rows:,} {rows} at least half: choose a backbone for this language",
        )
    if found.truncated > MANY_TRUNCATED * found.rows:
        higher = found.suggested_max_length
        yield Finding(
            "warning",
            found.task,
            f"{found.task}: {found.truncated / found.rows:.0%} of the {rows} are truncated at {found.max_length} "
            + (
                f"tokens; to read more of them: --set tasks.{found.task}.max_length={higher}"
                if higher
                else "tokens, the most that the backbone reads"
            ),
            before_training=higher is not None,
        )


def listed(names: list[str], most: int = 8) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
