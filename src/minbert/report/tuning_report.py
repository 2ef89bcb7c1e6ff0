"""The results of a search for settings -> report.md, trials.csv and a JSON value for programs."""

from pathlib import Path
from typing import Any

from minbert.comparison.tuning import BEST_RECIPE, describe_fraction
from minbert.comparison.tuning_results import SettingResult, TuningResults
from minbert.files import write_json, write_text
from minbert.report.csv_tables import CsvRows, csv_text
from minbert.report.markdown import escape_markdown
from minbert.report.number_format import duration_text, fixed, short_count

TUNING_METHOD = (
    "Each setting is trained once for each fold of the training rows, without the rows that the fold holds out, and "
    "scored on those. Dev rows take no part. ± is the standard error of the mean over folds. A difference is clear if "
    "it is significant at 95 % over folds, corrected for the training rows that they share (Nadeau and Bengio 2003) "
    "but not for the number of settings. The score of the best of many settings is too optimistic: measure the chosen "
    "settings on other rows."
)


def write_tuning(results: TuningResults, folder: Path) -> None:
    """report.md, trials.csv and results.json."""
    write_text(folder / "report.md", tuning_markdown(results))
    write_text(folder / "trials.csv", csv_text(trial_rows(results)))
    write_json(folder / "results.json", tuning_json(results))


def tuning_columns(results: TuningResults) -> list[str]:
    """The measures of each task, if there are several tasks."""
    complete = [each for each in results.ranked if each.complete]
    measures = list(complete[0].task_means()) if complete else []
    return measures if len(measures) > 1 else []


def setting_cells(each: SettingResult, measures: list[str]) -> list[str]:
    """The scores of a setting, and the seconds of its trials."""
    error = each.standard_error
    mean = fixed(each.mean, 3) + ("" if error is None else f" ± {fixed(error, 3)}")
    by_task = each.task_means() if each.complete else {}
    costs = [trial.cost.seconds for trial in each.trials.values() if trial.cost is not None]
    return [mean, *(fixed(by_task.get(name), 3) for name in measures), f"{sum(costs):,.0f}" if costs else ""]


def setting_note(each: SettingResult, results: TuningResults) -> str:
    if each.failures:
        return "diverged" if each.all_diverged else "failed"
    if each is results.best:
        return "best"
    if each.fraction < 1:
        return describe_fraction(each.fraction)
    if each in results.within_one_error:
        return "within one standard error"
    return "not clearly worse" if each in results.within_noise else "worse"


def failure_lines(results: TuningResults) -> list[str]:
    """Why settings have no score, in sentences."""
    lines = []
    for each in results.failed:
        for reason, folds in each.failures.items():
            where = f", fold {', '.join(map(str, folds))}" if folds else ""
            lines.append(f"{each.label}{where}: {reason}")
    return lines


def cost_line(results: TuningResults) -> str:
    cost = results.cost
    failed = f" ({cost.failed} of them failed)" if cost.failed else ""
    return (
        f"Cost of tuning: {cost.trials} trials{failed}, {duration_text(cost.seconds)} of training, "
        f"{cost.steps:,.0f} steps, {short_count(cost.tokens).replace(' ', '')} tokens."
    )


def tuning_markdown(results: TuningResults) -> str:
    measures = tuning_columns(results)
    names = ["settings", "overall", *measures, "seconds", "note"]
    lines = [f"# Settings of {escape_markdown(results.recipe)}", ""]
    lines += [f"**{escape_markdown(line)}**\n" for line in results.decision()[:1]]
    sentences = [*results.decision()[1:], *results.warnings, cost_line(results)]
    lines += [f"{escape_markdown(line)}\n" for line in sentences]
    lines += [f"Search: {results.search}; {results.folds} folds; {results.budget}; seed {results.seed}.", ""]
    lines += ["| " + " | ".join(map(escape_markdown, names)) + " |"]
    lines += ["| --- |" + " ---: |" * (len(names) - 2) + " --- |"]
    for each in results.ranked:
        cells = [each.label, *setting_cells(each, measures), setting_note(each, results)]
        lines.append("| " + " | ".join(map(escape_markdown, cells)) + " |")
    lines += [*([""] if results.failed else []), *(f"- {escape_markdown(line)}" for line in failure_lines(results))]
    lines += [
        "",
        TUNING_METHOD,
        "",
        f"Every trial is in trials.csv; {BEST_RECIPE} is the recipe with the best settings.",
    ]
    if results.command:
        lines += ["", "```sh", results.command, "```"]
    return "\n".join(lines) + "\n"


def trial_rows(results: TuningResults) -> CsvRows:
    """One row per trial."""
    finished = [t for each in results.settings for t in each.trials.values() if t.state == "finished"]
    measures = [(task, metric) for task, by in finished[0].scores.items() for metric in by] if finished else []
    named = [f"{task}.{metric}" for task, metric in measures]
    costs = ("seconds", "steps", "tokens")
    rows: CsvRows = [(*results.paths, "fraction", "fold", "state", "overall", *named, *costs, "run", "reason")]
    for each in results.settings:
        values = [value for _, value in each.candidate.settings]
        if each.invalid:
            blank = [""] * (1 + len(named) + len(costs) + 1)
            rows.append((*values, each.fraction, "", "failed", *blank, each.invalid))
        for fold, trial in each.trials.items():
            scores = [trial.scores.get(task, {}).get(metric, "") for task, metric in measures]
            spent = ["" if trial.cost is None else getattr(trial.cost, name) for name in costs]
            overall = "" if trial.overall is None else trial.overall
            rows.append((*values, each.fraction, fold, trial.state, overall, *scores, *spent, trial.run, trial.reason))
    return rows


def tuning_json(results: TuningResults) -> dict[str, Any]:
    best, cost = results.best, results.cost
    return {
        "command": results.command,
        "recipe": results.recipe,
        "search": results.search,
        "folds": results.folds,
        "seed": results.seed,
        "budget": results.budget,
        "best": None if best is None else setting_json(best),
        "not_clearly_better_than": [setting_values(each) for each in results.within_noise],
        "within_one_standard_error": [setting_values(each) for each in results.within_one_error],
        "warnings": list(results.warnings),
        "cost": vars(cost),
        "settings": [setting_json(each) for each in results.ranked],
    }


def setting_values(each: SettingResult) -> dict[str, Any]:
    return {path: each.candidate.value_of(path) for path, _ in each.candidate.settings}


def setting_json(each: SettingResult) -> dict[str, Any]:
    return {
        "settings": setting_values(each),
        "fraction": each.fraction,
        "mean": each.mean,
        "standard_error": each.standard_error,
        "folds": {str(number): score for number, score in each.scores.items()},
        "failed": list(each.failures),
    }
