"""Comparable times: the sides take turns, and each round yields one ratio."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Compared:
    """The median cost of each side, and the median and quartiles of the ratios per round."""

    ours: float
    peer: float
    ratio: float
    spread: tuple[float, float] | None

    def rates(self, amount: float) -> tuple[float, float]:
        """The rates of both sides, if a cost is the time for that amount of work."""
        return amount / self.ours, amount / self.peer


def clock(work: Callable[[], object]) -> float:
    """The seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def interleave(
    sides: Mapping[str, Callable[[], T]], rounds: int, seconds: float = float("inf"), least: int = 3
) -> dict[str, list[T]]:
    """What each side returned in each round; stops early, after at least `least` rounds, when the time is up."""
    found: dict[str, list[T]] = {name: [] for name in sides}
    began = time.perf_counter()
    for number in range(rounds):
        # alternate the order, because the second side finds warmer caches, or a hotter processor
        for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
            found[name].append(sides[name]())
        if number + 1 >= least and time.perf_counter() - began > seconds:
            break
    return found


def compare(ours: Sequence[float], peer: Sequence[float]) -> Compared:
    """The costs per round of both sides -> how many times cheaper ours is."""
    ratios = [theirs / mine for mine, theirs in zip(ours, peer, strict=True)]
    return Compared(median(ours), median(peer), median(ratios), quartiles(ratios))


def quartiles(values: Sequence[float]) -> tuple[float, float] | None:
    """The middle half of the values; None for a single value."""
    if len(values) < 2:
        return None
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high
