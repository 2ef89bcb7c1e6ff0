"""minbert tune: the settings of a recipe with the best score on folds of its training rows."""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from minbert.cli.compare import backbone_override, read_budget
from minbert.cli.console import command_line, show_json
from minbert.cli.data_files import DataFlags, are_data_files, choose_recipe
from minbert.cli.options import (
    BackboneOption,
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
    TrialBudgetOption,
    TrialStepsOption,
    WithRecipeOption,
)
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
    from minbert.comparison.tuning import Tuning
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
    backbone: BackboneOption = None,
    data_root: DataRootOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipBadRowsOption = False,
    jobs: JobsOption = None,
    engine: EngineOption = "local",
    json: JsonOption = False,
) -> None:
    """Find the best settings of a recipe, or of a model for your files.

    Every combination of the values after --over is trained and scored on folds of the training rows; dev rows take no
    part. The same command resumes after an interruption, and with more values it trains only the new trials. A setting
    whose training fails is shown with the reason, and the others continue. OUT gets best.toml (a recipe with the best
    settings), report.md and trials.csv.

    --trials and --sampler need Optuna: pip install 'minbert[tune]'.

    Examples:
      minbert tune baseline --over optimizer.learning_rate=5e-5,1.5e-4,5e-4 --data-root data --out tuned
      minbert train tuned/best.toml --data-root data --out runs/tuned
    """
    flags = DataFlags(text, label, kind, task, recipe, metric, max_length, keep_na)
    chosen = choose_recipe(given, flags, stdin_for=out, quiet=json)
    from minbert.comparison.search_space import parse_dimensions
    from minbert.comparison.tuning import Tuning, TuningPlan
    from minbert.data.source import DataSource

    plan = TuningPlan(
        chosen,
        "recipe.toml" if are_data_files(given) else name_from(out, given[0]),
        parse_dimensions(over),
        [*(set_ or []), *backbone_override(backbone)],
        folds,
        read_search(trials, sampler, halving, chosen.seed if seed is None else seed),
        read_budget(budget, steps),
        # absolute: trials may run in another directory
        DataSource(data_root and data_root.resolve(), skip_bad_rows),
        command_line(),
    )
    work = Tuning(out, plan)
    work.check()
    if are_data_files(given):
        write_given_recipe(chosen, out, given)
    tune_and_report(work, engine, jobs, json)


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


def tune_and_report(work: "Tuning", engine: str, jobs: int | None, as_json: bool) -> None:
    from minbert.comparison.engines import ENGINES
    from minbert.report.tuning_report import tuning_json, write_tuning

    with saved_when_stopped(), closing(work.train(ENGINES[engine](work.folder, jobs))) as events:
        watch_trials(events)
    results = work.results()
    best = work.write_best(results)
    write_tuning(results, work.folder)
    if as_json:
        show_json(tuning_json(results))
    else:
        show_tuning(results, best)
    # a setting that diverges is a result; anything else may be fixed, and the same command tries it again
    if best is None or not all(each.all_diverged for each in results.failed):
        raise typer.Exit(1)
