"""minbert compare: recipes x seeds under equal budgets, with paired statistics."""

import shlex
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minbert.cli.console import console, plain, table
from minbert.cli.options import DataRoot, Jobs, Set, SkipBadRows
from minbert.cli.trial_progress import saved_when_stopped, watch_trials
from minbert.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from minbert.comparison.compare import Budget
    from minbert.comparison.results import ComparisonResults, System
    from minbert.comparison.transfer import Variant


def compare(
    recipes: Annotated[
        list[str],
        typer.Argument(metavar="RECIPE...", help="Recipe files, or names of shipped ones (`minbert recipes`)."),
    ],
    out: Annotated[Path, typer.Option("--out", help="The folder of the comparison; what is done there is kept.")],
    seeds: Annotated[str, typer.Option(help="How many seeds (0, 1, ...), or which: 3,5,8.")] = "5",
    budget: Annotated[
        str | None, typer.Option(help="Training time of a cell: 90s, 10m, 1h.", show_default=False)
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Or steps of a cell.", show_default=False)] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RECIPE", help="What the others are compared with; the first if left out.")
    ] = None,
    backbone: Annotated[
        str | None, typer.Option(help="Train on this one instead of the recipes' own.", show_default=False)
    ] = None,
    data_root: DataRoot = None,
    set_: Set = None,
    skip_bad_rows: SkipBadRows = False,
    sharing: Annotated[
        Literal["none", "alone", "matrix"],
        typer.Option(
            help="Does sharing help? alone: also train each task of the baseline alone; matrix: and every pair of "
            "tasks, with each other and one after the other."
        ),
    ] = "none",
    cosines: Annotated[
        int,
        typer.Option(min=0, help="Training rows a task by which the cosines between gradients are watched; 0: not."),
    ] = 32,
    jobs: Jobs = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Processes of this machine, or an existing Ray cluster.")
    ] = "local",
) -> None:
    """Which recipe is better, and can this be known? Trains every recipe with every seed under equal budgets.

    A cell is one recipe with one seed. The budget cuts every epoch alike; reading and measuring come on top. Cells
    are known by their content (recipe, data, weights, seed): the same command goes on after a kill, and with more
    recipes or seeds it trains only what is new. A cell that fails is shown with its reason, and the others go on.

    Differences are tested on the very same dev rows against the baseline, over seeds and rows, corrected for how
    many there are. OUT gets report.html, report.md, results.csv and results.sqlite.

    Example: minbert compare baseline papers/c-pals/pals-annealed --seeds 5 --budget 10m --data-root data --out cmp
    """
    from minbert.comparison.compare import Comparison
    from minbert.comparison.conclude import conclude
    from minbert.comparison.engines import ENGINES
    from minbert.comparison.transfer import sharing_variants
    from minbert.report import write_comparison

    # absolute: the trainings may run elsewhere
    data_root = data_root and data_root.resolve()
    if backbone is not None and Path(backbone).is_dir():
        backbone = str(Path(backbone).resolve())
    overrides = [*(set_ or []), *([f"backbone={backbone}"] if backbone else [])]
    variants = read_variants(recipes, overrides, cosines)
    if baseline is not None and baseline not in recipes:
        raise UserError(f"--baseline {baseline}: is not among the recipes.", f"One of: {', '.join(recipes)}.")
    chosen = baseline or recipes[0]
    own = next(variant for variant in variants if variant.label == chosen)
    besides = [] if sharing == "none" else sharing_variants(own, matrix=sharing == "matrix")
    work = Comparison(out, variants, read_seeds(seeds), read_budget(budget, steps), besides, skip_bad_rows)
    work.check(data_root)
    with saved_when_stopped(), closing(work.train(ENGINES[engine](out, jobs), data_root, chosen)) as events:
        watch_trials(events)
    results = conclude(out)
    write_comparison(results, out)
    show_findings(results)
    console.print(f"The report: {plain(shlex.quote(str(out / 'report.html')))} (also report.md, results.csv)")
    if not results.complete:
        raise typer.Exit(1)


def read_variants(names: Sequence[str], overrides: list[str], cosines: int) -> "list[Variant]":
    """Each recipe, watching its tasks' gradients if it has several."""
    from dataclasses import replace

    from minbert.comparison.transfer import Variant
    from minbert.config.loading import read_recipe

    variants = []
    for name in names:
        recipe = read_recipe(name, overrides)
        if cosines and len(recipe.tasks) > 1:
            recipe = replace(recipe, selection=replace(recipe.selection, gradient_cosine_rows=cosines))
        variants.append(Variant(name, recipe))
    return variants


def read_seeds(text: str) -> list[int]:
    """5: the first five; 3,5,8: these."""
    try:
        numbers = [int(word) for word in text.split(",")]
        found = list(range(numbers[0])) if len(numbers) == 1 else numbers
    except ValueError:
        found = []
    if not found or min(found) < 0 or len(set(found)) < len(found):
        raise UserError(f"--seeds {text}: neither a number of seeds nor a list of them.", "For example: 5, or 3,5,8.")
    return found


def read_budget(time: str | None, steps: int | None) -> "Budget":
    from minbert.comparison.compare import Budget
    from minbert.durations import parse_duration

    if time is not None and steps is not None:
        raise UserError("--budget and --steps: a cell has one limit.", "Give one of them.")
    try:
        return Budget(None if time is None else parse_duration(time), steps)
    except ValueError as wrong:
        raise UserError(f"--budget: {wrong}.", "Write for example 90s, 5m or 1h.") from None


def show_findings(results: "ComparisonResults") -> None:
    from minbert.report.sentences import cautions

    console.print(findings_table(results))
    for system in results.systems:
        for line in against(system, results):
            console.print(line, soft_wrap=True)
        for seed, reason in system.failed.items():
            console.print(f"{plain(system.label)}, seed {seed} [red]failed[/]: {plain(reason)}", soft_wrap=True)
        if system.missing:
            numbers = ", ".join(map(str, system.missing))
            console.print(f"{plain(system.label)}: seeds {numbers} are missing", soft_wrap=True)
    for label, seeds in results.beside.items():
        for seed, reason in seeds.items():
            console.print(f"{plain(label)}, seed {seed}: [red]no result[/]: {plain(reason)}", soft_wrap=True)
    for sentence in results.caveats:
        console.print(f"[yellow]Note[/]: {plain(sentence)}", soft_wrap=True)
    if not results.complete:
        console.print("[red]Incomplete[/]: the ranking is of what there is. The same command trains what is missing.")
    for sentence in cautions(results):
        console.print(plain(sentence), soft_wrap=True)
    console.print(
        f"Mean ± standard deviation over seeds; differences from {plain(results.baseline)} with 95 % intervals over "
        f"{'' if len(results.seeds) == 1 else 'seeds and '}dev rows; p corrected for {results.tested} comparisons "
        "(Holm).",
        style="dim",
    )


def findings_table(results: "ComparisonResults") -> "Table":
    """The best first; the main metric of each task, and what a training cost."""
    short = {measure: measure.rpartition(".")[0] or measure for measure in results.measures}
    made = table("recipe", *short.values(), "seconds", "trainable", right=(*short.values(), "seconds", "trainable"))
    for system in results.systems:
        cost = system.cost
        spent = ["", ""] if cost is None else [f"{cost.seconds:,.0f}", f"{cost.trainable / 1e6:.1f}M"]
        made.add_row(plain(system.label), *(mean_of(system, measure) for measure in short), *spent)
    return made


def mean_of(system: "System", measure: str) -> str:
    found = system.summaries.get(measure)
    if found is None:
        return ""
    return f"{found.mean:.3f}" if found.sd is None else f"{found.mean:.3f} ± {found.sd:.3f}"


def against(system: "System", results: "ComparisonResults") -> "Iterator[str]":
    """The overall difference from the baseline, and those on single tasks that are evident."""
    from minbert.comparison.results import NO_EVIDENCE, OVERALL

    for measure, found in sorted(system.differences.items(), key=lambda each: each[0] != OVERALL):
        if measure == OVERALL or found.result != NO_EVIDENCE:
            verdict = found.result if found.result == NO_EVIDENCE else f"[bold]{found.result}[/]"
            interval = plain(f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]")
            yield f"{plain(system.label)}: {measure} {interval}, {verdict} (p {found.corrected:.2g})"
