"""Training: steps against a transformers loop, whole runs against the Trainer, and memory."""

import shutil
import time
from collections.abc import Callable, Iterator
from itertools import chain, cycle

from bench import ours, peers
from bench.child import run_child
from bench.context import Context, say
from bench.data import POOL, TaskRows, shuffled, typical_batches
from bench.machine import has_bf16
from bench.measure import Compared, clock, compare, interleave
from bench.row import Measurement, Outline, Result
from bench.sizes import BATCH

# seconds per token of a step, by task
Costs = dict[str, float]
SENTENCES, PAIRS = ("sst",), ("sts", "quora")
# rows of the first step, which allocates memory and optimizer state before the clock starts
WARM_UP = 4


def steps(context: Context) -> Iterator[tuple[str, Result]]:
    """One step of each task per round, all sides on the same rows; compares the time per token."""
    pool = {name: task.sample(POOL, 8) for name, task in context.tasks.items()}
    theirs = peers.Training(context.folder, pool)
    batches = {
        name: typical_batches(theirs.grouped(name), theirs.lengths(name), context.sizes.batches) for name in pool
    }
    chosen = {name: list(chain.from_iterable(batches[name])) for name in pool}
    sample = {name: task.only(chosen[name], range(8)) for name, task in pool.items()}
    mine = ours.Training(ours.write_recipe(context.work / "training", context.folder, sample, endless=True))
    mixed = {name: mix(rows) for name, rows in chosen.items()}
    say("  warming up")
    our_round(mine, len(sample))
    mine.rewind()
    for half in {False, has_bf16()}:
        their_round(theirs, {name: [rows[:WARM_UP]] for name, rows in chosen.items()}, half)()
    sides: dict[str, Callable[[], Costs]] = {
        "ours": lambda: our_round(mine, len(sample)),
        "default": their_round(theirs, mixed, half=False),
        "best": their_round(theirs, batches, half=has_bf16()),
    }
    found = interleave(sides, context.sizes.rounds, context.sizes.seconds)

    rounds = len(found["ours"])
    note = f"{context.data}; {context.sizes.batches} batches per task, {rounds} rounds; ours in {mine.precision}"
    tokens = {name: (mine.tokens(name), sum(theirs.lengths(name)[i] for i in chosen[name])) for name in sample}
    if any(our != their for our, their in tokens.values()):
        note += f"; tokens differ (ours, theirs): {tokens}"
    precision = "bf16" if has_bf16() else "fp32 (no bf16 units here)"
    for peer, words in (("default", "fp32, padded, shuffled"), ("best", f"{precision}, grouped by length")):
        for kind, names in (("sst", SENTENCES), ("pairs", PAIRS)):
            compared = compare(*(together(found[side], names) for side in ("ours", peer)))
            each = mine_tokens_each(mine, sample, names)
            yield f"train-{kind}-{peer}", as_rate(compared, each, note, f"transformers, {words}")


def mix(rows: list[int]) -> list[list[int]]:
    """The same rows in batches of mixed lengths."""
    order = [rows[i] for i in shuffled(len(rows), len(rows))]
    return [order[i : i + BATCH] for i in range(0, len(order), BATCH)]


def our_round(training: ours.Training, tasks: int) -> Costs:
    costs = {}
    for _ in range(tasks):
        began = time.perf_counter()
        step = training.step()
        costs[ours.task_of(step)] = (time.perf_counter() - began) / step.tokens
    return costs


def their_round(training: peers.Training, batches: dict[str, list[list[int]]], half: bool) -> Callable[[], Costs]:
    loaders = {name: cycle(each) for name, each in batches.items()}

    def step(task: str) -> float:
        began = time.perf_counter()
        tokens = training.step(task, next(loaders[task]), half)
        return (time.perf_counter() - began) / tokens

    return lambda: {task: step(task) for task in loaders}


def together(rounds: list[Costs], names: tuple[str, ...]) -> list[float]:
    """The cost per token in each round, averaged over the tasks."""
    return [sum(costs[name] for name in names) / len(names) for costs in rounds]


def mine_tokens_each(training: ours.Training, sample: dict[str, TaskRows], names: tuple[str, ...]) -> float:
    """The mean number of tokens per example."""
    return sum(training.tokens(name) for name in names) / sum(len(sample[name].train) for name in names)


def as_rate(compared: Compared, tokens_each: float, note: str, peer_name: str) -> Result:
    """Seconds per token -> examples per second."""
    mine, theirs = compared.rates(1 / tokens_each)
    note = f"{tokens_each:.0f} tokens per example; {note}"
    return Result(mine, theirs, compared.ratio, compared.spread, note, peer_name)


def whole_runs(context: Context) -> Iterator[tuple[str, Result]]:
    """From the data files to the saved model and its predictions: one run of three tasks, against three runs."""
    peers.need("transformers", "accelerate")
    sizes = context.sizes
    tasks = {name: task.sample(sizes.epoch_rows, sizes.epoch_dev) for name, task in context.tasks.items()}
    folder = context.work / "epoch"
    recipe = ours.write_recipe(folder, context.folder, tasks)

    def their_runs() -> None:
        for name in tasks:
            out = folder / f"trainer-{name}"
            shutil.rmtree(out, ignore_errors=True)
            peers.trainer_run(context.folder, folder, name, out)

    def our_run() -> None:
        ours.whole_run(recipe, folder / "run")

    found = interleave({"ours": lambda: clock(our_run), "peer": lambda: clock(their_runs)}, sizes.epoch_rounds, least=1)
    compared = compare(found["ours"], found["peer"])
    note = f"per task {sizes.epoch_rows} rows to train on and {sizes.epoch_dev} to evaluate on; {context.data}"
    yield "epoch", Result(compared.ours, compared.peer, compared.ratio, compared.spread, note)


def memory(context: Context) -> Iterator[tuple[str, Result]]:
    """The peak memory of training a cross-encoder on pairs, each side in its own process."""
    peers.need("transformers")
    steps = context.sizes.memory_steps
    task = context.tasks["sts"].sample(steps * BATCH, 8)
    folder = context.work / "memory"
    recipe = ours.write_recipe(folder, context.folder, {task.name: task}, endless=True)
    mine = run_child("train-ours", recipe, steps).peak
    theirs = run_child("train-peer", folder, task.name, context.folder, steps).peak
    note = f"STS pairs, batch {BATCH}, {steps} steps, one task; including libraries"
    yield "memory", Result(mine / 1e6, theirs / 1e6, theirs / mine, note=note)


GOALS = {"default": 6.0, "best": 2.5}
STEPS = Measurement(
    "train",
    tuple(
        Outline(
            f"train-{kind}-{peer}",
            f"training, {words}, batch {BATCH}",
            "examples/s",
            goal,
            "transformers" if peer == "default" else "transformers at its best",
            "transformers",
        )
        for peer, goal in GOALS.items()
        for kind, words in (("sst", "SST sentences"), ("pairs", "STS and Quora pairs, cross-encoder"))
    ),
    steps,
)
EPOCH = Measurement(
    "epoch",
    (
        Outline(
            "epoch",
            "three tasks together for one epoch, {epoch_rows:,} rows each, wall time",
            "s",
            5.0,
            "three Hugging Face Trainer runs",
            "transformers",
        ),
    ),
    whole_runs,
)
MEMORY = Measurement(
    "memory",
    (Outline("memory", f"peak memory of training, batch {BATCH}", "MB", 1.0, "transformers", "transformers"),),
    memory,
)
