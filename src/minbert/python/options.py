"""Python values -> overrides of a recipe."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minbert.durations import parse_duration
from minbert.errors import UserError, short_repr


def as_overrides(settings: Mapping[str, Any] | None, **named: Any) -> list[str]:
    """{"optimizer.learning_rate": 1e-4} -> ["optimizer.learning_rate=0.0001"]; named settings that are None are not
    written."""
    if settings is not None and not isinstance(settings, Mapping):
        raise UserError(
            f"settings is a dict, not a {type(settings).__name__}: {short_repr(settings)}.",
            'For example: settings={"optimizer.learning_rate": 1e-4}',
        )
    given = {name: value for name, value in named.items() if value is not None}
    return [f"{path}={override_value(value)}" for path, value in {**given, **(settings or {})}.items()]


def run_overrides(settings: Mapping[str, Any] | None, backbone: Any, seed: Any) -> list[str]:
    """The parameters of `minbert.train` that are settings of a recipe."""
    check_number("seed", seed, "a whole number of at least 0", above=-1, whole=True, example=0)
    given = {name: (name,) for name, value in (("backbone", backbone), ("seed", seed)) if value is not None}
    refuse_twice(settings, given)
    return as_overrides(settings, backbone=backbone, seed=seed)


def refuse_twice(settings: Any, paths: Mapping[str, Sequence[str]]) -> None:
    """`paths`: the settings that each given parameter writes, or others that write the same."""
    for name, written in paths.items():
        for path, value in settings.items() if isinstance(settings, Mapping) else ():
            inside = [own.removeprefix(f"{path}.") for own in written if own.startswith(f"{path}.")]
            if path in written or (isinstance(value, Mapping) and any(key in value for key in inside)):
                raise UserError(
                    f"{name} is given twice: as a parameter, and by settings[{path!r}].", "Give one of them."
                )


def check_number(name: str, value: Any, what: str, *, above: float, whole: bool = False, example: float) -> None:
    """A parameter that is a number, or None; `what`: the numbers it may be, in words."""
    if value is None:
        return
    allowed = (int, np.integer) if whole else (int, float, np.number)
    if isinstance(value, bool) or not isinstance(value, allowed) or not above < value < float("inf"):
        raise UserError(
            f"{name} is {what}, not {short_repr(value)}.",
            f"For example: {name}={example:g}; leave it out for the default.",
        )


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


def run_path(out: Any) -> Path:
    """The directory of a new run."""
    if not isinstance(out, str | Path):
        raise UserError(f"out is the directory of the run, not {short_repr(out)}.", 'For example: out="runs/stars"')
    path = Path(out)
    if path.is_file():
        raise UserError(f"out: {path} is a file; a run is a directory.", "Name another `out`.")
    return path


def shows_progress(progress: Any) -> bool:
    if progress not in ("bar", None, True, False):
        raise UserError(f"progress is 'bar' or None, not {short_repr(progress)}.", "None shows nothing.")
    return bool(progress)


def seed_of(random_state: Any) -> int:
    """scikit-learn's random_state: a number, a generator to draw one from, or None for another one each time."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise UserError(
            f"random_state is a number, a generator or None, not {short_repr(random_state)}.", "Give an integer."
        )
    check_number("random_state", random_state, "a whole number of at least 0", above=-1, whole=True, example=0)
    return int(random_state)
