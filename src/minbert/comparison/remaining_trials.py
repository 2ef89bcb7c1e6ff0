"""(trials done and how long they took, running trials, trials left) -> how long the rest of a comparison will take."""

import heapq
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from minbert.comparison.engines import TrialProgress
from minbert.comparison.results import TrialResult


@dataclass(frozen=True)
class PlannedTrial:
    """A trial that is still to come. `share`: how much it trains, next to the others."""

    # empty: trials do not differ in more than their share
    label: str = ""
    share: float = 1.0


@dataclass(frozen=True)
class TrialTime:
    """How long a trial took, or will take: its training steps, and everything else."""

    planned: PlannedTrial
    steps: float
    other: float

    @property
    def seconds(self) -> float:
        return self.steps + self.other


def expected_seconds(planned: PlannedTrial, known: Sequence[TrialTime]) -> float | None:
    """As long as trials of the same recipe, else as all trials, with steps in proportion to the share."""
    alike = [each for each in known if each.planned.label == planned.label] or known
    if not alike:
        return None
    return planned.share * mean(each.steps / each.planned.share for each in alike) + mean(each.other for each in alike)


def seconds_until_end(running: Iterable[float], waiting: Iterable[float], at_once: int) -> float:
    """If each waiting trial starts where one ends. `running`, `waiting`: what they still take."""
    ends = list(running)
    ends += [0.0] * (at_once - len(ends))
    heapq.heapify(ends)
    for seconds in waiting:
        heapq.heappush(ends, heapq.heappop(ends) + seconds)
    return max(ends)


@dataclass
class RunningTrial:
    planned: PlannedTrial
    began: float
    # the latest report: its time, and the trial's own estimate of the rest
    reported: float = 0.0
    remaining: float | None = None
    # of its steps, what was done before it was resumed
    done_before: float = 0.0
    # seconds until the first report
    loading: float | None = None

    def seconds(self) -> float | None:
        """How long it takes if its own estimate is right; None if it is not known, or if it was resumed."""
        if self.remaining is None or self.done_before:
            return None
        return self.reported - self.began + self.remaining


class TrialsClock:
    """Estimates the rest of a comparison from its events."""

    def __init__(self, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.at_once, self.clock = at_once, clock
        self.waiting: list[PlannedTrial] = []
        self.running: dict[str, RunningTrial] = {}
        # of this command, and of earlier ones, which know only the time of their steps
        self.timed: list[TrialTime] = []
        self.stored: list[TrialTime] = []

    def plan(self, trials: Sequence[PlannedTrial]) -> None:
        self.waiting = list(trials)

    def take(self, label: str) -> PlannedTrial:
        """The planned trial that this one is."""
        found = next((each for each in self.waiting if each.label in ("", label)), PlannedTrial(label))
        if found in self.waiting:
            self.waiting.remove(found)
        return found

    def progress(self, event: TrialProgress) -> None:
        now, key = self.clock(), event.trial.key
        if key not in self.running:
            self.running[key] = RunningTrial(self.take(event.trial.label), now)
        trial = self.running[key]
        if event.total and trial.loading is None:
            trial.loading, trial.done_before = now - trial.began, event.done / event.total
        trial.reported, trial.remaining = now, event.remaining

    def stopped(self, key: str) -> None:
        """What ran under this key was no trial."""
        self.running.pop(key, None)

    def finished(self, result: TrialResult) -> None:
        trial = self.running.pop(result.key, None)
        planned = self.take(result.label) if trial is None else trial.planned
        if result.cost is None:
            return
        steps = result.cost.seconds
        if trial is None:
            self.stored.append(TrialTime(planned, steps, 0.0))
        else:
            took = self.clock() - trial.began
            self.timed.append(TrialTime(planned, steps, max(0.0, took - steps * (1 - trial.done_before))))

    def known(self) -> list[TrialTime]:
        """Finished trials; for recipes that have none, those that run and those of earlier commands."""
        found = list(self.timed)
        for trial in self.running.values():
            seconds = trial.seconds()
            if seconds is not None and trial.loading is not None and not self.has(found, trial.planned):
                found.append(TrialTime(trial.planned, seconds - trial.loading, trial.loading))
        other = mean(each.other for each in found) if found else 0.0
        return found + [
            TrialTime(each.planned, each.steps, other) for each in self.stored if not self.has(found, each.planned)
        ]

    @staticmethod
    def has(found: Sequence[TrialTime], planned: PlannedTrial) -> bool:
        return any(each.planned == planned for each in found)

    def remaining(self) -> float | None:
        """None as long as nothing is known of any trial."""
        now, known = self.clock(), self.known()
        left = []
        for trial in self.running.values():
            if trial.remaining is not None:
                left.append(max(0.0, trial.remaining - (now - trial.reported)))
            elif (expected := expected_seconds(trial.planned, known)) is not None:
                left.append(max(0.0, expected - (now - trial.began)))
        waiting = [expected_seconds(each, known) for each in self.waiting]
        if not known and (self.running or self.waiting):
            return None
        return seconds_until_end(left, [each for each in waiting if each is not None], self.at_once)
