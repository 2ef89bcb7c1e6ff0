"""A duration as people write it -> seconds."""

import re

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_duration(text: str) -> float:
    """ "90s", "5m", "1.5 h", "300" -> seconds; ValueError if it is not a duration, or 0."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if found is None or float(found[1]) == 0:
        raise ValueError(f"'{text}' is not a duration")
    return float(found[1]) * UNITS[found[2]]
