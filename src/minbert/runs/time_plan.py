"""(a prepared run, seconds) -> the part of it that fits into this time on this machine.

Everything counts: reading, the controls, the linear probe, training, evaluations, and the final scores. Training steps
and evaluated rows are timed on samples; the rest is estimated from their numbers.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace

from minbert.errors import UserError
from minbert.inference.loop import fill_predictions
from minbert.inference.task_predictions import empty_predictions
from minbert.model.multitask import Model
from minbert.runs.controls import CONTROL_TRAIN_ROWS, control_dev_rows
from minbert.runs.scoring import CALIBRATION_ROWS, fixed_sample
from minbert.training.draw_costs import DrawKind, count_draws, draw_seconds, largest_fraction
from minbert.training.draw_timing import time_draws
from minbert.training.linear_probe import FITTED, PROBE_ROWS, WHOLE_FITS, can_be_probed, reads_plain_mean
from minbert.training.loop import Loop
from minbert.training.prepare import Prepared
from minbert.training.stages import StagePlan, plan_stages

# rows of each task that are predicted to time them
TIMED_ROWS = 32
# steps of each kind that are timed, and below which budget it is only one
TIMED_STEPS, SHORT_BUDGET = 3, 120.0
# fewer rows than this say too little about a model
FEWEST_PLANNED_ROWS = 64
# the fractions of the time, without the final scores, for controls and probe together, and for evaluations
PROBE_SHARE, EVALUATION_SHARE = 0.4, 0.25
# the machine may be slower later than while it was timed
MARGIN = 0.9
# every epoch still has a step of each kind
SMALLEST_FRACTION = 1e-9
# estimates on two cores: start and learning curves; a parameter saved or loaded; a number in the matrix of a linear fit
FIXED_SECONDS, SECONDS_PER_PARAMETER, SECONDS_PER_FITTED_NUMBER = 1.5, 1e-8, 4e-7


@dataclass(frozen=True)
class TimePlan:
    """How a run is shortened to a time limit, as run.json keeps it."""

    # the limit
    seconds: float
    epoch_fraction: float
    # dev rows of each task that are evaluated during training; None: all
    eval_rows: int | None
    # training rows of each task for the controls and the linear probe
    probe_rows: int
    # seconds for what follows the last step: an evaluation, and the final scores
    reserve: float
    # that of the user's recipe: the time is planned to the end, so stopping early by default would save nothing, and
    # might happen during the warm-up
    patience: int | None = None

    def shorten(self, ready: Prepared) -> Prepared:
        """The same run with shorter stages, to which its schedule adapts."""
        recipe, setup = ready.recipe, ready.setup
        selection = replace(recipe.selection, eval_rows=self.eval_rows, patience=self.patience)
        recipe = replace(recipe, epoch_fraction=self.epoch_fraction, selection=selection)
        return replace(ready, recipe=recipe, setup=replace(setup, plans=plans_of(ready, self.epoch_fraction)))


@dataclass
class TimeLimit:
    """A plan and the clock."""

    plan: TimePlan
    began: float
    # seconds that the run used before it was resumed
    before: float = 0.0
    clock: Callable[[], float] = field(default=time.monotonic)

    def used(self) -> float:
        return self.before + self.clock() - self.began

    def is_reached(self) -> bool:
        """Whether there is only time left for an evaluation and the final scores."""
        return self.used() + self.plan.reserve >= self.plan.seconds


@dataclass(frozen=True)
class RunCosts:
    """What a run consists of, and how long its parts take."""

    ready: Prepared
    draws: Mapping[DrawKind, float]
    # seconds to predict one row of each task that is evaluated
    row: Mapping[str, float]
    # test rows of these tasks
    test: Mapping[str, int]
    controls: bool

    def rows(self, name: str) -> tuple[int, int]:
        return len(self.ready.train[name].dataset), len(self.ready.dev[name].dataset)

    def scored_rows(self, name: str) -> int:
        """Rows of a task that an evaluation in training may read."""
        return len(self.ready.choosing[name].dataset)

    def probe(self, rows: int) -> float:
        """The controls, and the fit of linear heads, on so many rows."""
        seconds, model = 0.0, self.ready.model
        for name, row in self.row.items():
            train, dev = self.rows(name)
            part = model.task(name)
            fitted = min(train, rows) * len(part.task.labels or "1") * model.bert.config.hidden_size
            if self.controls:
                read = min(train, CONTROL_TRAIN_ROWS, rows) + min(dev, control_dev_rows(rows))
                seconds += row * read + SECONDS_PER_FITTED_NUMBER * fitted
            if self.probed(name):
                # single texts reuse the controls' fit
                known = self.controls and reads_plain_mean(part)
                seconds += 0 if known else row * min(train, PROBE_ROWS, rows) + SECONDS_PER_FITTED_NUMBER * fitted
        return seconds

    def probed(self, name: str) -> bool:
        """Whether the head of a task starts at a fit on the frozen encoder's vectors."""
        wanted = self.ready.recipe.tasks[name].head_init in FITTED
        return wanted and can_be_probed(self.ready.model, name)

    def evaluation(self, rows: int | None) -> float:
        """One evaluation during training, and saving the model."""
        read = sum(row * min(self.scored_rows(name), rows or math.inf) for name, row in self.row.items())
        return read * (2 if self.wants_scores else 1) + self.file

    def evaluations(self, rows: int | None) -> float:
        """All of them; the first are those of the untrained backbone and of the linear probe."""
        plans = self.ready.recipe.tasks
        whole = all(self.probed(name) and plans[name].head_init in WHOLE_FITS for name in self.row)
        first = (self.ready.recipe.selection.untrained and self.controls) + whole
        count = sum(plan.stage.epochs for plan in self.ready.setup.plans) + first
        return count * self.evaluation(rows)

    @property
    def wants_scores(self) -> bool:
        """Whether a sampler also evaluates training rows."""
        return any(plan.sampler.wants_scores for plan in self.ready.setup.plans)

    @property
    def file(self) -> float:
        """To save or load the model."""
        return SECONDS_PER_PARAMETER * sum(parameter.numel() for parameter in self.ready.model.parameters())

    @property
    def final(self) -> float:
        """Calibration on the rows that choose, then the scores on dev and test rows."""
        seconds = FIXED_SECONDS + 2 * self.file
        for name, row in self.row.items():
            dev, choosing = self.rows(name)[1], self.scored_rows(name)
            seconds += row * (dev + min(choosing, CALIBRATION_ROWS) + self.test.get(name, 0))
        return seconds

    def training(self, epoch_fraction: float) -> float:
        recipe = replace(self.ready.recipe, epoch_fraction=epoch_fraction)
        return draw_seconds(count_draws(plans_of(self.ready, epoch_fraction), recipe), self.draws)


def plan_time(
    ready: Prepared,
    limit: float,
    began: float,
    controls: bool = True,
    patience: int | None = None,
) -> TimePlan:
    """Time samples of a run, and plan the rest of it.

    `began`: when the run began, by time.monotonic(). `patience`: that of the recipe as the user wrote it. The model and
    everything else stays as it is.
    """
    with unchanged(ready):
        row = time_rows(ready)
        (draws,) = time_draws([ready], 1 if limit < SHORT_BUDGET else TIMED_STEPS)
    test = {name: len(split.dataset) for name, split in ready.test.items() if name in row}
    plan = fit_into(RunCosts(ready, draws, row, test, controls), limit, time.monotonic() - began)
    return replace(plan, patience=patience)


def fit_into(costs: RunCosts, limit: float, used: float) -> TimePlan:
    """The longest training that leaves time for everything else; refused if there is none."""
    recipe = costs.ready.recipe
    # what it takes before the first step, and after the last
    least = costs.probe(FEWEST_PLANNED_ROWS) + costs.evaluations(FEWEST_PLANNED_ROWS)
    least += costs.training(SMALLEST_FRACTION) + costs.final
    if used + least > limit:
        raise UserError(
            f"--budget: {limit:g} s is too short for this run. {used:.1f} s are used for reading and timing, and at "
            f"least {least:.1f} s are needed for the shortest training and the scores on all dev rows.",
            f"Give it at least {math.ceil(1.2 * (used + least))} s, fewer dev rows, or a smaller backbone.",
        )
    left = MARGIN * (limit - used - costs.final)
    eval_rows, probe_rows = recipe.selection.eval_rows, PROBE_ROWS
    if costs.probe(probe_rows) + costs.evaluations(eval_rows) + costs.training(recipe.epoch_fraction) > left:
        longest = max(map(costs.scored_rows, costs.row), default=1)
        most = longest if eval_rows is None else min(eval_rows, longest)
        fewer = largest_rows(most, costs.evaluations, EVALUATION_SHARE * left)
        eval_rows = fewer if fewer < most else eval_rows
        probe_rows = largest_rows(probe_rows, costs.probe, PROBE_SHARE * left)
    rest = left - costs.probe(probe_rows) - costs.evaluations(eval_rows)
    fraction = largest_fraction(recipe, lambda each: costs.training(each.epoch_fraction), max(rest, 1e-6))
    return TimePlan(limit, fraction, eval_rows, probe_rows, costs.evaluation(eval_rows) + costs.final)


def largest_rows(rows: int, cost: Callable[[int], float], limit: float) -> int:
    """So many rows, halved until they cost no more than the limit."""
    while rows > FEWEST_PLANNED_ROWS and cost(rows) > limit:
        rows = max(FEWEST_PLANNED_ROWS, rows // 2)
    return rows


def time_rows(ready: Prepared) -> dict[str, float]:
    """Seconds to predict a row of each task that is evaluated, from a few rows."""
    found = {}
    for name, split in ready.dev.items():
        part = ready.model.task(name)
        if not part.loss.predicts:
            continue
        few = fixed_sample(split, TIMED_ROWS)
        values = empty_predictions(part.task, len(few.dataset))
        # the first time allocates what the second reuses
        for _ in range(2):
            began = time.perf_counter()
            for _ in fill_predictions(ready.model, [name], few.encoded, {name: values}):
                pass
            found[name] = (time.perf_counter() - began) / len(few.dataset)
    return found


@contextmanager
def unchanged(ready: Prepared) -> Iterator[None]:
    """Whatever is trained inside, the run is as before afterwards: weights, data order, dropout and all other state."""
    model: Model = ready.model
    loop = Loop(model, ready.setup)
    weights, state = deepcopy(model.state_dict()), deepcopy(loop.state())
    try:
        yield
    finally:
        model.load_state_dict(weights)
        loop.restore(state)
        model.set_trainable("all")


def plans_of(ready: Prepared, epoch_fraction: float) -> list[StagePlan]:
    return plan_stages(replace(ready.recipe, epoch_fraction=epoch_fraction), sizes_of(ready), lengths_of(ready))


def sizes_of(ready: Prepared) -> dict[str, int]:
    return {name: len(split.dataset) for name, split in ready.train.items()}


def lengths_of(ready: Prepared) -> dict[str, int]:
    return {name: ready.model.task(name).max_length for name in ready.train}
