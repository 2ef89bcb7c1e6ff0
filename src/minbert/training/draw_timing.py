"""Prepared runs -> seconds per draw of each of their kinds, from a few real steps on this machine.

Runs that are compared are timed together, in rounds: each round trains one step of each kind of each run, so that a
minute in which the machine is busy affects all of them alike.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from minbert.training.draw_costs import DrawKind, TaskDraw, draw_kind
from minbert.training.loop import Loop
from minbert.training.prepare import Prepared
from minbert.training.samplers import Sampler, StageSizes
from minbert.training.stages import StagePlan

# the first round allocates what the others reuse, so it is not timed
WARMUP_ROUNDS, TIMED_ROUNDS = 1, 10


class FixedDraw(Sampler):
    """The same tasks in every draw."""

    def __init__(self, sizes: StageSizes, seed: int, chosen: TaskDraw) -> None:
        super().__init__(sizes, seed)
        self.chosen = chosen

    def draw(self) -> TaskDraw:
        return self.chosen


class DrawTimer:
    """Times the draws of one run. Its model cannot be used afterwards."""

    def __init__(self, ready: Prepared, rounds: int) -> None:
        """`rounds`: how many there will be."""
        setup = ready.setup
        self.draws_per_step = ready.recipe.optimizer.gradient_accumulation_steps
        teachers, plans = {}, dict[DrawKind, StagePlan]()
        for plan in setup.plans:
            for draw in plan.sampler.typical_draws():
                kind, number = draw_kind(plan, draw), len(plans)
                if kind in plans:
                    continue
                fixed = FixedDraw(plan.sampler.sizes, 0, draw)
                stage = replace(plan.stage, epochs=1)
                plans[kind] = replace(plan, number=number, stage=stage, sampler=fixed, steps_per_epoch=1)
                if plan.number in setup.teachers:
                    teachers[number] = setup.teachers[plan.number]
        self.loop = Loop(ready.model, replace(setup, plans=[*plans.values()] * rounds, teachers=teachers))
        self.seconds: dict[DrawKind, list[float]] = {kind: [] for kind in plans}

    def train_round(self) -> None:
        """One step of each kind."""
        for seconds in self.seconds.values():
            # changing the stage is no part of a step
            self.loop.enter_stage(self.loop.position()[0])
            began = time.perf_counter()
            self.loop.step()
            seconds.append(time.perf_counter() - began)

    def seconds_per_draw(self) -> dict[DrawKind, float]:
        """The median over the rounds after the first."""
        return {kind: median(found[WARMUP_ROUNDS:]) / self.draws_per_step for kind, found in self.seconds.items()}


def time_draws(runs: Sequence[Prepared], timed: int = TIMED_ROUNDS) -> list[dict[DrawKind, float]]:
    """Seconds per draw of each kind, of each run. The models cannot be used afterwards."""
    rounds = WARMUP_ROUNDS + timed
    timers = [DrawTimer(ready, rounds) for ready in runs]
    for _ in range(rounds):
        for timer in timers:
            timer.train_round()
    return [timer.seconds_per_draw() for timer in timers]
