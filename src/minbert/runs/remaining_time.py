"""(work done, the time it took, work left) -> how long the rest will take."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from minbert.runs.events import Evaluated, Event, Measuring
from minbert.runs.work import PlannedWork
from minbert.training.loop import Step


@dataclass
class WorkDone:
    """Work of one kind, in a unit that all kinds share."""

    done: float = 0.0
    seconds: float = 0.0
    left: float = 0.0


def remaining_seconds(kinds: Iterable[WorkDone]) -> float | None:
    """Each kind at its own pace; kinds that have not begun at the pace of the others. None: nothing has begun."""
    every = list(kinds)
    done, seconds = sum(each.done for each in every), sum(each.seconds for each in every)
    if not done:
        return None
    return sum(each.left * (each.seconds / each.done if each.done else seconds / done) for each in every)


class TrainingClock:
    """Estimates the rest of a training run from the times between its events."""

    def __init__(self, work: PlannedWork, done: int = 0) -> None:
        """`done`: steps that were done before a resume."""
        self.work = work
        self.step = done
        # of stages by number, and of evaluations
        self.kinds: dict[Hashable, WorkDone] = {number: WorkDone() for number in range(len(work.stages))}
        self.evaluations = self.kinds["evaluations"] = WorkDone()
        self.last_evaluation = 0 if done == 0 else -1
        # since the last step or score
        self.measuring = 0.0
        self.used = 0.0

    def observe(self, event: Event, seconds: float) -> None:
        """`seconds`: since the event before."""
        self.used += seconds
        if isinstance(event, Step):
            stage = self.kinds[event.stage]
            stage.done += self.work.stages[event.stage].tokens
            stage.seconds += seconds
            self.step, self.measuring = event.number, 0.0
        elif isinstance(event, Measuring):
            self.measuring += seconds
        elif isinstance(event, Evaluated):
            # before the first step, the time is also that of the controls and of the start of the heads
            if event.step:
                self.evaluations.done += self.work.evaluation
                self.evaluations.seconds += self.measuring + seconds
            self.last_evaluation, self.measuring = event.step, 0.0

    def remaining(self) -> float | None:
        """None before the first step."""
        work = self.work
        for number, steps in enumerate(work.steps_after(self.step)):
            self.kinds[number].left = steps * work.stages[number].tokens
        evaluations = work.evaluations_after(self.step) + self.evaluation_due
        self.evaluations.left = evaluations * work.evaluation + work.final
        found = remaining_seconds(self.kinds.values())
        if found is None:
            return None
        found = max(0.0, found - self.measuring)
        return found if work.limit is None else min(found, max(0.0, work.limit - self.used))

    @property
    def evaluation_due(self) -> bool:
        """Whether an epoch has ended whose evaluation is not finished."""
        before, now = (self.work.evaluations_after(step) for step in (self.step - 1, self.step))
        return self.step > 0 and now < before and self.last_evaluation != self.step
