"""Warnings that point to the user's line, not to ours, and are shown once for each line."""

import sys
import warnings
from typing import Any

# texts that were shown, with file and line
SHOWN: set[tuple[str, str, int]] = set()


def warn_user(message: str, category: type[UserWarning] = UserWarning) -> None:
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("minbert."):
        level, frame = level + 1, frame.f_back
    place = (message, frame.f_code.co_filename, frame.f_lineno)
    # Python forgets what it has shown whenever someone changes its filters, as scikit-learn does for each fit of a
    # search; so the rule of its default filter is kept here
    module = str(frame.f_globals.get("__name__", ""))
    if place in SHOWN and action_for(message, category, module, frame.f_lineno) == "default":
        return
    SHOWN.add(place)
    warnings.warn(message, category, stacklevel=level)


def action_for(message: str, category: type[UserWarning], module: str, line: int) -> str:
    """What the filter that comes first says about a warning."""
    for action, text, about, where, number in warnings.filters:
        if fits(text, message) and fits(where, module) and issubclass(category, about) and number in (0, line):
            return action
    return "default"


def fits(pattern: Any, text: str) -> bool:
    """Of a filter's pattern; those that Python itself starts with are plain texts."""
    if pattern is None or isinstance(pattern, str):
        return pattern is None or pattern == text
    return pattern.match(text) is not None
