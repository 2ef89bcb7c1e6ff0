"""Everything that training needs -> what is wrong or suspicious about its data, before the first step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from minbert.data.leaks import SplitLeaks, find_split_leaks
from minbert.data.rejects import describe_reasons
from minbert.data.text_keys import ExampleKey, example_keys, ordered_keys
from minbert.plural import plural
from minbert.runs.split_report import SplitReport, report_split
from minbert.runs.unseen_labels import find_unseen_labels
from minbert.training.auto_length import MANY_TRUNCATED
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
    # what is learned, what is left out, how far the scores can be trusted, and what the encoder sees of the texts
    about: Literal["labels", "skipped rows", "scores", "texts"] = "labels"


@dataclass(frozen=True)
class ExaminedData:
    splits: list[SplitReport]
    leaks: SplitLeaks
    # test rows that are also training or dev rows
    test_leaks: SplitLeaks
    # what is wrong first
    findings: list[Finding]

    @property
    def all_leaks(self) -> tuple[SplitLeaks, ...]:
        return self.leaks, self.test_leaks

    @property
    def warnings(self) -> list[str]:
        """What a user should know before training."""
        return [finding.message for finding in self.findings]


def examine_data(ready: Prepared) -> ExaminedData:
    splits = {"train": ready.train, "dev": ready.dev, "test": ready.test}
    reports: dict[tuple[str, str], SplitReport] = {}
    keys: dict[tuple[str, str], list[ExampleKey]] = {}
    for name in ready.tasks:
        for split, rows in splits.items():
            if name in rows:
                own = ordered_keys(rows[name].dataset.texts)
                reports[split, name] = report_split(ready, name, split, rows[name], own)
                keys[split, name] = [tuple(sorted(key)) for key in own]
    leaks, test_leaks = leaks_of(ready, keys)
    findings = [
        Finding("wrong", name, found.sentence(name), "scores") for found in (leaks, test_leaks) for name in found.counts
    ]
    for name in ready.tasks:
        findings += task_findings(ready, name, [reports[split, name] for split in splits if (split, name) in reports])
    findings.sort(key=lambda finding: finding.severity != "wrong")
    return ExaminedData(list(reports.values()), leaks, test_leaks, findings)


def leaks_of(ready: Prepared, keys: Mapping[tuple[str, str], Sequence[ExampleKey]]) -> tuple[SplitLeaks, SplitLeaks]:
    """The leaks of dev rows into training rows, and of test rows into both. `keys`: of each split and task."""
    scored = [name for name in ready.tasks if ready.model.task(name).loss.predicts]
    seen = {name: list(keys["train", name]) for name in ready.tasks}
    for name, split in ready.validation.items():
        # they are from the training file, and choose the model
        seen[name] += example_keys(split.dataset.texts)
    leaks = find_split_leaks(
        seen,
        {name: keys["dev", name] for name in scored},
        {name: ready.dev[name].dataset for name in scored},
    )
    test_leaks = find_split_leaks(
        {name: [*seen[name], *keys["dev", name]] for name in ready.tasks},
        {name: keys["test", name] for name in ready.test},
        {name: split.dataset for name, split in ready.test.items()},
        "test",
    )
    return leaks, test_leaks


def task_findings(ready: Prepared, name: str, splits: Sequence[SplitReport]) -> Iterator[Finding]:
    """Of one task. `splits`: its training rows first."""
    train, *others = splits
    task = ready.tasks[name]
    classes, held_out = task.kind == "classify", task.files.dev is None
    # the labels of other rows that no training row has are told with these rows
    nowhere = [label for label, count in train.labels.items() if not count and not any(o.labels[label] for o in others)]
    yield from train_findings(train, classes, nowhere)
    if not train.constant:
        yield from unseen_findings(ready, name)
    yield from skip_findings(train, others[0].rows if held_out else 0)
    yield from length_findings(ready, name)
    yield from unlabeled_findings(ready, name)
    for other in others:
        yield from scored_findings(other, classes, held_out and other.split == "dev")
    # texts of the other rows are only worth a word if they are unlike the training texts
    yield from list(text_findings(train)) or [each for other in others for each in text_findings(other)]


def train_findings(found: SplitReport, classes: bool, nowhere: list[str]) -> Iterator[Finding]:
    """What is wrong with the training labels of a task. `nowhere`: labels that no row has."""
    name = found.task
    if found.constant:
        what = "label" if classes else "score"
        yield Finding("wrong", name, f"{name}: all training rows have the same {what}, so there is nothing to learn")
    elif classes:
        rare = [f"{label} ({count})" for label, count in found.labels.items() if 0 < count < FEW_CLASS_ROWS]
        if nowhere:
            yield Finding("wrong", name, f"{name}: no training row has {label_list(nowhere)}")
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


def unseen_findings(ready: Prepared, name: str) -> Iterator[Finding]:
    """Dev and test rows whose label no training row has."""
    labels = ready.train[name].dataset.labels
    trained = set() if labels is None else set(labels.tolist())
    for split, rows in (("dev", ready.dev), ("test", ready.test)):
        found = find_unseen_labels(ready.tasks[name], rows[name].dataset, trained) if name in rows else None
        if found is not None:
            have = "has" if found.count == 1 else "have"
            shown = listed([f"{label} ({count:,})" for label, count in found.labels.items()])
            yield Finding(
                "wrong",
                name,
                f"{name}: {found.count:,} of {len(found.rows):,} {split} rows {have} a label that no training row has: "
                f"{shown}, such as {found.sample}; no model can learn it, so "
                f"{'it counts as an error' if found.count == 1 else 'these rows count as errors'}",
                "scores",
            )


def skip_findings(found: SplitReport, held_out: int) -> Iterator[Finding]:
    """`held_out`: training rows that became dev rows."""
    given = found.rows + held_out + found.skipped
    if found.skipped > MANY_SKIPPED * given:
        yield Finding(
            "warning",
            found.task,
            f"{found.task}: {found.skipped:,} of {given:,} training rows are skipped: "
            f"{describe_reasons(found.skip_reasons)}",
            "skipped rows",
        )


def length_findings(ready: Prepared, name: str) -> Iterator[Finding]:
    """A max_length that the backbone cannot read."""
    asked = ready.recipe.tasks[name].max_length or ready.tasks[name].max_length
    limit = ready.model.task(name).max_length
    if asked is not None and asked > limit:
        message = f"max_length {asked:,} is more than the backbone reads: at most {limit} tokens of each row are read"
        yield Finding("warning", name, f"{name}: {message}", "texts")


def unlabeled_findings(ready: Prepared, name: str) -> Iterator[Finding]:
    """A test file without a column of labels."""
    task = ready.tasks[name]
    if task.files.test is not None and name not in ready.test and ready.model.task(name).loss.predicts:
        message = f"its test file has no column '{task.label}', so there is no test score"
        yield Finding("warning", name, f"{name}: {message}; predict it with `minbert predict --input`", "scores")


def scored_findings(found: SplitReport, classes: bool, held_out: bool) -> Iterator[Finding]:
    """Of dev or test rows. `held_out`: they are split off the training file."""
    name, split = found.task, found.split
    if found.rows < FEW_DEV_ROWS:
        yield Finding(
            "warning", name, f"{name}: only {plural(found.rows, f'{split} row')}, so its scores are rough", "scores"
        )
    if found.constant:
        what = "label" if classes else "score"
        yield Finding(
            "warning", name, f"{name}: all {split} rows have the same {what}, so its scores mean little", "scores"
        )
    elif classes:
        missing = [label for label, count in found.labels.items() if not count]
        if missing:
            why = ", too rare to hold out a row of each" if held_out else ""
            yield Finding("warning", name, f"{name}: no {split} row has {label_list(missing)}{why}", "scores")


def text_findings(found: SplitReport) -> Iterator[Finding]:
    """Texts that the tokenizer does not know, or that are truncated."""
    rows = "training rows" if found.split == "train" else f"{found.split} rows"
    unknown = unknown_share([found], found.task)
    if unknown >= SOME_UNKNOWN:
        yield Finding(
            "wrong" if unknown >= MANY_UNKNOWN else "warning",
            found.task,
            f"{found.task}: the tokenizer does not know {found.unknown_tokens:.0%} of the tokens ([UNK]), and in "
            f"{found.unknown_rows:,} of {found.rows:,} {rows} at least half: choose a backbone for this language, "
            "such as --set backbone=bert-multilingual (`minbert models`)",
            "texts",
        )
    if found.truncated > MANY_TRUNCATED * found.rows:
        higher = found.suggested_max_length
        yield Finding(
            "warning",
            found.task,
            f"{found.task}: {found.truncated / found.rows:.0%} of the {rows} are truncated at {found.max_length} "
            + (
                f"tokens; to read more: --set tasks.{found.task}.max_length={higher}"
                if higher
                else "tokens, the most that the backbone reads"
            ),
            "texts",
        )


def unknown_share(splits: Sequence[SplitReport], name: str) -> float:
    """The fraction of a task's tokens that the tokenizer does not know, or of rows in which it is at least half.

    The larger of the two, in the split where it is largest.
    """
    own = [split for split in splits if split.task == name]
    return max(max(split.unknown_tokens, split.unknown_rows / split.rows) for split in own)


def label_list(labels: list[str]) -> str:
    """the label a; any of the labels a, b."""
    return f"{'the label' if len(labels) == 1 else 'any of the labels'} {listed(labels)}"


def listed(names: list[str], most: int = 8) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
