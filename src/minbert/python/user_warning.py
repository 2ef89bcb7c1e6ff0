"""Warnings that point to the user's line, not to ours."""

import sys
import warnings


def warn_user(message: str) -> None:
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("minbert."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
