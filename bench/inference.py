"""Inference: embedding a file of sentences against sentence-transformers, scoring pairs against CrossEncoder."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import backends, data, ours, peers
from bench.backends import Backend
from bench.context import Context, say
from bench.measure import Compared, clock, compare, interleave
from bench.row import Measurement, Outline, Result, first_line

# an engine whose rank correlation is lower than that of fp32 by more than this is not counted
TOLERANCE = 0.001
WARM_UP = 64


@dataclass(frozen=True)
class Tried:
    """The speed of an engine after loading, and the quality of its vectors."""

    backend: Backend
    rate: float
    quality: "Quality"


@dataclass(frozen=True)
class Quality:
    # mean cosine similarity to the vectors of sentence-transformers in fp32
    cosine: float
    # Spearman correlation between the cosines of pairs and their gold scores
    spearman: float

    def __str__(self) -> str:
        return f"cosine {self.cosine:.5f}, STS {self.spearman:.4f}"


def embedding(context: Context) -> Iterator[tuple[str, Result]]:
    """From a text file to a file of vectors, including loading: against the default engine, then the fastest one."""
    peers.need("sentence_transformers")
    folder = context.work / "embedding"
    folder.mkdir(parents=True, exist_ok=True)
    texts = data.sentences(list(context.tasks.values()), context.sizes.sentences)
    source, few = write_lines(folder / "sentences.txt", texts), write_lines(folder / "few.txt", texts[:WARM_UP])
    default = backends.default(context.folder)
    compared = against(context, default, few, source)
    seconds = seconds_to_load(default)
    note = f"{context.data}; the peer's time includes {seconds:.1f} s of loading; imports are excluded"
    yield "embed", as_rate(compared, context, note)

    accuracy = Accuracy(context)
    fp32, rate = accuracy.vectors(default.load().encode)
    tried = [Tried(default, rate, accuracy.quality(fp32, fp32))]
    skipped = []
    calibrate = texts[: context.sizes.calibration]
    engines = backends.others(context.folder, folder, context.threads, calibrate)
    for name, make in engines.items():
        try:
            engine = make()
            found, rate = accuracy.vectors(engine.load().encode)
            tried.append(Tried(engine, rate, accuracy.quality(found, fp32)))
            say(f"  {name}: {rate:.0f} sentences/s")
        except Exception as wrong:  # an engine that is not available, or fails for its own reasons, is skipped
            skipped.append(f"{name} not measured: {first_line(wrong)}")
            say(f"  {skipped[-1]}")
    found, _ = accuracy.vectors(lambda some: our_vectors(context, folder, some))
    mine = accuracy.quality(found, fp32)
    lowest = tried[0].quality.spearman - TOLERANCE
    fastest = max((each for each in tried if each.quality.spearman >= lowest), key=lambda each: each.rate)
    say(f"  the fastest is {fastest.backend.name}")
    compared = against(context, fastest.backend, few, source)
    shown = [
        f"{each.backend.name} {each.rate:.0f}/s ({each.quality})"
        + (", not counted: less accurate" if each.quality.spearman < lowest else "")
        for each in tried
    ]
    seconds = seconds_to_load(fastest.backend)
    how = "ONNX and OpenVINO models were exported here and run inside sentence-transformers, see bench/backends.py"
    note = "; ".join([f"ours {mine}", *shown, *skipped, how, f"the peer's time includes {seconds:.1f} s of loading"])
    name = f"sentence-transformers at its fastest, {fastest.backend.name}, {fastest.backend.version}"
    yield "embed-best", as_rate(compared, context, note, name)


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def against(context: Context, backend: Backend, few: Path, source: Path) -> Compared:
    target = source.with_suffix(".npy")

    def mine(path: Path) -> None:
        ours.embed_file(context.folder, path, target)

    def theirs(path: Path) -> None:
        peers.embed_file(backend.load(), path, target)

    mine(few)
    theirs(few)
    sides = {"ours": lambda: clock(lambda: mine(source)), "peer": lambda: clock(lambda: theirs(source))}
    found = interleave(sides, context.sizes.embed_rounds)
    return compare(found["ours"], found["peer"])


def seconds_to_load(backend: Backend) -> float:
    return clock(backend.load)


def as_rate(compared: Compared, context: Context, note: str, peer_name: str = "") -> Result:
    mine, theirs = compared.rates(context.sizes.sentences)
    return Result(mine, theirs, compared.ratio, compared.spread, note, peer_name)


def our_vectors(context: Context, folder: Path, texts: list[str]) -> npt.NDArray[np.float32]:
    source, target = write_lines(folder / "accuracy.txt", texts), folder / "accuracy.npy"
    ours.embed_file(context.folder, source, target)
    return np.asarray(np.load(target))


class Accuracy:
    """The vectors of pairs with gold scores."""

    def __init__(self, context: Context) -> None:
        dev = context.tasks["sts"].dev
        rows = dev.take(data.shuffled(len(dev), min(len(dev), context.sizes.accuracy_pairs)))
        self.texts = [" ".join(text.split()) for column in rows.texts for text in column]
        self.gold = rows.labels

    def vectors(self, encode: Callable[[list[str]], Any]) -> tuple[npt.NDArray[np.float32], float]:
        """The vectors, and how many per second a warmed-up engine computes."""
        encode(self.texts[:WARM_UP])
        began = time.perf_counter()
        found = np.asarray(encode(self.texts), np.float32)
        return found, len(found) / (time.perf_counter() - began)

    def quality(self, found: npt.NDArray[np.float32], fp32: npt.NDArray[np.float32]) -> Quality:
        from scipy.stats import spearmanr

        first, second = np.split(found, 2)
        cosines = (first * second).sum(1)
        return Quality(float((found * fp32).sum(1).mean()), float(spearmanr(cosines, self.gold).statistic))


def pair_scores(context: Context) -> Iterator[tuple[str, Result]]:
    """Scores of pairs from cross-encoders that are already loaded."""
    rows = data.pairs(list(context.tasks.values()), context.sizes.pairs)
    theirs = peers.cross_encoder(context.folder)
    mine = ours.predictor(context.run)
    mine.predict("sts", rows[:WARM_UP])
    theirs.predict(rows[:WARM_UP])
    found = interleave(
        {
            "ours": lambda: clock(lambda: mine.predict("sts", rows)),
            "peer": lambda: clock(lambda: theirs.predict(rows)),
        },
        context.sizes.pair_rounds,
    )
    compared = compare(found["ours"], found["peer"])
    our_rate, their_rate = compared.rates(len(rows))
    yield "pairs", Result(our_rate, their_rate, compared.ratio, compared.spread, context.data)


ST = "sentence-transformers"
FROM_FILE = "embedding {sentences:,} sentences from a file, including loading"
EMBEDDING = Measurement(
    "embed",
    (
        Outline(
            "embed",
            FROM_FILE,
            "sentences/s",
            5.0,
            f"{ST} default",
            ST,
        ),
        Outline("embed-best", FROM_FILE, "sentences/s", 1.2, f"{ST} at its fastest", ST),
    ),
    embedding,
)
PAIR_SCORES = Measurement(
    "pairs",
    (Outline("pairs", "scoring {pairs:,} pairs with a cross-encoder", "pairs/s", 5.0, "CrossEncoder.predict", ST),),
    pair_scores,
)
