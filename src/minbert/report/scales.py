"""Numbers -> places on a chart, and the round numbers that are written beside them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from minbert.report.number_format import fixed, signed


@dataclass(frozen=True)
class Scale:
    """A range of numbers laid over a range of pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, x: float) -> float:
        low, high, at = (math.log10(v) for v in (self.low, self.high, x)) if self.log else (self.low, self.high, x)
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        return decades(self.low, self.high) if self.log else ticks(self.low, self.high, about)


def span(values: Iterable[float | None], room: float = 0.06) -> tuple[float, float]:
    """The range of some numbers with room at both ends; a range that is never empty."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-9 * max(1, abs(low), abs(high)):
        margin = max(abs(low) * 0.05, 1e-3)
        return low - margin, high + margin
    margin = (high - low) * room
    return low - margin, high + margin


def log_span(values: Iterable[float], room: float = 0.08) -> tuple[float, float]:
    """The same for a logarithmic scale; all values are above 0."""
    low, high = span([math.log10(value) for value in values], room)
    return 10**low, 10**high


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten inside a range."""
    rough = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.7)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # + 0.0: no minus zero
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten inside a range; fewer where there are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1,)):
        found = [10.0**power * factor for power in powers for factor in factors]
        found = [x for x in found if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)]
        if len(found) <= 7:
            break
    return found


def names_of(marks: list[float], sign: bool = False) -> list[str]:
    """As many decimals as the marks need to differ, the same for all of them."""
    step = min((b - a for a, b in pairwise(marks)), default=abs(marks[0]) if marks else 1)
    places = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    return ["0" if mark == 0 else (signed if sign else fixed)(mark, places) for mark in marks]
