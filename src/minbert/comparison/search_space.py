"""--over optimizer.learning_rate=5e-5,1.5e-4 -> the values of a setting to try; settings -> all their combinations."""

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from minbert.errors import UserError

OVER_EXAMPLE = (
    "For example: --over optimizer.learning_rate=5e-5,1.5e-4,5e-4, or with --trials a range: "
    "--over optimizer.learning_rate=1e-5..1e-3"
)
PLAIN_NUMBER = r"[-+]?(?:\d+(?:_?\d+)*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"\s*({PLAIN_NUMBER})\s*\.\.\s*({PLAIN_NUMBER})\s*")
# positive ranges whose ends differ by this factor are sampled on a log scale
LOG_FACTOR = 10
# what a task reads and how it is scored: other values would be another problem, not another solution
FIXED_TASK_SETTINGS = {"kind", "text", "label", "labels", "range", "metric", "files", "id", "dev_split", "delimiter"}
FIXED_TASK_SETTINGS |= {"missing", "na_values", "label_names"}


@dataclass(frozen=True)
class Dimension:
    """A setting and what is tried: some values as they are written, or a range of numbers."""

    path: str
    values: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    whole: bool = False

    @property
    def is_range(self) -> bool:
        return not self.values

    @property
    def log(self) -> bool:
        return self.low > 0 and self.high >= LOG_FACTOR * self.low

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition(".")[2]

    def corners(self) -> tuple[str, ...]:
        """What must be valid: every value, or both ends."""
        return self.values or (self.written(self.low), self.written(self.high))

    def written(self, value: float) -> str:
        """A number of the range as it is written into a recipe; four digits are more than any score can tell."""
        return str(round(value)) if self.whole else repr(float(f"{value:.4g}"))


@dataclass(frozen=True)
class Candidate:
    """One combination of settings: (path, value as it is written)."""

    settings: tuple[tuple[str, str], ...]

    @property
    def overrides(self) -> list[str]:
        return [f"{path}={value}" for path, value in self.settings]

    def value_of(self, path: str) -> Any:
        return parse_value(dict(self.settings)[path])

    @property
    def label(self) -> str:
        """With the last part of each path, where it is clear."""
        names = [path.rpartition(".")[2] for path, _ in self.settings]
        return ", ".join(
            f"{name if names.count(name) == 1 else path}={value}"
            for name, (path, value) in zip(names, self.settings, strict=True)
        )


def parse_value(text: str) -> Any:
    """A value as --set reads it: TOML, or else a plain string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def parse_dimensions(over: Sequence[str]) -> list[Dimension]:
    if not over:
        raise UserError("There is no setting to tune.", OVER_EXAMPLE)
    found = [parse_dimension(each) for each in over]
    paths = [each.path for each in found]
    for path in paths:
        if paths.count(path) > 1:
            raise UserError(f"--over {path} is given twice.", "Give all its values once, with commas.")
    return found


def parse_dimension(text: str) -> Dimension:
    path, equals, rest = text.partition("=")
    path = path.strip()
    if not equals or not path or not rest.strip():
        raise UserError(f"--over {text}: not of the form SETTING=VALUE,VALUE.", OVER_EXAMPLE)
    refuse_untunable(path)
    ends = RANGE.fullmatch(rest)
    if ends is not None:
        return range_dimension(path, ends[1], ends[2], text)
    values = split_values(rest)
    if not all(values):
        raise UserError(f"--over {text}: a value is missing between two commas.", OVER_EXAMPLE)
    # 1e-4 and 0.0001 are the same value
    unique = list({repr(parse_value(value)): value for value in reversed(values)}.values())[::-1]
    return Dimension(path, tuple(unique))


def range_dimension(path: str, first: str, last: str, text: str) -> Dimension:
    whole = all(re.fullmatch(r"[-+]?\d+", each) for each in (first, last))
    low, high = float(first), float(last)
    if not low < high or not math.isfinite(high):
        raise UserError(f"--over {text}: a range goes from a smaller to a larger number.", OVER_EXAMPLE)
    return Dimension(path, (), low, high, whole)


def refuse_untunable(path: str) -> None:
    steps = path.split(".")
    if path == "seed":
        raise UserError(
            "--over seed: a seed is not tuned: the best of several seeds is luck that does not repeat.",
            "Choose one with --seed; `minbert compare --seeds` shows how much seeds differ.",
        )
    data = steps[0] == "tasks" and (len(steps) < 3 or steps[2:] == ["task"])
    data = data or (steps[0] == "tasks" and steps[2] == "task" and steps[3] in FIXED_TASK_SETTINGS)
    if data or steps[0] == "overall":
        raise UserError(
            f"--over {path}: this changes what is learned or how it is scored, so the scores cannot be compared.",
            "Tune settings of the training, such as optimizer.learning_rate.",
        )


def split_values(text: str) -> list[str]:
    """At commas, but not inside quotes, lists and tables."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        depth += (character in "[{") - (character in "]}") if not quote else 0
        if character == "," and not quote and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def grid_candidates(dimensions: Sequence[Dimension]) -> list[Candidate]:
    """Every combination of the values, in the order in which they were given."""
    for each in dimensions:
        if each.is_range:
            raise UserError(
                f"--over {each.path}: a range has no single values to combine in a grid.",
                "Give --trials N to sample N settings from it, or list values with commas.",
            )
    paths = [each.path for each in dimensions]
    combinations = product(*(each.values for each in dimensions))
    return [Candidate(tuple(zip(paths, values, strict=True))) for values in combinations]


def corner_candidates(dimensions: Sequence[Dimension]) -> list[Candidate]:
    """Every value, and both ends of each range, once: with the first value of the others."""
    first = {each.path: each.corners()[0] for each in dimensions}
    found = [first | {each.path: value} for each in dimensions for value in each.corners()]
    return list(dict.fromkeys(Candidate(tuple(settings.items())) for settings in found))
