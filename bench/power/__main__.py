"""python -m bench.power: errors and power of minbert's statistics, a t-test over seeds and a bootstrap over rows."""

import argparse
from collections.abc import Iterator

from bench.power.error_rates import METHODS, MINBERT, detectable_effects, error_rates
from bench.power.simulated import EQUAL, HALF, METRICS, MIXED, Design

SEEDS, RATIOS = (2, 3, 5), (0.5, 2.0, 8.0)
# where seeds differ as much as this, the effect that could be found is as large as the scale
MOST_RATIO = 2.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.power", description=__doc__)
    parser.add_argument("--tables", type=int, default=300, help="simulated comparisons per row")
    parser.add_argument("--rows", type=int, default=500, help="dev rows")
    parser.add_argument("--unequal", action="store_true", help="also systems whose seeds vary differently")
    parser.add_argument("--seeds", type=int, action="append", help="seeds per system; can be repeated")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    print(f"10 systems, 2 accuracies and 2 Pearson's r on {options.rows} rows, {options.tables} comparisons per row\n")
    print("\n".join(header_lines()), flush=True)
    for seeds in options.seeds or SEEDS:
        for kind in (EQUAL, MIXED, HALF) if options.unequal else (EQUAL,):
            for ratio in RATIOS:
                design = Design(seeds, ratio, kind, rows=options.rows, resamples=300)
                print(table_line(design, options.tables), flush=True)


def header_lines() -> Iterator[str]:
    names = ["seeds", "seed/row", "variances", *(f"error: {method}" for method in METHODS), "coverage"]
    for metric in METRICS:
        names += [f"effect in {metric}", *(f"found: {method}" for method in METHODS)]
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"


def table_line(design: Design, tables: int) -> str:
    """`error`: comparisons without a true difference that show any; `found`: true differences of the effect's size."""
    null, effects = error_rates(design, tables, {}), detectable_effects(design)
    found = error_rates(design, tables, effects, seed=1) if design.ratio <= MOST_RATIO else {}
    cells = [str(design.seeds), f"{design.ratio:g}", design.kind]
    cells += (number(null[each].family_wise_error) for each in METHODS)
    cells.append(", ".join(number(each) for each in null[MINBERT].coverage.values()))
    for metric in METRICS:
        cells += [number(effects[metric]), *(number(found[each].power[metric]) if found else "–" for each in METHODS)]
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


if __name__ == "__main__":
    main()
