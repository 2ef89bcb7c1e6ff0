"""Costs that must stay small: time and memory per row in large files, and startup times."""

import csv
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench import data, ours
from bench.child import run_child
from bench.context import Context, say
from bench.measure import clock, quartiles
from bench.row import Measurement, Outline, Result

# distinct texts; the large file repeats them, so that each row is the same amount of work
TEXTS = 1_000
HELP_SECONDS = 0.5
PREDICT_SECONDS = 3.0
# up to 15 % more per row counts as flat
FLAT = 1 / 1.15


def rows(context: Context) -> Iterator[tuple[str, Result]]:
    """`minbert predict` on files of very different sizes, with a tiny model, so that only the work around it counts."""
    sizes, folder = context.sizes, context.work / "rows"
    task = context.tasks["sst"].sample(8, 8)
    recipe = ours.write_recipe(folder, ours.tiny_backbone(context.folder, folder / "tiny"), {task.name: task})
    run = ours.untrained_run(recipe, folder / "run")
    texts = data.sentences(list(context.tasks.values()), TEXTS)
    column = task.settings["text"][0]
    files = {
        count: write_texts(folder / f"rows-{count}.csv", column, texts, count)
        for count in (1, sizes.few_rows, sizes.many_rows)
    }

    def predict(count: int, repeats: int) -> tuple[list[float], int]:
        say(f"  {count:,} rows")
        used = run_child("predict", run, task.name, files[1], files[count], folder / "predictions.csv", repeats)
        return [seconds / (count - 1) * 1e6 for seconds in used.seconds], used.peak

    few, few_peak = predict(sizes.few_rows, sizes.few_repeats)
    many, many_peak = predict(sizes.many_rows, 1)
    files[sizes.many_rows].unlink()
    (folder / "predictions.csv").unlink()
    ratios = [cost / many[0] for cost in few]
    note = "reading, tokenizing, batching, writing; a random model with one layer of width 32; without loading"
    yield "rows-time", Result(many[0], median(few), median(ratios), quartiles(ratios), note)
    note = "peak of the whole process, including libraries"
    yield "rows-memory", Result(many_peak / 1e6, few_peak / 1e6, few_peak / many_peak, note=note)


def write_texts(path: Path, column: str, texts: list[str], count: int) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", column])
        writer.writerows((i, texts[i % len(texts)]) for i in range(count))
    return path


def starts(context: Context) -> Iterator[tuple[str, Result]]:
    """Commands as a user runs them, from start to exit."""
    pair = ["A man is playing a guitar.", "Someone plays an instrument."]
    yield "help", limit([*ours.COMMAND, "--help"], HELP_SECONDS, context.sizes.starts)
    command = [*ours.COMMAND, "predict", str(context.run), "sts", *pair]
    yield "answer", limit(command, PREDICT_SECONDS, context.sizes.starts)


def limit(command: list[str], most: float, times: int) -> Result:
    def start() -> None:
        subprocess.run(command, check=True, capture_output=True)

    start()  # warm up the file cache, as for a user's second call
    seconds = [clock(start) for _ in range(times)]
    ratios = [most / each for each in seconds]
    return Result(median(seconds), most, median(ratios), quartiles(ratios), f"median of {times} runs")


ROWS = Measurement(
    "rows",
    (
        Outline("rows-time", "time per row, {few_rows:,} to {many_rows:,} rows", "µs", FLAT, "{few_rows:,} rows"),
        Outline("rows-memory", "peak memory, {few_rows:,} to {many_rows:,} rows", "MB", FLAT, "{few_rows:,} rows"),
    ),
    rows,
)
STARTS = Measurement(
    "starts",
    (
        Outline("help", "minbert --help", "s", 1.0, "limit"),
        Outline("answer", "minbert predict, one pair", "s", 1.0, "limit"),
    ),
    starts,
)
