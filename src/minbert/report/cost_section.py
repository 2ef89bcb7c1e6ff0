"""Comparison results -> the score of each system against its cost."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from minbert.comparison.results import TIMED, ComparisonResults, Summary, System, TrialCost
from minbert.report.blocks import Block, Figure, Legend, LegendEntries, Option, Section, choice_of
from minbert.report.charts.cost_scatter import CostPoint, cost_scatter
from minbert.report.number_format import byte_size, duration_text, short_count
from minbert.report.sentences import higher_is_better, main_measure, measure_decimals, measure_name
from minbert.report.series_styles import SeriesStyle

Known = list[tuple[System, Summary, TrialCost]]


@dataclass(frozen=True)
class CostAxis:
    name: str
    of: Callable[[TrialCost], float]
    write: Callable[[float], str]
    # (size, name) of the units, the largest first
    units: tuple[tuple[float, str], ...]

    def unit(self, most: float) -> tuple[float, str]:
        return next((unit for unit in self.units if most >= unit[0]), self.units[-1])


TIME_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
COUNT_UNITS = ((1e9, "billions"), (1e6, "millions"), (1e3, "thousands"), (1.0, ""))
BYTE_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
# costs that differ by less than this factor are equal: every point would be in one place
EQUAL_COSTS = 1.02
TRAINING_TIME = CostAxis("training time", lambda cost: cost.seconds, duration_text, TIME_UNITS)
COST_AXES = (
    TRAINING_TIME,
    CostAxis("training steps", lambda cost: cost.steps, short_count, COUNT_UNITS),
    CostAxis("training tokens", lambda cost: cost.tokens, short_count, COUNT_UNITS),
    CostAxis("trainable parameters", lambda cost: cost.trainable, short_count, COUNT_UNITS),
    CostAxis("memory", lambda cost: cost.memory, byte_size, BYTE_UNITS),
    CostAxis("model size", lambda cost: cost.size, byte_size, BYTE_UNITS),
)


def cost_section(results: ComparisonResults, styles: Mapping[str, SeriesStyle]) -> Section:
    measure = main_measure(results)
    known = [
        (each, each.summaries[measure], each.cost)
        for each in results.systems
        if each.cost and measure in each.summaries and math.isfinite(each.summaries[measure].mean)
    ]
    axes = differing_axes([cost for _, _, cost in known], results.budget)
    options = (
        Option(cost_figure(axis, known, measure, measure_decimals(results, measure), styles), axis.name, axis.name)
        for axis in axes
    )
    legend = Legend(legend_of(known, styles))
    blocks = choice_of("cost", "Cost", options)
    lead, hint = "What each recipe costs, and what it scores.", "Click the legend to show or hide a recipe."
    return Section("cost", "Cost", "Score against cost", lead, (legend, *blocks) if blocks else (), hint)


def legend_of(known: Known, styles: Mapping[str, SeriesStyle]) -> LegendEntries:
    return tuple((each.label, styles[each.label]) for each, _, _ in known)


def differing_axes(costs: list[TrialCost], budget: str) -> list[CostAxis]:
    """The costs that the budget does not make equal. Times that should be equal differ only by chance."""
    if not costs:
        return []
    spread = {axis: [axis.of(cost) for cost in costs] for axis in COST_AXES}
    differing = [axis for axis, spent in spread.items() if max(spent) > EQUAL_COSTS * min(spent)]
    return [axis for axis in differing if axis is not TRAINING_TIME or not budget.endswith(TIMED)]


def cost_figure(
    axis: CostAxis,
    known: Known,
    measure: str,
    decimals: int,
    styles: Mapping[str, SeriesStyle],
) -> tuple[Block, ...]:
    divisor, unit = axis.unit(max(axis.of(cost) for _, _, cost in known))
    points = [
        CostPoint(
            each.label,
            styles[each.label],
            axis.of(cost) / divisor,
            summary.mean,
            summary.low,
            summary.high,
            axis.write(axis.of(cost)),
        )
        for each, summary, cost in known
    ]
    score, rising = measure_name(measure), higher_is_better(measure)
    caption = (
        f"The line is the Pareto front: for every recipe {'below' if rising else 'above'} it, another recipe has a "
        "better mean at the same or a lower cost. Whiskers are 95 % intervals over seeds."
    )
    title = f"{axis.name}, {unit}" if unit else axis.name
    name = f"cost-{axis.name.replace(' ', '-')}"
    return (
        Figure(
            name,
            lambda width: cost_scatter(points, title, score, decimals, width, rising=rising),
            caption,
            legend_of(known, styles),
        ),
    )
