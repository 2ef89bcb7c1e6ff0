"""minbert tune: the settings of a recipe with the best score on folds of its training rows."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from minbert.cli.budget_options import TrialBudgetOption, TrialStepsOption
from minbert.cli.compare import read_budget
from minbert.cli.console import command_line, show_json
from minbert.cli.data_files import DataFlags, are_data_files, choose_recipe
from minbert.cli.options import (
    DataRootOption,
    EngineOption,
    JobsOption,
    JsonOption,
    KeepNaOption,
    KindOption,
    LabelOption,
    MetricOption,
    RecipeOrFilesArgument,
    SeedOption,
    SetOption,
    SkipBadRowsOption,
    TaskLengthOption,
    TaskNameOption,
    TextOption,
    WithRecipeOption,
)
from minbert.cli.train import data_source
from minbert.cli.trial_progress import saved_when_stopped, watch_trials
from minbert.cli.tune_options import (
    FoldsOption,
    HalvingOption,
    OverOption,
    SampledTrialsOption,
    SamplerOption,
    TuneOutOption,
)
from minbert.cli.tuning_summary import show_tuning
from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.comparison.search_rounds import SamplerName, Search
    from minbert.comparison.tuning import TuningPlan
    from minbert.config.recipe import Recipe


def tune(
    given: RecipeOrFilesArgument,
    over: OverOption,
    out: TuneOutOption,
    folds: FoldsOption = 3,
    trials: SampledTrialsOption = None,
    sampler: SamplerOption = None,
    halving: HalvingOption = False,
    budget: TrialBudgetOption = None,
    steps: TrialStepsOption = None,
    seed: SeedOption = None,
    text: TextOption = None,
    label: LabelOption = None,
    kind: KindOption = None,
    keep_na: KeepNaOption = False,
    task: TaskNameOption = None,
    recipe: WithRecipeOption = None,
    metric: MetricOption = None,
    max_length: TaskLengthOption = None,
    data_root: DataRootOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipBadRowsOption = False,
    jobs: JobsOption = None,
    engine: EngineOption = "local",
    json: JsonOption = False,
) -> None:
    """Find the best settings of a recipe, or of a model for your files.

    Every combination of the --over values is trained and scored on folds of the training rows; dev rows take no part.
    The same command resumes; with more values it trains only the new ones. OUT gets best.toml (a recipe with the best
    settings), report.md and trials.csv. Samples (--trials) need Optuna: pip install 'minbert\\[tune]'.

    Example: minbert tune baseline --over optimizer.learning_rate=5e-5,1.5e-4,5e-4 --data-root data --out tuned
    """
    flags = DataFlags(text, label, kind, task, recipe, metric, max_length, keep_na)
    plan = read_tuning_plan(given, flags, out, over, set_ or [], quiet=json)
    search = read_search(trials, sampler, halving, plan.recipe.seed if seed is None else seed)
    plan = replace(plan, folds=folds, search=search, budget=read_budget(budget, steps))
    source = data_source(data_root and data_root.resolve(), skip_bad_rows)
    tune_and_report(given, out, replace(plan, source=source), (engine, jobs), as_json=json)


def read_tuning_plan(
    given: Sequence[str], flags: DataFlags, out: Path, over: Sequence[str], overrides: Sequence[str], *, quiet: bool
) -> "TuningPlan":
    from minbert.comparison.search_space import parse_dimensions
    from minbert.comparison.tuning import TuningPlan

    dimensions = parse_dimensions(over)
    recipe = choose_recipe(given, flags, stdin_for=out, quiet=quiet)
    extends = "recipe.toml" if are_data_files(given) else name_from(out, given[0])
    return TuningPlan(recipe, extends, dimensions, overrides, command=command_line())


def read_search(trials: int | None, sampler: "SamplerName | None", halving: bool, seed: int) -> "Search":
    from minbert.comparison.search_rounds import Search

    if trials is None and sampler is not None:
        raise UserError(f"--sampler {sampler} needs a number of samples.", "Give --trials N.")
    return Search(trials, sampler or "tpe", halving, seed)


def name_from(out: Path, recipe: str) -> str:
    """A recipe as best.toml names it: a shipped one by its name, a file by its path from there."""
    from minbert.config.loading import SHIPPED, find_recipe

    path = find_recipe(recipe)
    if path.is_relative_to(SHIPPED):
        return path.relative_to(SHIPPED).with_suffix("").as_posix()
    try:
        return Path(os.path.relpath(path, out.resolve())).as_posix()
    except ValueError:
        # on another drive
        return str(path)


def write_given_recipe(recipe: "Recipe", out: Path, given: Sequence[str]) -> None:
    """The recipe for data files, which best.toml extends."""
    import tomli_w

    from minbert.files import write_text

    out.mkdir(parents=True, exist_ok=True)
    about = f"# The tasks found in {', '.join(given)}. Settings that are not written here are chosen for the data.\n"
    write_text(out / "recipe.toml", about + tomli_w.dumps(recipe.table))


def tune_and_report(
    given: Sequence[str], out: Path, plan: "TuningPlan", engine: tuple[str, int | None], *, as_json: bool
) -> None:
    """`engine`: its name, and how many trials at once."""
    from minbert.comparison.engines import ENGINES
    from minbert.comparison.tuning import Tuning
    from minbert.report.tuning_report import tuning_json, write_tuning

    work = Tuning(out, plan)
    work.check()
    if are_data_files(given):
        write_given_recipe(plan.recipe, out, given)
    name, jobs = engine
    trained_by = ENGINES[name](out, jobs)
    with saved_when_stopped(), closing(work.train(trained_by)) as events:
        watch_trials(events, trained_by.at_once)
    results = work.results()
    best = work.write_best(results)
    write_tuning(results, out)
    if as_json:
        show_json(tuning_json(results))
    else:
        show_tuning(results, best)
    # a setting that diverges is a result; anything else may be fixed, and the same command tries it again
    if best is None or not all(each.all_diverged for each in results.failed):
        raise typer.Exit(1)
