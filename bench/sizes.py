"""How much is measured: quick (three minutes), or full (reliable numbers)."""

from dataclasses import dataclass

BATCH = 32


@dataclass(frozen=True)
class Sizes:
    name: str
    # training: batches per task in the sample that every side trains on, rounds over all tasks,
    # and the most seconds
    batches: int
    rounds: int
    seconds: float
    # a whole run: rows per task to train and to evaluate on, and the number of rounds
    epoch_rows: int
    epoch_dev: int
    epoch_rounds: int
    # embedding: sentences in the file, and pairs to measure the accuracy
    sentences: int
    embed_rounds: int
    accuracy_pairs: int
    # sentences that calibrate the int8 ranges of OpenVINO; 0 skips that engine
    calibration: int
    # pairs to score
    pairs: int
    pair_rounds: int
    # training steps when memory is measured
    memory_steps: int
    # the cost per row: rows in the small and the large file, and repetitions of the small one
    few_rows: int
    many_rows: int
    few_repeats: int
    # repetitions of each command
    starts: int


QUICK = Sizes(
    name="quick",
    batches=3,
    rounds=3,
    seconds=30,
    epoch_rows=64,
    epoch_dev=16,
    epoch_rounds=1,
    sentences=300,
    embed_rounds=2,
    accuracy_pairs=60,
    calibration=0,
    pairs=96,
    pair_rounds=3,
    memory_steps=2,
    few_rows=1_000,
    many_rows=20_000,
    few_repeats=7,
    starts=2,
)
FULL = Sizes(
    name="full",
    batches=10,
    rounds=20,
    seconds=300,
    epoch_rows=320,
    epoch_dev=160,
    epoch_rounds=3,
    sentences=2_000,
    embed_rounds=5,
    accuracy_pairs=863,
    calibration=100,
    pairs=512,
    pair_rounds=7,
    memory_steps=10,
    few_rows=1_000,
    many_rows=1_000_000,
    few_repeats=25,
    starts=7,
)
