"""Recipes x seeds -> trained trials under equal budgets; a finished trial is never trained again."""

import hashlib
import json
import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from minbert.comparison.budget import Budget, BudgetTooShort, shortened
from minbert.comparison.controls import control_trials, missing_places
from minbert.comparison.engines import Engine, TrialProgress
from minbert.comparison.fraction_jobs import measure_fractions
from minbert.comparison.history import PLAN_FILE, read_history
from minbert.comparison.remaining_trials import PlannedTrial
from minbert.comparison.results import TrialResult
from minbert.comparison.store import Store
from minbert.comparison.transfer import LabeledRecipe
from minbert.comparison.trial import Trial, failed_trial, failure_reason, make_trial, read_result
from minbert.config.recipe import Recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import read_config
from minbert.errors import UserError
from minbert.files import hold_lock, write_json
from minbert.training.prepare import outline

# the fraction of each epoch that fits into a budget is measured, so it cannot be computed again, and it is part of a
# trial's key
EPOCH_FRACTIONS = "epoch_fractions.json"
# steps are timed again by the next command, and may then take longer
BUDGET_MARGIN = 1.2


@dataclass(frozen=True)
class Calibrating:
    """The steps of recipes are being timed or counted: recipes done of all recipes."""

    done: int
    total: int


@dataclass(frozen=True)
class TrialsPlanned:
    """The trials of the comparison, finished or not, in the order in which they are trained."""

    trials: tuple[PlannedTrial, ...]


@dataclass(frozen=True)
class ControlsMeasured:
    """A process that computed controls has ended: its trial's key."""

    key: str


ComparisonEvent = Calibrating | TrialsPlanned | TrialProgress | TrialResult | ControlsMeasured


class Comparison:
    """The folder of a comparison: its trials, their results, and the plan of the last command."""

    # whether the constant answer and the untrained backbone are measured beside the trials
    has_controls = True

    def __init__(
        self,
        folder: Path,
        compared: Sequence[LabeledRecipe],
        seeds: Sequence[int],
        budget: Budget,
        sharing: Sequence[LabeledRecipe] = (),
        source: DataSource = DEFAULT_SOURCE,
        command: str = "",
    ) -> None:
        """`sharing`: recipes that are also trained, to measure transfer; `command`: the command line, recorded."""
        every = [*compared, *sharing]
        labels = [each.label for each in every]
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise UserError(f"'{twice[0]}' is named twice.", "Name each recipe once.")
        self.folder = folder
        self.recipes = {each.label: each for each in every}
        self.compared = [each.label for each in compared]
        self.seeds = tuple(seeds)
        self.budget = budget
        self.source = source
        self.command = command

    @cached_property
    def store(self) -> Store:
        return Store(self.folder / "results.sqlite")

    def train(self, engine: Engine, baseline: str) -> Generator[ComparisonEvent, None, None]:
        """Train the trials that are not finished, including those that failed before: the reason may be fixed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with closing(hold_lock(self.folder)):
            fractions, uncalibrated = yield from self.epoch_fractions(engine)
            trials = self.trials(fractions)
            self.write_plan(trials, baseline)
            # an uncalibrated recipe is planned whole, and must not be taken for an earlier trial without a budget
            finished = self.finished([trial for trial in trials if trial.label not in uncalibrated])
            yield TrialsPlanned(tuple(map(self.planned_trial, unique_trials(trials))))
            yield from finished.values()
            waiting = [trial for trial in unique_trials(trials) if trial.key not in finished]
            failed = (
                failed_trial(trial, self.folder, uncalibrated[trial.label])
                for trial in waiting
                if trial.label in uncalibrated
            )
            # seeds outside, recipes inside: if it is stopped early, every recipe has as many seeds
            with closing(engine.run([trial for trial in waiting if trial.label not in uncalibrated])) as running:
                for event in chain(failed, running):
                    if isinstance(event, TrialResult):
                        self.store.put(event)
                    yield event
            if self.has_controls:
                yield from self.measure_controls(engine, trials)

    def measure_controls(
        self, engine: Engine, trials: Sequence[Trial]
    ) -> Generator[TrialProgress | ControlsMeasured, None, None]:
        """Compute the controls of the finished trials that are not known; what fails is recorded."""
        compared = unique_trials([trial for trial in trials if trial.label in self.compared])
        finished = self.finished(compared)
        waiting = control_trials(self.folder, [trial for trial in compared if trial.key in finished])
        wanted = {each.key: [*each.wanted.values()] for each in waiting}
        with closing(engine.run(waiting)) as running:
            for event in running:
                if isinstance(event, TrialResult):
                    for places in wanted[event.key]:
                        for place in missing_places(self.folder, places).values():
                            self.store.put(replace(event, key=place))
                    yield ControlsMeasured(event.key)
                else:
                    yield event

    def planned_trial(self, trial: Trial) -> PlannedTrial:
        return PlannedTrial(trial.label, self.recipes[trial.label].budget_fraction)

    def check(self) -> None:
        """Find an error in any recipe, or a missing file, before anything is trained."""
        for each in self.recipes.values():
            recipe = each.recipe
            outline(recipe, recipe.read_tasks(), read_config(find_backbone(recipe.backbone))[0])
            self.fraction_key(each)

    def trials(self, fractions: Mapping[str, float]) -> list[Trial]:
        """Every recipe with every seed, shortened to the budget; whole where its fraction is not known."""
        recipes: dict[str, Recipe] = {label: each.recipe for label, each in self.recipes.items()}
        if self.budget != Budget():
            rows = self.budget.eval_rows
            recipes |= {label: shortened(recipes[label], fraction, rows) for label, fraction in fractions.items()}
        return [
            make_trial(label, replace(recipe, seed=seed), self.source, self.command)
            for seed in self.seeds
            for label, recipe in recipes.items()
        ]

    def epoch_fractions(self, engine: Engine) -> Generator[Calibrating, None, tuple[dict[str, float], dict[str, str]]]:
        """The fraction of each epoch that every recipe may train, measured once; and why it could not be measured."""
        keys = {label: self.fraction_key(each) for label, each in self.recipes.items()}
        known = self.read_fractions()
        # recipes with the same training are timed once: two fractions would make two trials of them
        unknown = {
            keys[label]: (self.budget.scaled(each.budget_fraction), each.recipe, self.source)
            for label, each in self.recipes.items()
            if keys[label] not in known
        }
        failed: dict[str, str] = {}
        too_short: dict[str, BudgetTooShort] = {}
        if unknown:
            yield Calibrating(0, len(unknown))
        for done, (key, fraction) in enumerate(measure_fractions(engine, unknown), 1):
            if isinstance(fraction, BudgetTooShort):
                too_short[key] = fraction
            elif isinstance(fraction, BaseException):
                how = "timed" if self.budget.seconds else "counted"
                failed[key] = f"while its steps were {how}: {failure_reason(fraction)}"
            else:
                known[key] = fraction
                write_json(self.folder / EPOCH_FRACTIONS, known)
            yield Calibrating(done, len(unknown))
        self.check_budget({label: too_short[key] for label, key in keys.items() if key in too_short})
        return (
            {label: known[key] for label, key in keys.items() if key in known},
            {label: failed[key] for label, key in keys.items() if key in failed},
        )

    def check_budget(self, too_short: Mapping[str, BudgetTooShort]) -> None:
        """UserError that names the shortest budget that every recipe can keep."""
        if too_short:
            needed = {label: wrong.seconds / self.recipes[label].budget_fraction for label, wrong in too_short.items()}
            worst = max(needed, key=needed.__getitem__)
            raise UserError(
                f"{worst}: a budget of {self.budget.seconds:g} s is too short: {too_short[worst].problem}",
                f"Give --budget {math.ceil(needed[worst] * BUDGET_MARGIN)}s or more, or --steps. Nothing was trained.",
            )

    def read_fractions(self) -> dict[str, float]:
        """What was measured before, also for other recipes and budgets."""
        path = self.folder / EPOCH_FRACTIONS
        try:
            known: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError:
            raise UserError(
                f"{path}: not valid JSON.", "Remove it: steps are timed again, and the trials are trained again."
            ) from None
        return known

    def fraction_key(self, each: LabeledRecipe) -> str:
        """What a fraction was measured for. It is measured once, so that a trial keeps its key."""
        recipe = make_trial("", replace(each.recipe, seed=0), self.source).key
        return hashlib.sha256(repr((recipe, self.budget.scaled(each.budget_fraction))).encode()).hexdigest()

    def finished(self, trials: Sequence[Trial]) -> dict[str, TrialResult]:
        """The results of finished trials, by key. Their run.json decides; rows that the table lacks are added."""
        rows, found = self.store.results(), {}
        for trial in unique_trials(trials):
            # a row without its run is of no use: predictions are compared, not only scores
            done = read_result(self.folder, trial.key, trial.label)
            if done is not None:
                found[trial.key] = done
                if rows.get(trial.key) != done:
                    self.store.put(done)
        return found

    def write_plan(self, trials: Sequence[Trial], baseline: str) -> None:
        """What was requested, for making the report again later."""
        plan: dict[str, Any] = {
            "command": self.command,
            "baseline": baseline,
            "budget": str(self.budget),
            "seeds": self.seeds,
            "compared": self.compared,
            "tasks": list(self.recipes[baseline].recipe.tasks),
            "trials": [
                {
                    "key": trial.key,
                    "label": trial.label,
                    "seed": trial.recipe.seed,
                    **self.budget_of(trial),
                }
                for trial in trials
            ],
            "history": read_history(self.folder / PLAN_FILE),
        }
        write_json(self.folder / PLAN_FILE, plan)

    def budget_of(self, trial: Trial) -> dict[str, float | None]:
        budget = self.budget.scaled(self.recipes[trial.label].budget_fraction)
        return {"seconds": budget.seconds, "steps": budget.steps, "examples": budget.examples}


def unique_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Two recipes may be the same trial, for example on another backbone than their own."""
    return list({trial.key: trial for trial in reversed(trials)}.values())[::-1]
