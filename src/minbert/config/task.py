"""tasks/x.toml -> Task: columns, labels, metric and files of one task."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from minbert.config.schema import fill_settings
from minbert.errors import UserError, did_you_mean

STANDARD = Path(__file__).parent / "tasks"
TASK_METRICS = {
    "classify": ("accuracy", "macro_f1", "f1", "log_loss"),
    "score": ("pearson", "spearman", "mse", "mae"),
}
Label = str | int | float | bool
# tokens per example
DEFAULT_MAX_LENGTH = 128
# 1.0 is how pandas writes 1 in a column with empty cells; 01 is a code, and 1.10 may be a version
WHOLE_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")


@dataclass(frozen=True, kw_only=True)
class Files:
    """Paths of the data files, relative to the data root or to the task's own file."""

    train: str | None = None
    dev: str | None = None
    test: str | None = None


@dataclass(frozen=True)
class Task:
    """One task: which columns hold the texts and the label, and how predictions are scored."""

    name: str
    folder: Path
    _: KW_ONLY
    kind: Literal["classify", "score"]
    text: tuple[str, ...]
    label: str
    # classify: the values of the label column, in order; left out, they are taken from the training file
    labels: tuple[str | int | float | bool, ...] = ()
    # classify: names to show instead of the values
    label_names: tuple[str, ...] = ()
    # score: the lowest and the highest possible score
    range: tuple[float, ...] = ()
    metric: str = ""
    files: Files = field(default_factory=Files)
    id: str = "id"
    # the fraction of the training rows that become dev rows when there is no dev file
    dev_split: float = 0.1
    # left out: chosen for the data if the recipe has no stages, else 128
    max_length: int | None = None
    class_weights: tuple[float, ...] | Literal["balanced"] | None = None
    # classify with two labels: the second is predicted from this probability on; left out: the more probable one
    threshold: float | None = None
    # what to do with rows whose texts or label are empty
    missing: Literal["error", "skip"] = "error"
    # values of the label column that are read as empty, such as "N/A"
    na_values: tuple[str, ...] = ()
    delimiter: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        if len(self.text) not in (1, 2):
            raise ValueError("'text' names one or two columns")
        if self.label in self.text:
            raise ValueError(f"the column '{self.label}' cannot be both text and label")
        if len(self.delimiter) > 1 or self.delimiter in ('"', "\r", "\n"):
            raise ValueError("'delimiter' is one character")
        if self.kind == "score":
            if len(self.range) != 2 or not self.range[0] < self.range[1]:
                raise ValueError("a score needs 'range = [lowest, highest]'")
            if self.labels or self.label_names or self.class_weights:
                raise ValueError("'labels', 'label_names' and 'class_weights' are for kind = \"classify\"")
        elif self.range:
            raise ValueError("'range' is for kind = \"score\"")
        keys = self.label_keys
        if len(set(keys)) != len(keys) or len(keys) == 1:
            raise ValueError("'labels' needs at least two different values")
        if self.label_names and (len(self.label_names) != len(keys) or len(set(self.label_names)) != len(keys)):
            raise ValueError(f"'label_names' needs a different name for each of the {len(keys)} 'labels'")
        if isinstance(self.class_weights, tuple) and len(self.class_weights) != len(keys):
            raise ValueError(f"{len(self.class_weights)} class weights for {len(keys)} labels")
        if isinstance(self.class_weights, tuple) and any(weight < 0 for weight in self.class_weights):
            raise ValueError("'class_weights' are at least 0")
        if self.threshold is not None and (len(keys) != 2 or not 0 < self.threshold < 1):
            raise ValueError("'threshold' is a probability between 0 and 1, for tasks with two 'labels'")
        if not 0 < self.dev_split < 1:
            raise ValueError("'dev_split' is a fraction between 0 and 1")
        if self.max_length is not None and self.max_length < 8:
            raise ValueError("'max_length' is at least 8 tokens")
        if not self.metric:
            object.__setattr__(self, "metric", TASK_METRICS[self.kind][0])
        if self.metric not in TASK_METRICS[self.kind]:
            raise ValueError(f"unknown metric '{self.metric}'. {did_you_mean(self.metric, TASK_METRICS[self.kind])}")

    @property
    def paired(self) -> bool:
        return len(self.text) == 2

    @property
    def most_tokens(self) -> int:
        """Of an example, unless the recipe says otherwise."""
        return self.max_length or DEFAULT_MAX_LENGTH

    @property
    def choices(self) -> tuple[Any, ...]:
        """The possible predictions: only models with the same choices can be averaged."""
        return self.kind, self.label_keys, self.range

    @property
    def label_keys(self) -> tuple[str, ...]:
        return tuple(label_key(value) for value in self.labels)

    @property
    def display_labels(self) -> tuple[str, ...]:
        """The labels of a classify task as they are shown."""
        return self.label_names or self.label_texts

    @property
    def label_texts(self) -> tuple[str, ...]:
        """The labels of a classify task as `labels` writes them."""
        return tuple(written_label(value) for value in self.labels)

    def with_labels(self, labels: tuple[Label, ...]) -> "Task":
        return replace(self, labels=labels)

    def with_threshold(self, threshold: float | None) -> "Task":
        return replace(self, threshold=threshold)

    def with_class_weights(self, weights: tuple[float, ...]) -> "Task":
        return replace(self, class_weights=weights)

    def as_settings(self) -> dict[str, Any]:
        """The task as a table that `task_from` reads back; unset fields are left out."""
        settings = {k: v for k, v in asdict(self).items() if k not in ("name", "folder") and v not in (None, "", ())}
        settings["files"] = {k: v for k, v in settings["files"].items() if v is not None}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items() if v != {}}


def label_key(value: object) -> str:
    """One spelling for each label: 1, 1.0, "1" and " 1.0 " are the same label, and true, "True" and "TRUE"."""
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    whole = WHOLE_NUMBER.fullmatch(text)
    return text if whole is None else "0" if whole[1] == "-0" else whole[1]


def written_label(value: Label) -> str:
    """The text of a label as its file writes it: 0.0 where that is a text, and true, not Python's True."""
    return value.strip() if isinstance(value, str) else label_key(value)


def task_from(name: str, folder: Path, settings: Mapping[str, Any], where: str) -> Task:
    """A task from a table as TOML or JSON gives it."""
    return fill_settings(Task, settings, where, f"task '{name}'", name, folder)


def read_task(name: str, spec: str | Mapping[str, Any] = "", beside: Path | None = None, where: str = "") -> Task:
    """The task in a file (a path, relative to `beside`), a standard task by its name, or one from its settings.

    Settings with a `name` change the task of that name: {name = "sst", max_length = 64}.
    """
    if isinstance(spec, Mapping):
        settings = dict(spec)
        based_on = settings.pop("name", "")
        folder, base = read_task_table(based_on, beside) if based_on else (beside or Path(), {})
        return task_from(name, folder, base | settings, where or f"task '{name}'")
    folder, settings = read_task_table(spec or name, beside)
    return task_from(name, folder, settings, str(find_task(spec or name, beside)))


def read_task_table(spec: str, beside: Path | None) -> tuple[Path, dict[str, Any]]:
    """The folder of a task file, and its settings."""
    path = find_task(spec, beside)
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise UserError(f"{path}: not TOML: {wrong}") from None
    if {"tasks", "extends"} & set(settings) and not is_task_table(settings):
        raise UserError(
            f"{path}: is a recipe, not a task file: it says how to train, and a task file what to learn.",
            f"Name one of its task files, or train it with `minbert train {path.name}`.",
        )
    return path.parent, settings


def is_task_table(table: Mapping[str, Any]) -> bool:
    """Whether a table has settings that every task has and no recipe."""
    return bool({"kind", "text", "label"} & set(table))


def find_task(spec: str, beside: Path | None) -> Path:
    for path in ((beside or Path()) / spec, Path(spec)):
        if path.suffix == ".toml" and path.is_file():
            return path.resolve()
    path = STANDARD / f"{spec}.toml"
    if path.is_file():
        return path
    raise UserError(
        f"There is no task '{spec}'. {did_you_mean(spec, standard_tasks())}",
        "Name a standard task (`minbert tasks`) or the path of a task file that ends in .toml.",
    )


def standard_tasks() -> list[str]:
    return sorted(p.relative_to(STANDARD).with_suffix("").as_posix() for p in STANDARD.rglob("*.toml"))
