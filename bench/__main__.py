"""python -m bench: measure the rows of the table, one after the other."""

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from bench.sizes import FULL, QUICK

ROOT = Path(__file__).parents[1]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="minbert and its peers, measured side by side."
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: about three minutes on two cores")
    parser.add_argument("--only", action="append", metavar="NAME", help="measure only this, keep the other rows")
    parser.add_argument("--list", action="store_true", help="list the names that --only knows")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md from what was measured before")
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared/data", help="where SST, STS, Quora are")
    parser.add_argument("--sentences", type=int, help="sentences to embed")
    parser.add_argument("--rows", type=int, help="rows of the large file for the cost of a row")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of both sides")
    parser.add_argument("--out", type=Path, default=ROOT / "build", help="the folder of bench.json")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    # before torch is imported, and for the processes that are started
    os.environ["OMP_NUM_THREADS"] = str(asked.threads)
    import torch

    from bench import costs, inference, matrix, ours, peers, training
    from bench.busy import Pace
    from bench.context import Context, say
    from bench.machine import describe
    from bench.report import write_docs, write_reports
    from bench.row import Results
    from bench.session import measure

    all_of_them = (
        training.STEPS,
        training.EPOCH,
        inference.EMBEDDING,
        inference.PAIR_SCORES,
        matrix.USE,
        training.MEMORY,
        costs.ROWS,
        costs.STARTS,
    )
    measurements = {each.key: each for each in all_of_them}
    if asked.list:
        for each in all_of_them:
            print(f"{each.key:8} {', '.join(row.key for row in each.rows)}")
        return
    results = Results(asked.out / "bench.json")
    if asked.docs:
        if not results.rows:
            sys.exit(f"{results.path}: nothing was measured yet; run `make bench` first.")
        say(f"written: {write_docs(results, ROOT / 'docs')}")
        return
    chosen = asked.only or list(measurements)
    if unknown := [name for name in chosen if name not in measurements]:
        sys.exit(f"unknown: {', '.join(unknown)}; --only knows {', '.join(measurements)}")

    torch.set_num_threads(asked.threads)
    peers.quiet()
    sizes = QUICK if asked.quick else FULL
    sizes = replace(
        sizes, sentences=asked.sentences or sizes.sentences, many_rows=max(2, asked.rows or sizes.many_rows)
    )
    context = Context(sizes, asked.data_root, asked.out / "bench", asked.threads)
    context.work.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    say("the machine")
    pace = Pace()
    results.machine = describe(asked.threads) | {"minbert": ours.VERSION, "data": context.data}
    for name in chosen:
        say(f"{name} (after {time.perf_counter() - began:.0f} s)")
        measure(measurements[name], context, results, pace)
    results.arrange([row.key for each in all_of_them for row in each.rows])
    results.write()
    write_reports(results)
    say(f"written: {results.path}, .md and .png, in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
