"""Was the machine idle otherwise? Detects other processes, time stolen by the host, and a slower clock."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from types import TracebackType

import torch

STAT = Path("/proc/stat")
# fractions of the machine's time that others may use before a measurement is marked as busy
MOST_OTHERS = 0.08
MOST_STOLEN = 0.04
# for a fixed matrix product: the lowest rate relative to its best, and the largest relative spread
SLOWEST = 0.85
MOST_SCATTER = 0.2
SIDE = 1024


@dataclass(frozen=True)
class Ticks:
    """Processor time since the machine started, in seconds."""

    total: float
    busy: float
    stolen: float
    own: float


def read_ticks() -> Ticks | None:
    """None if the system does not report it."""
    if not STAT.is_file():
        return None
    user, nice, system, idle, waiting, irq, softirq, stolen = (
        int(word) / os.sysconf("SC_CLK_TCK") for word in STAT.read_text().splitlines()[0].split()[1:9]
    )
    busy = user + nice + system + irq + softirq
    return Ticks(busy + idle + waiting + stolen, busy, stolen, sum(os.times()[:4]))


class Pace:
    """The current and the best rate of a fixed matrix product."""

    def __init__(self) -> None:
        self.a = torch.randn(SIDE, SIDE, generator=torch.Generator().manual_seed(0))
        self.best = 0.0
        self.measure()

    def measure(self, times: int = 7) -> list[float]:
        """GFLOP/s of each repetition."""
        rates = []
        for _ in range(times):
            began = time.perf_counter()
            self.a @ self.a
            rates.append(2 * SIDE**3 / (time.perf_counter() - began) / 1e9)
        self.best = max(self.best, median(rates))
        return rates


class Watch:
    """After `with Watch(pace) as watch:`, `watch.doubts` lists the reasons not to trust the times measured inside."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.doubts: list[str] = []

    def __enter__(self) -> "Watch":
        self.rates = self.pace.measure()
        self.began = read_ticks()
        return self

    def look(self) -> None:
        """Compare with the start. Called for each row, because rows finish in the middle of a measurement."""
        ended = read_ticks()
        rates = self.rates + self.pace.measure()
        self.doubts = []
        if self.began is not None and ended is not None:
            total = max(ended.total - self.began.total, 1e-9)
            others = (ended.busy - self.began.busy - (ended.own - self.began.own)) / total
            stolen = (ended.stolen - self.began.stolen) / total
            if others > MOST_OTHERS:
                self.doubts.append(f"other processes used {others:.0%} of the machine")
            if stolen > MOST_STOLEN:
                self.doubts.append(f"the host used {stolen:.0%} of the machine's time")
        if median(rates) < SLOWEST * self.pace.best:
            self.doubts.append(f"a fixed matrix product ran at {median(rates) / self.pace.best:.0%} of its best rate")
        low, _, high = quantiles(rates, n=4)
        if (high - low) / median(rates) > MOST_SCATTER:
            self.doubts.append(f"the rate of a fixed matrix product varied from {low:.0f} to {high:.0f} GFLOP/s")

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.look()
