"""The results of a comparison on the screen: a table of scores, the differences, and what to be careful about."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from minbert.cli.console import console, escape_markup, text_table

if TYPE_CHECKING:
    from rich.table import Table

    from minbert.comparison.results import ComparisonResults, System

ONLY_ONE = (
    "There is only one recipe, so there is nothing to compare it with. Name another one too, such as a file with "
    'extends = "RECIPE.toml" and the settings that differ.'
)


def show_comparison(full: "ComparisonResults") -> None:
    from minbert.comparison.labels import with_short_labels
    from minbert.report.selection_sentences import selection_sentence
    from minbert.report.sentences import cautions

    results = with_short_labels(full)
    console.print(system_table(results))
    show_control_sentences(results)
    for system in results.systems:
        for line in (*difference_lines(system, results), *missing_lines(system)):
            console.print(line)
    for label, seeds in results.beside.items():
        for seed, reason in seeds.items():
            line = f"{escape_markup(label)}, seed {seed}: [red]no result[/]: {escape_markup(reason)}"
            console.print(line)
    for caveat in results.caveats:
        console.print(f"[yellow]Note[/]: {escape_markup(caveat)}")
    if not results.complete:
        console.print("[red]Incomplete[/]: some trials are missing. Run the same command again to train them.")
    for caution in cautions(results):
        console.print(escape_markup(caution))
    console.print(escape_markup(selection_sentence(results)))
    if len(results.systems) == 1:
        console.print(ONLY_ONE, markup=False)
        return
    console.print(
        f"Mean ± standard deviation over seeds; differences from {escape_markup(results.baseline)} with 95% intervals "
        f"over {'' if len(results.seeds) == 1 else 'seeds and '}dev rows; p-values corrected for {results.tested} "
        "comparisons (Holm).",
        style="dim",
    )


def system_table(results: "ComparisonResults") -> "Table":
    """Best first, then the controls: the main metric of each task, training time in seconds, trainable parameters."""
    from minbert.report.control_sentences import control_name
    from minbert.report.number_format import fixed
    from minbert.report.sentences import measure_decimals

    short = {measure: measure.rpartition(".")[0] or measure for measure in results.measures}
    numbers = (*short.values(), "seconds", "trainable")
    made = text_table("recipe", *numbers, right=numbers)
    for system in results.systems:
        cost = system.cost
        costs = ["", ""] if cost is None else [f"{cost.seconds:,.0f}", f"{cost.trainable / 1e6:.1f}M"]
        scores = (mean_and_deviation(system, measure, measure_decimals(results, measure)) for measure in short)
        made.add_row(escape_markup(system.label), *scores, *costs)
    for control in results.controls:
        scores = (fixed(control.scores.get(name), measure_decimals(results, name)) for name in short)
        made.add_row(escape_markup(control_name(control, results)), *scores, "", "")
    return made


def show_control_sentences(results: "ComparisonResults") -> None:
    """Which recipes do not beat their controls, in red; those that do not clearly do so, in yellow."""
    from minbert.report.control_sentences import control_sentences, not_beaten_sentences, unclear_sentences

    styles = dict.fromkeys(not_beaten_sentences(results), "bold red") | dict.fromkeys(
        unclear_sentences(results), "yellow"
    )
    for sentence in control_sentences(results):
        console.print(escape_markup(sentence), style=styles.get(sentence))


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
