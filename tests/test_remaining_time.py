"""Estimates of the remaining time, with simulated durations: right within a factor of 1.5 after a third of the work."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from minbert.comparison.engines import TrialProgress
from minbert.comparison.remaining_trials import (
    PlannedTrial,
    TrialsClock,
    TrialTime,
    expected_seconds,
    seconds_until_end,
)
from minbert.comparison.results import TrialCost, TrialResult
from minbert.comparison.trial import Trial
from minbert.config.loading import read_recipe
from minbert.runs.events import Evaluated, Event, Measuring, Started
from minbert.runs.planned_work import plan_work
from minbert.runs.remaining_time import TrainingClock, WorkDone, remaining_seconds
from minbert.runs.work import PlannedWork, StageWork
from minbert.training.loop import Step
from minbert.training.prepare import prepare
from tests.workbench import demo_recipe, run_all

# the worst factor that is allowed
FACTOR = 1.5


def test_each_kind_of_work_has_its_own_pace() -> None:
    # 2 s per unit, 0.5 s per unit, and what has not begun at (8 + 1) s for 6 units
    kinds = [WorkDone(4, 8, 10), WorkDone(2, 1, 4), WorkDone(0, 0, 2)]
    assert remaining_seconds(kinds) == pytest.approx(20 + 2 + 3)
    assert remaining_seconds([WorkDone(left=5)]) is None


def test_waiting_trials_start_where_others_end() -> None:
    # one ends after 1 s, the next one there after 1 + 4 s; the other after 3 s, and 3 + 5 s
    assert seconds_until_end([1, 3], [4, 5], 2) == 8
    assert seconds_until_end([1], [4, 5], 1) == 10
    assert seconds_until_end([], [], 2) == 0


def test_a_trial_takes_as_long_as_others_of_its_recipe() -> None:
    known = [TrialTime(PlannedTrial("a"), 10, 2), TrialTime(PlannedTrial("b"), 30, 4)]
    assert expected_seconds(PlannedTrial("a"), known) == 12
    assert expected_seconds(PlannedTrial("c"), known) == 20 + 3
    # only steps are in proportion to the share
    assert expected_seconds(PlannedTrial("c", 0.5), known) == 10 + 3
    assert expected_seconds(PlannedTrial("c"), []) is None


# ---- a training run -----------------------------------------------------------------------------------


def step(number: int, stage: int) -> Step:
    return Step(number, 100, stage, 1, False, {}, 1, 1, {}, 0.0, 0.0, {})


def training(work: PlannedWork, paces: list[float], evaluation: float, final: float) -> Iterator[tuple[Event, float]]:
    """The events of a run with the seconds before each; `paces`: seconds per step of each stage."""
    number = 0
    # the controls
    yield Measuring(1, 2), 5.0
    for index, stage in enumerate(work.stages):
        for _ in range(stage.epochs):
            for _ in range(stage.steps_per_epoch):
                number += 1
                yield step(number, index), paces[index]
            yield Measuring(1, 2), evaluation / 2
            yield Evaluated(number, {}, 0.5, True), evaluation / 2
    for _ in range(4):
        yield Measuring(1, 4), final / 4


def worst_factor(work: PlannedWork, *durations: object) -> float:
    """Of all estimates after a third of the time."""
    events = list(training(work, *durations))  # type: ignore[arg-type]
    whole = sum(seconds for _, seconds in events)
    clock, passed, worst = TrainingClock(work), 0.0, 1.0
    for event, seconds in events:
        clock.observe(event, seconds)
        passed += seconds
        # the last second may be off by a second
        if passed >= whole / 3 and whole - passed > whole / 50:
            estimate = clock.remaining()
            assert estimate is not None
            factor = estimate / (whole - passed)
            worst = max(worst, factor, 1 / max(factor, 1e-9))
    return worst


@pytest.mark.parametrize(
    ("stages", "paces", "evaluation"),
    [
        # four epochs of the same kind, with evaluations that take as long as the steps
        ([StageWork(4, 25, 1000)], [1.0], 25.0),
        # heads first, then everything: a step takes three times as long
        ([StageWork(2, 100, 1000), StageWork(2, 100, 3000)], [0.1, 0.3], 2.0),
        # the other way round, and the forecast of the second stage is 30 % off
        ([StageWork(1, 100, 3000), StageWork(5, 40, 1000)], [0.3, 0.13], 1.0),
        # one long epoch, and one evaluation at its end
        ([StageWork(1, 300, 3000)], [1.0], 20.0),
    ],
)
def test_a_run_is_estimated_after_a_third(stages: list[StageWork], paces: list[float], evaluation: float) -> None:
    # the scores on all dev rows take twice as long as those on the sample
    tokens = evaluation / paces[0] * stages[0].tokens
    work = PlannedWork(tuple(stages), tokens, 2 * tokens)
    assert worst_factor(work, paces, evaluation, 2 * evaluation) < FACTOR


def test_a_time_limit_bounds_the_estimate() -> None:
    work = PlannedWork((StageWork(1, 100, 10),), 10, 10, limit=30)
    clock = TrainingClock(work)
    clock.observe(step(1, 0), 2.0)
    assert clock.remaining() == 28


def test_a_resumed_run_counts_only_what_is_left() -> None:
    work = PlannedWork((StageWork(2, 10, 1), StageWork(2, 10, 2)), 5, 10)
    assert work.steps_after(0) == [20, 20] and work.evaluations_after(0) == 4
    assert work.steps_after(25) == [0, 15] and work.evaluations_after(25) == 2
    clock = TrainingClock(work, 25)
    clock.observe(step(26, 1), 4.0)
    # 14 steps of 2 tokens, two evaluations, and the final scores, at 2 s per token
    assert clock.remaining() == (28 + 10 + 10) * 2


def test_frozen_layers_have_no_backward_pass(tiny: Path) -> None:
    whole, half = (
        plan_work(prepare(demo_recipe(tiny, f"stages.0.trainable='{which}'"))).stages[0].tokens
        for which in ("all", "top 1")
    )
    # one of two layers: a forward pass, and half of two backward passes
    assert half == pytest.approx(whole * 2 / 3)


def test_planned_tokens_are_those_of_the_run(tiny: Path, tmp_path: Path) -> None:
    events, _ = run_all(demo_recipe(tiny, epochs=2, steps=12), tmp_path / "run")
    started = next(event for event in events if isinstance(event, Started))
    trained = sum(event.tokens for event in events if isinstance(event, Step))
    # three passes: forward, and twice backward
    assert started.work.stages[0].tokens * 24 / 3 == pytest.approx(trained, rel=0.15)
    assert started.work.evaluations_after(0) == len({e.step for e in events if isinstance(e, Evaluated) and e.step})


# ---- a comparison -------------------------------------------------------------------------------------


class SimulatedTrials:
    """Trials that take some seconds for loading, steps and scores, at so many at once."""

    def __init__(self, durations: dict[str, tuple[float, float, float]], seeds: int, jobs: int) -> None:
        self.now = 0.0
        self.durations, self.jobs = durations, jobs
        # seeds outside, recipes inside
        self.order = [(label, seed) for seed in range(seeds) for label in durations]
        self.clock = TrialsClock(jobs, lambda: self.now)
        self.clock.plan([PlannedTrial(label) for label, _ in self.order])

    def stored(self, label: str, seed: int) -> None:
        """A trial that an earlier command finished."""
        self.order.remove((label, seed))
        self.clock.finished(self.result(label, seed))

    def result(self, label: str, seed: int) -> TrialResult:
        cost = TrialCost(self.durations[label][1], 10, 10, 1, 1, 1, 1)
        return TrialResult(f"{label}{seed}", label, seed, "finished", cost=cost, overall=0.5)

    def events(self) -> list[tuple[float, TrialProgress | TrialResult]]:
        found: list[tuple[float, TrialProgress | TrialResult]] = []
        free = [0.0] * self.jobs
        for label, seed in self.order:
            loading, steps, scores = self.durations[label]
            began = min(free)
            free.remove(began)
            free.append(began + loading + steps + scores)
            trial = Trial(f"{label}{seed}", label, read_recipe("demo", [f"seed={seed}"]))
            found.append((began, TrialProgress(trial, 0, 0)))
            for done in range(11):
                rest = steps * (10 - done) / 10 + scores if done else None
                found.append((began + loading + steps * done / 10, TrialProgress(trial, done, 10, rest)))
            found.append((free[-1], self.result(label, seed)))
        return sorted(found, key=lambda each: each[0])

    def worst_factor(self) -> float:
        """Of the estimates after a third of the time, also between two events."""
        events, worst = self.events(), 1.0
        end = events[-1][0]
        for (at, event), (until, _) in pairwise([*events, (end, events[-1][1])]):
            self.now = at
            if isinstance(event, TrialResult):
                self.clock.finished(event)
            else:
                self.clock.progress(event)
            for self.now in (at, until - 1e-6):
                if end / 3 <= self.now < 0.97 * end:
                    estimate = self.clock.remaining()
                    assert estimate is not None
                    factor = estimate / (end - self.now)
                    worst = max(worst, factor, 1 / max(factor, 1e-9))
        return worst


UNEQUAL = {"fast": (5.0, 20.0, 10.0), "slow": (5.0, 60.0, 10.0)}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("seeds", [2, 5])
def test_a_comparison_is_estimated_after_a_third(seeds: int, jobs: int) -> None:
    assert SimulatedTrials(UNEQUAL, seeds, jobs).worst_factor() < FACTOR


def test_trials_that_mostly_load_and_score_are_estimated() -> None:
    assert SimulatedTrials({"a": (10.0, 2.0, 20.0), "b": (10.0, 3.0, 20.0)}, 2, 1).worst_factor() < FACTOR


def test_a_resumed_comparison_does_not_count_what_was_finished_before() -> None:
    """The old trials took no time today, but tell how long steps of their recipes take."""
    trials = SimulatedTrials(UNEQUAL, 5, 1)
    for seed in (0, 1):
        for label in UNEQUAL:
            trials.stored(label, seed)
    assert trials.worst_factor() < FACTOR


def test_rounds_of_a_search_take_longer_and_longer() -> None:
    """Successive halving: three settings with a third of the training, then one with all of it."""
    now = 0.0
    clock = TrialsClock(1, lambda: now)
    clock.plan([*[PlannedTrial(share=1 / 3)] * 3, PlannedTrial()])
    for number in range(2):
        trial = Trial(str(number), f"setting {number}", read_recipe("demo"))
        clock.progress(TrialProgress(trial, 0, 0))
        now += 12
        cost = TrialCost(10, 10, 10, 1, 1, 1, 1)
        clock.finished(TrialResult(str(number), trial.label, 0, "finished", cost=cost, overall=0.5))
    # one more of 10 + 2 seconds, and one of 30 + 2
    assert clock.remaining() == pytest.approx(44)
