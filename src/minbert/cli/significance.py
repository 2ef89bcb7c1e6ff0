"""minbert significance: which system is better, by predictions that any tool has made."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minbert.cli.console import command_line, console, escape_markup, shell_path, show_json, text_table
from minbert.cli.options import JsonOption
from minbert.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from minbert.comparison.results import ComparisonResults

GoldOption = Annotated[
    Path, typer.Option("--gold", metavar="FILE", help="Labels or scores of the rows: csv, tsv, jsonl, json, parquet.")
]
SystemsOption = Annotated[
    list[str],
    typer.Option(
        "--system", metavar="NAME=FILE,...", help="Predictions of a system, one file per seed. Repeat it per system."
    ),
]
GivenMetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="accuracy, macro_f1, f1, precision, recall, log_loss, pearson, spearman, mse or mae. Default: accuracy; "
        "pearson if gold has fractions.",
        show_default=False,
    ),
]
BaselineSystemOption = Annotated[
    str | None,
    typer.Option("--baseline", metavar="NAME", help="System to compare with. Default: the first.", show_default=False),
]
PredictionColumnOption = Annotated[
    str,
    typer.Option("--column", help="Column of the predictions. Default: prediction, or the last.", show_default=False),
]
GoldColumnOption = Annotated[
    str, typer.Option("--gold-column", help="Column of the gold labels. Default: by its name.", show_default=False)
]
IdColumnOption = Annotated[
    str,
    typer.Option("--id-column", help="Column of the ids, if files have one. Default: by its name.", show_default=False),
]
PageOutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write report.html, report.md, results.csv here.", show_default=False),
]


def significance(
    gold: GoldOption,
    system: SystemsOption,
    metric: GivenMetricOption = None,
    baseline: BaselineSystemOption = None,
    column: PredictionColumnOption = "",
    gold_column: GoldColumnOption = "",
    id_column: IdColumnOption = "",
    out: PageOutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test which system is better, from files of predictions that any tool has made.

    Each file has the predictions of one seed for the rows of the gold file: a column `prediction`, or its last column,
    or one column of probabilities per label (p_LABEL). Rows are matched by a column of ids that both files have,
    otherwise by their order. Files of `minbert predict --output` work as they are.

    Example: minbert significance --gold dev.csv --system base=a0.csv,a1.csv --system new=b0.csv,b1.csv --out page
    """
    from minbert.comparison.given_results import results_from_files
    from minbert.comparison.prediction_files import PredictionColumns
    from minbert.report import write_significance

    files = read_systems(system)
    choice = PredictionColumns(gold_column, column, id_column)
    results = results_from_files(gold, files, metric, baseline, choice, command_line())
    if out is not None:
        write_significance(results, out)
    if as_json:
        show_json(as_records(results))
        return
    show_significance(results)
    if out is not None:
        console.print(f"Report: {shell_path(out / 'report.html')} (also report.md and results.csv)")


def read_systems(options: "Sequence[str]") -> dict[str, list[Path]]:
    """NAME=FILE,FILE; a name may be repeated with more files."""
    found: dict[str, list[Path]] = {}
    for option in options:
        name, equals, files = option.partition("=")
        if not name.strip() or not equals or not files.strip(","):
            raise UserError(
                f"--system {option}: not in the form NAME=FILE,FILE,...", "For example: --system base=a0.csv,a1.csv"
            )
        # a comma may be part of a file's name
        paths = [Path(files)] if Path(files).is_file() else [Path(each) for each in files.split(",") if each]
        seeds = found.setdefault(name.strip(), [])
        for path in paths:
            if path in seeds:
                raise UserError(f"--system {name}: {path} is given twice.", "Each seed has a file of its own.")
            seeds.append(path)
    return found


def show_significance(results: "ComparisonResults") -> None:
    from minbert.report.sentences import cautions, measure_decimals, measure_name

    console.print(significance_table(results))
    for caveat in results.caveats:
        console.print(f"[yellow]Note[/]: {escape_markup(caveat)}")
    for caution in cautions(results):
        console.print(escape_markup(caution))
    measure = results.measures[0]
    effect = next(each.differences[measure] for each in results.systems if each.differences).minimum_detectable_effect
    decimals = measure_decimals(results, measure)
    over, spread = "rows", ""
    if len(results.seeds) > 1:
        over, spread = "seeds and rows", ", mean ± standard deviation over seeds"
    console.print(
        f"{measure_name(measure)}{spread}. Differences from "
        f"{escape_markup(results.baseline)} with 95% intervals over {over}; above 0 is better. p-values are corrected "
        f"for all systems (Holm). A true difference of {effect:.{decimals}f} would be found four times in five.",
        style="dim",
    )


def significance_table(results: "ComparisonResults") -> "Table":
    from minbert.comparison.results import NO_EVIDENCE
    from minbert.report.sentences import measure_decimals

    measure = results.measures[0]
    decimals = measure_decimals(results, measure)
    numbers = (measure, "difference", "p")
    made = text_table("system", *numbers, "result", right=numbers)
    for each in results.systems:
        summary, d = each.summaries[measure], each.differences.get(measure)
        score = f"{summary.mean:.{decimals}f}" + ("" if summary.sd is None else f" ± {summary.sd:.{decimals}f}")
        cells = ["", "", "baseline"]
        if d:
            value, low, high = (f"{x:+.{decimals}f}" for x in (d.value, d.low, d.high))
            interval = escape_markup(f"{value} [{low}, {high}]")
            result = "no evidence" if d.result == NO_EVIDENCE else f"[bold]{d.result}[/]"
            cells = [interval, f"{d.corrected:.3f}" if d.corrected >= 0.001 else "<0.001", result]
        made.add_row(escape_markup(each.label), score, *cells)
    return made


def as_records(results: "ComparisonResults") -> dict[str, Any]:
    """For programs: the fields of `minbert.compare_predictions`."""
    from dataclasses import asdict

    from minbert.comparison.given_predictions import system_comparison

    measure = results.measures[0]
    summaries = {each.label: each.summaries[measure] for each in results.systems}
    base = summaries[results.baseline].mean
    return {
        "metric": measure,
        "baseline": results.baseline,
        "scores": {label: list(each.values.values()) for label, each in summaries.items()},
        "systems": [
            asdict(system_comparison(each.label, summaries[each.label].mean, base, each.differences[measure]))
            for each in results.systems
            if measure in each.differences
        ],
        "caveats": list(results.caveats),
    }
