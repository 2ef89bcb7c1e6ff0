"""Times that can be compared: contenders take turns, and each round gives one ratio."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Compared:
    """Median costs of both sides, and the median and the quartiles of the ratios of each round."""

    ours: float
    peer: float
    ratio: float
    spread: tuple[float, float] | None

    def rates(self, amount: float) -> tuple[float, float]:
        """Ours and the peer's, where a cost is the time for that amount of work."""
        return amount / self.ours, amount / self.peer


def clock(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def interleave(
    contenders: Mapping[str, Callable[[], T]], rounds: int, seconds: float = float("inf"), least: int = 3
) -> dict[str, list[T]]:
    """What each contender returned in each round; ends early, after `least` rounds, when the time is up."""
    found: dict[str, list[T]] = {name: [] for name in contenders}
    began = time.perf_counter()
    for number in range(rounds):
        # the other way round every second time: whoever comes second finds warmer, or hotter, hardware
        for name in list(contenders)[:: 1 if number % 2 == 0 else -1]:
            found[name].append(contenders[name]())
        if number + 1 >= least and time.perf_counter() - began > seconds:
            break
    return found


def compare(ours: Sequence[float], peer: Sequence[float]) -> Compared:
    """Costs of each round, ours and the peer's -> how many times cheaper ours is."""
    ratios = [theirs / mine for mine, theirs in zip(ours, peer, strict=True)]
    return Compared(median(ours), median(peer), median(ratios), quartiles(ratios))


def quartiles(values: Sequence[float]) -> tuple[float, float] | None:
    """The middle half of the values; unknown from one value."""
    if len(values) < 2:
        return None
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high
