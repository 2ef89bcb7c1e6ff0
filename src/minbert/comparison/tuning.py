"""A recipe and values of its settings -> the settings with the best mean score over folds of the training rows.

Each setting is trained once on each fold. The trials are those of a comparison (trial.py, store.py, engines/): they are
identified by their content, so what is finished is never trained again, whatever is searched next in the same folder.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from minbert.comparison.best_recipe import extending_toml, with_overrides
from minbert.comparison.budget import Budget
from minbert.comparison.compare import Comparison, ComparisonEvent, TrialsPlanned
from minbert.comparison.engines import Engine
from minbert.comparison.fold_tasks import Fold, make_folds
from minbert.comparison.remaining_trials import PlannedTrial
from minbert.comparison.results import TrialResult
from minbert.comparison.search_rounds import Round, Search
from minbert.comparison.search_space import Candidate, Dimension, corner_candidates
from minbert.comparison.transfer import LabeledRecipe
from minbert.comparison.trial import Trial
from minbert.comparison.tuning_edges import edge_warnings
from minbert.comparison.tuning_results import SettingResult, TuningResults, diverged
from minbert.config.loading import recipe_from
from minbert.config.recipe import Optimizer, Recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.errors import UserError
from minbert.files import write_text

BEST_RECIPE = "best.toml"


@dataclass(frozen=True)
class TuningPlan:
    """What is tuned: the recipe as it is written, settings on top of it (--set), and what is tried."""

    recipe: Recipe
    # how a file in the folder of the search names the recipe
    extends: str
    dimensions: Sequence[Dimension]
    overrides: Sequence[str] = ()
    folds: int = 3
    search: Search = field(default_factory=Search)
    budget: Budget = field(default_factory=Budget)
    source: DataSource = DEFAULT_SOURCE
    command: str = ""


class Tuning:
    """The folder of a search: its folds, its trials, and the results of the last command."""

    def __init__(self, folder: Path, plan: TuningPlan) -> None:
        self.folder, self.plan = folder, plan
        self.base = with_overrides(plan.recipe.table, plan.overrides, "--set")
        self.settings: dict[tuple[Candidate, float], SettingResult] = {}
        plan.search.check(plan.dimensions)
        self.check_budget()

    def check_budget(self) -> None:
        if self.plan.budget != Budget() and any(each.path == "epoch_fraction" for each in self.plan.dimensions):
            raise UserError(
                "--over epoch_fraction: the budget decides which fraction of each epoch is trained.",
                "Leave out --budget and --steps, or tune another setting.",
            )

    def recipe_with(self, candidate: Candidate, fold: Fold | None = None) -> Recipe:
        table = with_overrides(self.base, candidate.overrides)
        return recipe_from(table if fold is None else fold.table_of(table), self.plan.recipe.where)

    def check(self) -> None:
        """Find an error in any setting, or a missing file, before anything is trained."""
        recipes = [
            LabeledRecipe(each.label, self.recipe_with(each)) for each in corner_candidates(self.plan.dimensions)
        ]
        Comparison(self.folder, recipes, [0], self.plan.budget, source=self.plan.source).check()

    def train(self, engine: Engine) -> Generator[ComparisonEvent, None, None]:
        """Train the trials that are not finished."""
        plan = self.plan
        recipe = recipe_from(self.base, plan.recipe.where)
        folds = make_folds(recipe, plan.source, plan.folds, self.folder / "folds" / str(plan.folds))
        fractions = plan.search.most_settings(plan.dimensions)
        yield TrialsPlanned(tuple(PlannedTrial(share=each) for each in fractions for _ in range(plan.folds)))
        rounds = plan.search.rounds(plan.dimensions)
        try:
            each = next(rounds)
            while True:
                yield from self.train_round(each, folds, engine)
                each = rounds.send({c: self.settings[c, each.fraction].mean for c in each.candidates})
        except StopIteration:
            pass

    def train_round(self, each: Round, folds: Sequence[Fold], engine: Engine) -> Generator[ComparisonEvent, None, None]:
        recipes: dict[tuple[Candidate, int], LabeledRecipe] = {}
        for candidate in each.candidates:
            try:
                # all folds of a setting, or none
                recipes |= {
                    (candidate, fold.number): self.fold_recipe(candidate, fold, each.fraction) for fold in folds
                }
            except UserError as wrong:
                reason = f"{wrong.problem} {wrong.next_step}".strip()
                self.settings[candidate, each.fraction] = SettingResult(candidate, each.fraction, invalid=reason)
        # folds outside, settings inside: if it is stopped early, every setting has as many folds
        by_fold = [recipes[key] for key in sorted(recipes, key=lambda key: key[1])]
        seeds = [self.plan.search.seed]
        work = FoldTrials(self.folder, by_fold, seeds, self.plan.budget, command=self.plan.command)
        found: dict[str, TrialResult] = {}
        if by_fold:
            for event in work.train(engine, by_fold[0].label):
                if isinstance(event, TrialResult):
                    found[event.key] = event
                # the number of all trials is known already
                if not isinstance(event, TrialsPlanned):
                    yield event
        self.record(each, recipes, {label: found[key] for label, key in work.keys.items()})

    def record(
        self, each: Round, recipes: Mapping[tuple[Candidate, int], LabeledRecipe], results: Mapping[str, TrialResult]
    ) -> None:
        trials: dict[Candidate, dict[int, TrialResult]] = {}
        for (candidate, number), labeled in recipes.items():
            trials.setdefault(candidate, {})[number + 1] = results[labeled.label]
        for candidate, by_fold in trials.items():
            self.settings[candidate, each.fraction] = SettingResult(candidate, each.fraction, by_fold)

    def fold_recipe(self, candidate: Candidate, fold: Fold, fraction: float) -> LabeledRecipe:
        recipe = self.recipe_with(candidate, fold)
        part = "" if fraction == 1 else f", {describe_fraction(fraction)}"
        label = f"{candidate.label}{part}, fold {fold.number + 1}"
        if self.plan.budget != Budget():
            return LabeledRecipe(label, recipe, budget_fraction=fraction)
        return LabeledRecipe(label, replace(recipe, epoch_fraction=recipe.epoch_fraction * fraction))

    def results(self) -> TuningResults:
        plan = self.plan
        found = TuningResults(
            plan.recipe.where,
            str(plan.search),
            plan.folds,
            plan.search.seed,
            str(plan.budget),
            plan.command,
            tuple(self.settings.values()),
            tuple(each.path for each in plan.dimensions),
        )
        return replace(found, warnings=tuple(edge_warnings(found, plan.dimensions, self.is_valid)))

    def is_valid(self, candidate: Candidate) -> bool:
        try:
            self.recipe_with(candidate)
        except UserError:
            return False
        return True

    def write_best(self, results: TuningResults) -> Path | None:
        """best.toml; None if no setting has a score on every fold."""
        if results.best is None:
            return None
        candidate, cost = results.best.candidate, results.cost
        comments = [
            f"Made by `{self.plan.command}`" if self.plan.command else "Made by minbert.tune",
            *results.decision(),
            f"Mean over {results.folds} folds of the training rows; {cost.trials} trials, {cost.seconds:,.0f} s of "
            "training.",
        ]
        changed = with_overrides(self.base, candidate.overrides)
        path = self.folder / BEST_RECIPE
        write_text(path, extending_toml(self.plan.extends, self.plan.recipe.table, changed, comments))
        return path


class FoldTrials(Comparison):
    """The trials of one round: a comparison without a report of its own."""

    has_controls = False

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__(*given, **named)  # type: ignore[arg-type]
        self.keys: dict[str, str] = {}

    def write_plan(self, trials: Sequence[Trial], baseline: str) -> None:
        self.keys = {trial.label: trial.key for trial in trials}

    def fraction_key(self, each: LabeledRecipe) -> str:
        """Settings that do not change the cost of a step are timed once: they get the same number of steps."""
        usual = Optimizer()
        rates = {"learning_rate": usual.learning_rate, "head_learning_rate": None, "weight_decay": usual.weight_decay}
        rates |= {"layer_decay": usual.layer_decay, "warmup_ratio": usual.warmup_ratio}
        optimizer = replace(each.recipe.optimizer, **rates)  # type: ignore[arg-type]
        return super().fraction_key(replace(each, recipe=replace(each.recipe, optimizer=optimizer)))

    def finished(self, trials: Sequence[Trial]) -> dict[str, TrialResult]:
        """A trial that diverged would do so again: it is not trained again either."""
        keys, rows = {trial.key: trial.label for trial in trials}, self.store.results()
        failed = {
            key: replace(rows[key], label=keys[key]) for key in rows if key in keys and diverged(rows[key].reason)
        }
        return failed | super().finished(trials)


def describe_fraction(fraction: float) -> str:
    return "the whole training" if fraction == 1 else f"1/{round(1 / fraction)} of the training"
