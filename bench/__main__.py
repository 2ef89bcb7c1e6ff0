"""python -m bench: measure the rows of the table one after another."""

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
        prog="python -m bench", description="Benchmark minbert and its peers on this machine."
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: about three minutes on two cores")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="measure only this and keep the other rows; can be repeated"
    )
    parser.add_argument("--list", action="store_true", help="list the names that --only accepts")
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md from earlier measurements")
    parser.add_argument(
        "--data-root", type=Path, default=ROOT.parent / "shared/data", help="the folder of the SST, STS and Quora files"
    )
    parser.add_argument("--sentences", type=int, help="number of sentences to embed")
    parser.add_argument("--rows", type=int, help="rows in the large file, for the cost per row")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads for minbert and for the peers")
    parser.add_argument("--out", type=Path, default=ROOT / "build", help="the folder for bench.json")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    # before torch is imported; child processes inherit it
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import torch

    from bench import costs, inference, matrix, ours, peers, training
    from bench.busy import Pace
    from bench.context import Context, say
    from bench.machine import describe
    from bench.report import write_docs, write_reports
    from bench.row import Results
    from bench.session import measure

    every = (
        training.STEPS,
        training.EPOCH,
        inference.EMBEDDING,
        inference.PAIR_SCORES,
        matrix.USE,
        training.MEMORY,
        costs.ROWS,
        costs.STARTS,
    )
    measurements = {each.key: each for each in every}
    if options.list:
        for each in every:
            print(f"{each.key:8} {', '.join(row.key for row in each.rows)}")
        return
    results = Results(options.out / "bench.json")
    if options.docs:
        if not results.rows:
            sys.exit(f"{results.path}: there are no measurements yet; run `make bench` first.")
        say(f"written: {write_docs(results, ROOT / 'docs')}")
        return
    chosen = options.only or list(measurements)
    if unknown := [name for name in chosen if name not in measurements]:
        sys.exit(f"--only: unknown name {', '.join(unknown)}; choose from {', '.join(measurements)}.")

    torch.set_num_threads(options.threads)
    peers.quiet()
    sizes = QUICK if options.quick else FULL
    sizes = replace(
        sizes, sentences=options.sentences or sizes.sentences, many_rows=max(2, options.rows or sizes.many_rows)
    )
    context = Context(sizes, options.data_root, options.out / "bench", options.threads)
    context.work.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    say("measuring the machine")
    pace = Pace()
    results.machine = describe(options.threads) | {"minbert": ours.VERSION, "data": context.data}
    for name in chosen:
        say(f"{name} ({time.perf_counter() - began:.0f} s elapsed)")
        measure(measurements[name], context, results, pace)
    results.arrange([row.key for each in every for row in each.rows])
    results.write()
    write_reports(results)
    say(f"written: {results.path}, .md and .png, in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
