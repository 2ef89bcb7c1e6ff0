"""minbert compare: recipes x seeds under equal budgets, with paired statistics."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from minbert.cli.budget_options import FullOption, TrialBudgetOption, TrialExamplesOption, TrialStepsOption
from minbert.cli.comparison_summary import show_comparison
from minbert.cli.console import command_line, console, shell_path
from minbert.cli.options import (
    BackboneOption,
    BaselineOption,
    ComparisonOutOption,
    CosinesOption,
    DataRootOption,
    EngineOption,
    JobsOption,
    RecipesArgument,
    SeedsOption,
    SetOption,
    SharingOption,
    SkipBadRowsOption,
)
from minbert.cli.trial_progress import saved_when_stopped, watch_trials
from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.comparison.budget import Budget
    from minbert.comparison.compare import Comparison
    from minbert.comparison.transfer import LabeledRecipe


# rows, seconds
DEFAULT_COSINES, SHORT_BUDGET = 32, 60


def compare(
    recipes: RecipesArgument,
    out: ComparisonOutOption,
    seeds: SeedsOption = "5",
    examples: TrialExamplesOption = None,
    budget: TrialBudgetOption = None,
    steps: TrialStepsOption = None,
    full: FullOption = False,
    baseline: BaselineOption = None,
    backbone: BackboneOption = None,
    data_root: DataRootOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipBadRowsOption = False,
    sharing: SharingOption = "none",
    cosines: CosinesOption = None,
    jobs: JobsOption = None,
    engine: EngineOption = "local",
) -> None:
    """Train recipes with several seeds under equal budgets, and test which is better.

    A trial is one recipe with one seed. By default, all read as many training examples as the baseline (or --budget,
    --steps). The same command resumes after an interruption; with more recipes or seeds it trains only the new trials.
    A tenth of the training rows chooses the models (--set selection.validation_fraction=0: the dev rows do). Recipes
    are tested against the baseline on the dev rows, with p-values corrected for the number of tests; those that do not
    beat the constant answer or the untrained backbone are named. OUT gets report.html, report.md and results.csv.

    Example: minbert compare baseline papers/c-pals/pals-annealed --seeds 5 --budget 10m --data-root data --out cmp
    """
    from minbert.comparison.compare import Comparison
    from minbert.data.source import DataSource

    source = DataSource(data_root and data_root.resolve(), skip_bad_rows)  # absolute: trials may run elsewhere
    limit = read_budget(budget, steps, examples, full)
    variants = read_variants(recipes, [*(set_ or []), *backbone_override(backbone)], limit, cosines)
    chosen = choose_baseline(variants, baseline)
    others = transfer_variants(chosen, sharing)
    work = Comparison(out, variants, read_seeds(seeds), limit, others, source, command_line())
    check_and_match(work, chosen, full)
    train_and_report(work, engine, jobs, chosen.label)


def check_and_match(work: "Comparison", baseline: "LabeledRecipe", full: bool) -> None:
    """Find errors; without a limit, let all trials read as many examples as the baseline in its whole training."""
    from minbert.comparison.budget import Budget, examples_read

    work.check()
    if work.budget == Budget() and not full:
        work.budget = Budget(examples=examples_read(baseline.recipe, work.source))


def default_cosines(budget: "Budget") -> int:
    """Training rows per task for the cosines between gradients; with a short budget they would take as long as it."""
    return 0 if budget.seconds is not None and budget.seconds < SHORT_BUDGET else DEFAULT_COSINES


def backbone_override(backbone: str | None) -> list[str]:
    if backbone is None:
        return []
    return [f"backbone={Path(backbone).resolve() if Path(backbone).is_dir() else backbone}"]


def read_variants(
    names: Sequence[str], overrides: list[str], limit: "Budget", cosines: int | None
) -> "list[LabeledRecipe]":
    """The recipes, with validation rows, and with gradient cosines where there are several tasks."""
    from dataclasses import replace

    from minbert.comparison.selection_rows import with_validation_rows
    from minbert.comparison.transfer import LabeledRecipe
    from minbert.config.loading import read_recipe

    rows = default_cosines(limit) if cosines is None else cosines
    variants = []
    for name in names:
        recipe = with_validation_rows(read_recipe(name, overrides))
        if rows and len(recipe.tasks) > 1:
            recipe = replace(recipe, selection=replace(recipe.selection, gradient_cosine_rows=rows))
        variants.append(LabeledRecipe(name, recipe))
    return variants


def choose_baseline(variants: "Sequence[LabeledRecipe]", name: str | None) -> "LabeledRecipe":
    """The recipe of this name, or the first."""
    found = [variant for variant in variants if name in (None, variant.label)]
    if not found:
        names = ", ".join(variant.label for variant in variants)
        raise UserError(f"--baseline {name}: is not among the recipes.", f"Choose one of: {names}.")
    return found[0]


def transfer_variants(baseline: "LabeledRecipe", sharing: str) -> "list[LabeledRecipe]":
    from minbert.comparison.transfer import transfer_recipes

    return [] if sharing == "none" else transfer_recipes(baseline, matrix=sharing == "matrix")


def read_seeds(text: str) -> list[int]:
    """5: the seeds 0 to 4; 3,5,8: these."""
    try:
        numbers = [int(word) for word in text.split(",")]
        seeds = list(range(numbers[0])) if len(numbers) == 1 else numbers
    except ValueError:
        seeds = []
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise UserError(f"--seeds {text}: not a number of seeds or a list of seeds.", "For example: 5, or 3,5,8.")
    return seeds


def read_budget(time: str | None, steps: int | None, examples: int | None = None, full: bool = False) -> "Budget":
    from minbert.comparison.budget import Budget

    given = {"--budget": time, "--steps": steps, "--examples": examples, "--full": full or None}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise UserError(f"{' and '.join(names)}: a trial has only one limit.", "Give one of them.")
    return Budget(None if time is None else read_time_budget(time), steps, examples, strict=True)


def read_time_budget(text: str) -> float:
    from minbert.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as wrong:
        raise UserError(f"--budget: {wrong}.", "For example: 90s, 5m or 1h.") from None


def train_and_report(work: "Comparison", engine: str, jobs: int | None, baseline: str) -> None:
    from minbert.comparison.conclude import conclude
    from minbert.comparison.engines import ENGINES
    from minbert.comparison.history import record_conclusion
    from minbert.report import write_comparison

    trained_by = ENGINES[engine](work.folder, jobs)
    with saved_when_stopped(), closing(work.train(trained_by, baseline)) as events:
        watch_trials(events, trained_by.at_once)
    results = conclude(work.folder)
    write_comparison(results, work.folder)
    show_comparison(results)
    record_conclusion(work.folder)
    console.print(f"Report: {shell_path(work.folder / 'report.html')} (also report.md and results.csv)")
    if not results.complete:
        raise typer.Exit(1)
