"""Data files, and what their owner says about them -> tasks, with a reason for everything that was found."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from minbert.config.recipe import RESERVED_NAMES
from minbert.config.task import Label, label_key
from minbert.data.column_names import names_id
from minbert.data.column_profile import ColumnProfile, FileProfile, profile_file
from minbert.data.column_request import check_columns
from minbert.data.file_groups import FileGroup, group_files
from minbert.data.infer_labels import label_values
from minbert.data.label_columns import find_labels, holds_several, kind_of_label, label_settings, may_be_label
from minbert.data.label_twins import LabelNames, find_twins
from minbert.data.odd_values import odd_values, odd_values_error
from minbert.data.source import SplitName
from minbert.data.text_columns import check_text, find_text
from minbert.data.unclear_columns import shell_name
from minbert.data.unlabeled_rows import UNLABELED, describe_unlabeled, set_unlabeled_aside
from minbert.errors import UserError
from minbert.plural import plural


@dataclass(frozen=True)
class ColumnChoice:
    """What the owner of the files says about them; what is left out is found."""

    text: tuple[str, ...] = ()
    # one task for each
    label: tuple[str, ...] = ()
    # classify or score
    kind: str = ""
    task: str = ""
    # N/A, NaN and the like are labels
    keep_na: bool = False
    # the values of columns that declare them, in order
    declared: Mapping[str, Sequence[Label]] = field(default_factory=dict)


@dataclass
class FoundTask:
    """A task as it was found in files."""

    name: str
    # as in a task file
    settings: dict[str, Any]
    # setting -> why
    reasons: dict[str, str]


@dataclass
class FoundData:
    """The tasks of a training file and of the dev and test files that belong to it."""

    group: FileGroup
    profiles: dict[SplitName, FileProfile]
    tasks: list[FoundTask] = field(default_factory=list)
    # what else is worth knowing
    notes: list[str] = field(default_factory=list)
    # what is probably a mistake in the files
    warnings: list[str] = field(default_factory=list)

    @property
    def train(self) -> FileProfile:
        return self.profiles["train"]


def infer_tasks(paths: Sequence[Path], choice: ColumnChoice = ColumnChoice()) -> list[FoundData]:
    """The tasks of all files; their names are unique."""
    found = [infer_group(group, choice) for group in group_files(paths)]
    tasks = [task for data in found for task in data.tasks]
    if choice.task and len(tasks) > 1:
        raise several_tasks(found)
    if choice.task:
        tasks[0].name = choice.task
    make_names_unique(found)
    return found


def several_tasks(found: Sequence[FoundData]) -> UserError:
    """--task, and more than one task to give the name to."""
    labels = [str(task.settings["label"]) for data in found for task in data.tasks]
    make_names_unique(found)
    names = ", ".join(task.name for data in found for task in data.tasks)
    if len(found) == 1:
        how = f"Choose one of them, for example with --label {shell_name(labels[0])}, or leave out --task."
    else:
        how = "Leave out --task: without it they have these names. Or name the files of one task only."
    return UserError(f"--task names one task, and {len(labels)} were found: {names}.", how)


def check_choice(choice: ColumnChoice) -> None:
    for option, names in (("--text", choice.text), ("--label", choice.label)):
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"{option} names the column '{name}' twice.", "Name each column once.")
    if choice.task in RESERVED_NAMES:
        raise UserError(
            f"A task cannot be called '{choice.task}': {RESERVED_NAMES[choice.task]}.",
            f"Use another name, for example: --task {choice.task}_",
        )


def infer_group(group: FileGroup, choice: ColumnChoice) -> FoundData:
    check_choice(choice)
    profiles = {role: profile_file(path, choice.keep_na) for role, path in group.files.items()}
    found = FoundData(group, profiles)
    text, text_reason = find_text(found.train, choice.text)
    check_text(found.train, text)
    labels, label_reason = find_labels(found.train, text, choice.label, choice.kind)
    twins = find_twins(found.train, labels) if not choice.label else {}
    for label in labels:
        if label not in [twin.column for twin in twins.values()]:
            task = infer_task(found, text, label, choice, twins.get(label))
            task.reasons = {"text": text_reason, "label": label_reason, **task.reasons}
            found.tasks.append(task)
    others = [column for column in found.train.columns.values() if column.name not in (*text, *labels)]
    for column in others:
        if not choice.label and may_be_label(column) and not holds_several(column):
            found.notes.append(
                f"column '{column.name}' ({column.different}) is left out; to learn it: --label {column.name}"
            )
    if found.train.bad_rows:
        found.notes.append(f"{plural(found.train.bad_rows, 'row')} cannot be read")
    found.warnings += [warning for profile in profiles.values() for warning in profile.row_warnings()]
    return found


def infer_task(
    found: FoundData, text: list[str], label: str, choice: ColumnChoice, twin: LabelNames | None
) -> FoundTask:
    """The settings of one task, in the order of a task file."""
    files = labeled_files(found, text, label)
    values = values_of_label(found, files, text, label)
    if choice.kind != "classify" and (odd := odd_values(values)):
        raise odd_values_error(found.train, values, odd)
    declared = choice.declared.get(label, ())
    what, kind_reason = kind_of_label(values, choice.kind, len(text) == 2)
    if declared and not choice.kind:
        what, kind_reason = "classify", "the column declares its values"
    more, more_reason = label_settings(found.train, values, what)
    if declared and what == "classify":
        more = {"labels": declared_first(declared, more["labels"])}
        more_reason = "in the order that the column declares"
    reasons = {"kind": kind_reason, **dict.fromkeys(more, more_reason)}
    settings: dict[str, Any] = {"kind": what, "text": text, "label": label, **more}
    if twin and what == "classify" and all(label_key(value) in twin.names for value in more["labels"]):
        settings["label_names"] = [twin.names[label_key(value)] for value in more["labels"]]
        reasons["label_names"] = f"column '{twin.column}' has a name for each value"
    if (identity := find_id(found.train, [*text, label])) not in ("", "id"):
        settings["id"], reasons["id"] = identity, "a different value in every row"
    if values.na:
        settings["na_values"], reasons["na_values"] = sorted(values.na), na_reason(values, what)
    if what == "classify" and (alike := same_but_case(more["labels"])):
        found.warnings.append(
            f"{label}: labels that differ only in case are different labels ({alike}). If they mean the same, write "
            "them in the same way"
        )
    if not choice.keep_na and (words := [key for key in values.counts if key in ("NA", "None")]):
        found.notes.append(f"{label}: {', '.join(words)} is read as a label; if it means that there is none, empty it")
    if missing := rows_without(found, files, text, label):
        settings["missing"], reasons["missing"] = "skip", missing
    settings["files"] = {role: str(path.resolve()) for role, path in files.items()}
    return FoundTask(legal_name(label), settings, reasons)


def declared_first(declared: Sequence[Label], found: Sequence[Label]) -> list[Label]:
    """The labels in their declared order, and then those that only the rows have."""
    known = {label_key(label) for label in declared}
    return [*declared, *(label for label in found if label_key(label) not in known)]


def labeled_files(found: FoundData, text: Sequence[str], label: str) -> dict[SplitName, Path]:
    """The files that have the columns of a task; a test file without labels is left out."""
    files = {}
    set_unlabeled_aside({role: each.columns[label] for role, each in found.profiles.items() if label in each.columns})
    for role, profile in found.profiles.items():
        check_columns(profile.path, text, list(profile.columns), profile.description)
        column = profile.columns.get(label)
        if role == "test" and column is None:
            found.notes.append(f"{profile.path.name} has no '{label}': predict it with `minbert predict --input`")
            continue
        if role == "test" and column is not None:
            if said := describe_unlabeled(column, profile.path.name):
                found.warnings.append(said)
            if not column.filled:
                continue
        check_columns(profile.path, [label], list(profile.columns), profile.description)
        files[role] = profile.path
    return files


def values_of_label(found: FoundData, files: dict[SplitName, Path], text: Sequence[str], label: str) -> ColumnProfile:
    """What the label column holds in all files, in the rows that have texts."""
    profiles = {}
    for role, path in files.items():
        values = found.profiles[role].columns[label]
        if any(found.profiles[role].columns[name].missing for name in text):
            settled, values = values, ColumnProfile(label)
            for value, usable in label_values(path, text, label):
                if usable:
                    values.add(value)
            # as in the whole column: its words are values if none of them was missing
            values.settle_missing_words(not settled.na)
        profiles[role] = values
    set_unlabeled_aside(profiles)
    return reduce(ColumnProfile.merge, profiles.values())


def na_reason(values: ColumnProfile, kind: str) -> str:
    rows = f"{plural(sum(values.na.values()), 'row')}, read as missing"
    return (
        rows if kind == "score" or set(values.na) == {UNLABELED} else f"{rows}; to learn them as labels, use --keep-na"
    )


def same_but_case(labels: Sequence[Label]) -> str:
    """The labels that are the same but for upper and lower case, or nothing."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(str(label).casefold(), []).append(str(label))
    return "; ".join(", ".join(group) for group in groups.values() if len(group) > 1)


def rows_without(found: FoundData, files: dict[SplitName, Path], text: Sequence[str], label: str) -> str:
    """How many rows lack a value, in words; nothing if all have them."""
    profiles = [found.profiles[role].columns for role in files]
    counts = [columns[name].missing for columns in profiles for name in text]
    counts += [columns[label].missing + sum(columns[label].na.values()) for columns in profiles]
    if not any(counts):
        return ""
    # a row may lack several: more than one count gives only a lower bound
    least = "" if sum(map(bool, counts)) == 1 else "at least "
    return f"{least}{plural(max(counts), 'row')} {'has' if max(counts) == 1 else 'have'} no text or no label"


def find_id(found: FileProfile, used: Sequence[str]) -> str:
    def is_id(column: ColumnProfile) -> bool:
        return column.name not in used and names_id(column.name) and not column.missing and column.repeats == 1

    return next((column.name for column in found.columns.values() if is_id(column)), "")


def legal_name(name: str) -> str:
    """A column's name as the name of a task: letters, digits, - and _."""
    legal = re.sub(r"[^\w-]+", "_", name).strip("_-") or "task"
    return f"{legal}_" if legal in RESERVED_NAMES else legal


def make_names_unique(found: Sequence[FoundData]) -> None:
    """Tasks with the same label column are called like their files."""
    names = [task.name for data in found for task in data.tasks]
    for data in found:
        for task in data.tasks:
            if names.count(task.name) > 1:
                stem = legal_name(data.group.stem)
                task.name = stem if len(data.tasks) == 1 else f"{stem}_{task.name}"
    used: set[str] = set()
    for data in found:
        for task in data.tasks:
            base, number = task.name, 2
            while task.name in used:
                task.name, number = f"{base}_{number}", number + 1
            used.add(task.name)
