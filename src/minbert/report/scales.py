"""Numbers -> positions on a chart, and the ticks of its axes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from minbert.report.number_format import fixed, signed


@dataclass(frozen=True)
class Scale:
    """Maps a range of numbers to a range of pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, x: float) -> float:
        low, high, at = (math.log10(v) for v in (self.low, self.high, x)) if self.log else (self.low, self.high, x)
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        return log_ticks(self.low, self.high) if self.log else linear_ticks(self.low, self.high, about)


def padded_range(values: Iterable[float | None], room: float = 0.06) -> tuple[float, float]:
    """The range of some numbers with a margin at both ends; never empty."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-9 * max(1, abs(low), abs(high)):
        margin = max(abs(low) * 0.05, 1e-3)
        return low - margin, high + margin
    margin = (high - low) * room
    return low - margin, high + margin


def padded_log_range(values: Iterable[float], room: float = 0.08) -> tuple[float, float]:
    """The same for a logarithmic scale; all values must be above 0."""
    low, high = padded_range([math.log10(value) for value in values], room)
    return 10**low, 10**high


def linear_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """The multiples of 1, 2 or 5 times a power of ten within a range."""
    rough = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.7)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # + 0.0 turns -0.0 into 0.0
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten within a range; only the powers if there would be more than seven."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1,)):
        found = [10.0**power * factor for power in powers for factor in factors]
        found = [x for x in found if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)]
        if len(found) <= 7:
            break
    return found


def tick_labels(ticks: list[float], sign: bool = False) -> list[str]:
    """With as many decimals as the ticks need to differ, the same for all of them."""
    step = min((b - a for a, b in pairwise(ticks)), default=abs(ticks[0]) if ticks else 1)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    return ["0" if tick == 0 else (signed if sign else fixed)(tick, decimals) for tick in ticks]
