"""A measurement -> its rows, each written down as soon as it is known, whatever happens to the others."""

from dataclasses import replace

from bench.busy import Pace, Watch
from bench.context import Context, say
from bench.report import number, ratio_with_spread, verdict
from bench.row import Measurement, Results, Row, empty_row, filled, first_line


def measure(measurement: Measurement, context: Context, results: Results, pace: Pace) -> None:
    size = context.sizes.name
    waiting = {row.key: empty_row(measurement.key, row, context.names, size, "") for row in measurement.rows}
    reason = "the measurement gave no result"
    try:
        with Watch(pace) as watch:
            for key, result in measurement.run(context):
                watch.look()
                row = filled(waiting.pop(key), result, watch.doubts)
                results.put(row)
                tell(row)
    except Exception as wrong:  # whatever a peer raises: the other rows are still worth measuring
        reason = first_line(wrong)
    for row in waiting.values():
        row = replace(row, note=reason)
        results.put(row)
        tell(row)


def tell(row: Row) -> None:
    if row.ratio is None:
        say(f"  {row.name}: NOT MEASURED: {row.note}")
        return
    against = f"{number(row.ours, row.unit)} against {number(row.peer, row.unit)} of {row.peer_name}"
    say(f"  {row.name}: {against}: {ratio_with_spread(row)}, {verdict(row)}")
    if row.busy:
        say(f"  WARNING: the machine was too busy to trust this row: {row.note.partition('busy: ')[2]}")
