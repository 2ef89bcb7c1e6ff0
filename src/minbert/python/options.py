"""Python values -> overrides of a recipe, and messages for the command line -> messages for Python."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from minbert.durations import parse_duration
from minbert.errors import UserError

# options of the command line that say yes
FLAGS = ("force", "strict", "skip_bad_rows", "keep_na")


def as_overrides(settings: Mapping[str, Any] | None, **named: Any) -> list[str]:
    """{"optimizer.learning_rate": 1e-4} -> ["optimizer.learning_rate=0.0001"]; named settings that are None are not
    written."""
    given = {name: value for name, value in named.items() if value is not None}
    return [f"{path}={override_value(value)}" for path, value in {**given, **(settings or {})}.items()]


def override_value(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {override_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(override_value, value)) + "]"
    if hasattr(value, "tolist"):
        # NumPy's numbers and arrays
        return override_value(value.tolist())
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False)


def budget_seconds(budget: str | float | None) -> float | None:
    """ "10m" or a number of seconds -> seconds."""
    if budget is None:
        return None
    try:
        return parse_duration(str(budget))
    except ValueError as wrong:
        raise UserError(f"budget: {wrong}.", 'For example: "90s", "5m", "1h" or 300.') from None


@contextmanager
def python_words() -> Iterator[None]:
    """An error that names an option of the command line names the parameter instead: out= for --out."""
    try:
        yield
    except UserError as wrong:
        raise UserError(in_python(wrong.problem), in_python(wrong.next_step)) from None


def in_python(message: str) -> str:
    def parameter(found: re.Match[str]) -> str:
        name = {"set": "settings", "data-root": "data_root"}.get(found[1], found[1].replace("-", "_"))
        return f"{name}=True" if name in FLAGS else f"{name}="

    return re.sub(r"(?<![\w-])--([a-z][a-z-]+)", parameter, message)
