"""A measurement -> its rows, each saved as soon as it is known, even if others fail."""

from dataclasses import replace

from bench.busy import Pace, Watch
from bench.context import Context, say
from bench.report import goal_result, number, ratio_with_spread
from bench.row import Measurement, Results, Row, empty_row, filled, first_line


def measure(measurement: Measurement, context: Context, results: Results, pace: Pace) -> None:
    size = context.sizes.name
    waiting = {row.key: empty_row(measurement.key, row, context.names, size, "") for row in measurement.rows}
    reason = "the measurement yielded no result"
    try:
        with Watch(pace) as watch:
            for key, result in measurement.run(context):
                watch.look()
                row = filled(waiting.pop(key), result, watch.doubts)
                results.put(row)
                print_row(row)
    except Exception as wrong:  # peers can raise anything; the other rows must still be measured
        reason = first_line(wrong)
    for row in waiting.values():
        row = replace(row, note=reason)
        results.put(row)
        print_row(row)


def print_row(row: Row) -> None:
    if row.ratio is None:
        say(f"  {row.name}: NOT MEASURED: {row.note}")
        return
    against = f"{number(row.ours, row.unit)} against {number(row.peer, row.unit)} ({row.peer_name})"
    say(f"  {row.name}: {against}: {ratio_with_spread(row)}, {goal_result(row)}")
    if row.busy:
        say(f"  WARNING: the machine was too busy to trust this row: {row.note.partition('busy: ')[2]}")
