"""The results of a comparison on the screen: a table of scores, the differences, and what to be careful about."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from minbert.cli.console import console, escape_markup, text_table

if TYPE_CHECKING:
    from rich.table import Table

    from minbert.comparison.results import ComparisonResults, System


def show_comparison(results: "ComparisonResults") -> None:
    from minbert.report.sentences import cautions

    console.print(system_table(results))
    for system in results.systems:
        for line in (*difference_lines(system, results), *missing_lines(system)):
            console.print(line, soft_wrap=True)
    for label, seeds in results.beside.items():
        for seed, reason in seeds.items():
            line = f"{escape_markup(label)}, seed {seed}: [red]no result[/]: {escape_markup(reason)}"
            console.print(line, soft_wrap=True)
    for caveat in results.caveats:
        console.print(f"[yellow]Note[/]: {escape_markup(caveat)}", soft_wrap=True)
    if not results.complete:
        console.print("[red]Incomplete[/]: some trials are missing. Run the same command again to train them.")
    for caution in cautions(results):
        console.print(escape_markup(caution), soft_wrap=True)
    console.print(
        f"Mean ± standard deviation over seeds; differences from {escape_markup(results.baseline)} with 95% intervals "
        f"over {'' if len(results.seeds) == 1 else 'seeds and '}dev rows; p-values corrected for {results.tested} "
        "comparisons (Holm).",
        style="dim",
    )


def system_table(results: "ComparisonResults") -> "Table":
    """Best first: the main metric of each task, training time in seconds, and trainable parameters."""
    from minbert.report.sentences import measure_decimals

    short = {measure: measure.rpartition(".")[0] or measure for measure in results.measures}
    numbers = (*short.values(), "seconds", "trainable")
    made = text_table("recipe", *numbers, right=numbers)
    for system in results.systems:
        cost = system.cost
        costs = ["", ""] if cost is None else [f"{cost.seconds:,.0f}", f"{cost.trainable / 1e6:.1f}M"]
        scores = (mean_and_deviation(system, measure, measure_decimals(results, measure)) for measure in short)
        made.add_row(escape_markup(system.label), *scores, *costs)
    return made


def mean_and_deviation(system: "System", measure: str, decimals: int) -> str:
    summary = system.summaries.get(measure)
    if summary is None:
        return ""
    mean = f"{summary.mean:.{decimals}f}"
    return mean if summary.sd is None else f"{mean} ± {summary.sd:.{decimals}f}"


def difference_lines(system: "System", results: "ComparisonResults") -> Iterator[str]:
    """The overall difference from the baseline, and on single tasks those with evidence."""
    from minbert.comparison.results import NO_EVIDENCE, OVERALL
    from minbert.report.sentences import measure_decimals

    for measure, difference in sorted(system.differences.items(), key=lambda item: item[0] != OVERALL):
        evident = difference.result != NO_EVIDENCE
        if measure == OVERALL or evident:
            result = f"[bold]{difference.result}[/]" if evident else difference.result
            value, low, high = (
                f"{x:+.{measure_decimals(results, measure)}f}"
                for x in (difference.value, difference.low, difference.high)
            )
            interval = escape_markup(f"{value} [{low}, {high}]")
            yield f"{escape_markup(system.label)}: {measure} {interval}, {result} (p {difference.corrected:.2g})"


def missing_lines(system: "System") -> Iterator[str]:
    for seed, reason in system.failed.items():
        yield f"{escape_markup(system.label)}, seed {seed} [red]failed[/]: {escape_markup(reason)}"
    if system.missing:
        yield f"{escape_markup(system.label)}: no result yet for seeds {', '.join(map(str, system.missing))}"
