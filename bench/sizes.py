"""How much is measured: in three minutes, or with numbers to rely on."""

from dataclasses import dataclass

BATCH = 32


@dataclass(frozen=True)
class Sizes:
    name: str
    # training: batches of each task in the sample that every side learns, rounds over all tasks,
    # and how long at most
    batches: int
    rounds: int
    seconds: float
    # a whole run: rows of each task to train on and to measure on, and how often
    epoch_rows: int
    epoch_dev: int
    epoch_rounds: int
    # embedding: sentences in the file, pairs that tell the accuracy
    sentences: int
    embed_rounds: int
    accuracy_pairs: int
    # sentences from which OpenVINO learns the ranges of its whole numbers; 0 leaves that engine out
    calibration: int
    # scoring pairs
    pairs: int
    pair_rounds: int
    # steps of a training whose memory is measured
    memory_steps: int
    # the cost of a row: rows of the small and of the large file, and how often the small one is answered
    few_rows: int
    many_rows: int
    few_repeats: int
    # how often a command is started
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
