"""(a recipe's table, settings on top of it) -> a recipe file that extends it with these settings."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import tomli_w

from minbert.config.overrides import apply_override
from minbert.errors import UserError


def with_overrides(table: Mapping[str, Any], overrides: Sequence[str], option: str = "--over") -> dict[str, Any]:
    """`option`: what the user wrote the overrides with, for messages."""
    changed = deepcopy(dict(table))
    for override in overrides:
        try:
            apply_override(changed, override)
        except UserError as wrong:
            words = (part.replace("--set", option) for part in (wrong.problem, wrong.next_step))
            raise UserError(*words) from None
    return changed


def extending_toml(extends: str, base: Mapping[str, Any], changed: Mapping[str, Any], comments: Sequence[str]) -> str:
    """A recipe file that extends the recipe of the table `base`, and means the recipe of the table `changed`."""
    table = {"extends": extends, **added_settings(with_overrides(base, ()), changed)}
    return "".join(f"# {line}\n" for line in comments) + tomli_w.dumps(table)


def added_settings(base: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """What has to be written above `base`, such that it becomes `changed`: the inverse of overrides.merge."""
    # as apply_override leaves it
    base = {**base, "tasks": {name: {} for name in base["tasks"]}} if isinstance(base.get("tasks"), list) else base
    added: dict[str, Any] = {name: False for name in base if name not in changed}
    for name, value in changed.items():
        old = base.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and value.get("name") in (None, old.get("name")):
            if inside := added_settings(old, value):
                added[name] = inside
        elif value != old or name not in base:
            added[name] = value
    return added
