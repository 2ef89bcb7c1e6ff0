"""What must stay small: the cost of a row when there are many, the time until a command answers."""

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

# different texts in the files: the large file repeats the small one, so that a row means the same work
TEXTS = 1_000
HELP_SECONDS = 0.5
ANSWER_SECONDS = 3.0
# 15 % more for each row is still flat
FLAT = 1 / 1.15


def rows(context: Context) -> Iterator[tuple[str, Result]]:
    """`minbert predict` on files of very different lengths, with a model so small that only the rest is measured."""
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

    def answer(count: int, repeats: int) -> tuple[list[float], int]:
        say(f"  {count:,} rows")
        used = run_child("answer", run, task.name, files[1], files[count], folder / "answers.csv", repeats)
        return [seconds / (count - 1) * 1e6 for seconds in used.seconds], used.peak

    few, few_peak = answer(sizes.few_rows, sizes.few_repeats)
    many, many_peak = answer(sizes.many_rows, 1)
    files[sizes.many_rows].unlink()
    (folder / "answers.csv").unlink()
    ratios = [cost / many[0] for cost in few]
    note = "reading, tokenizing, batching, writing; a random model of one layer, 32 wide; loading not counted"
    yield "rows-time", Result(many[0], median(few), median(ratios), quartiles(ratios), note)
    note = "peak of the whole process, libraries included"
    yield "rows-memory", Result(many_peak / 1e6, few_peak / 1e6, few_peak / many_peak, note=note)


def write_texts(path: Path, column: str, texts: list[str], count: int) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", column])
        writer.writerows((i, texts[i % len(texts)]) for i in range(count))
    return path


def starts(context: Context) -> Iterator[tuple[str, Result]]:
    """Commands as a user starts them, from nothing to the end."""
    pair = ["A man is playing a guitar.", "Someone plays an instrument."]
    yield "help", limit([*ours.COMMAND, "--help"], HELP_SECONDS, context.sizes.starts)
    ask = [*ours.COMMAND, "predict", str(context.run), "sts", *pair]
    yield "answer", limit(ask, ANSWER_SECONDS, context.sizes.starts)


def limit(command: list[str], most: float, times: int) -> Result:
    def start() -> None:
        subprocess.run(command, check=True, capture_output=True)

    start()  # the first one finds the files on the disk, the others in memory, as a user's second call does
    seconds = [clock(start) for _ in range(times)]
    ratios = [most / each for each in seconds]
    return Result(median(seconds), most, median(ratios), quartiles(ratios), f"median of {times} starts")


ROWS = Measurement(
    "rows",
    (
        Outline("rows-time", "cost of a row, {few_rows:,} to {many_rows:,} rows", "µs", FLAT, "{few_rows:,} rows"),
        Outline("rows-memory", "peak memory, {few_rows:,} to {many_rows:,} rows", "MB", FLAT, "{few_rows:,} rows"),
    ),
    rows,
)
STARTS = Measurement(
    "starts",
    (
        Outline("help", "minbert --help", "s", 1.0, "limit"),
        Outline("answer", "first answer of minbert predict", "s", 1.0, "limit"),
    ),
    starts,
)
