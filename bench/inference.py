"""Answering: vectors of a file of sentences against sentence-transformers, scores of pairs against CrossEncoder."""

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

# a rank correlation may be this much below that of fp32 and still count as the same accuracy
TOLERANCE = 0.001
WARM_UP = 64


@dataclass(frozen=True)
class Tried:
    """How fast an engine is once it is loaded, and how good its vectors are."""

    backend: Backend
    rate: float
    quality: "Quality"


@dataclass(frozen=True)
class Quality:
    # mean cosine with the vectors of sentence-transformers in fp32
    cosine: float
    # Spearman correlation of the cosines of pairs with what people said of them
    spearman: float

    def __str__(self) -> str:
        return f"cosine {self.cosine:.5f}, STS {self.spearman:.4f}"


def embedding(context: Context) -> Iterator[tuple[str, Result]]:
    """From a text file to a file of vectors, loading included: against the default, then against the fastest."""
    peers.need("sentence_transformers")
    folder = context.work / "embedding"
    folder.mkdir(parents=True, exist_ok=True)
    texts = data.sentences(list(context.tasks.values()), context.sizes.sentences)
    source, few = write_lines(folder / "sentences.txt", texts), write_lines(folder / "few.txt", texts[:WARM_UP])
    default = backends.default(context.folder)
    compared = against(context, default, few, source)
    seconds = seconds_to_load(default)
    note = f"{context.data}; the peer takes {seconds:.1f} s of it to load; imports are not counted"
    yield "embed", as_rate(compared, context, note)

    accuracy = Accuracy(context)
    fp32, rate = accuracy.vectors(default.load().encode)
    tried = [Tried(default, rate, accuracy.quality(fp32, fp32))]
    absent = []
    calibrate = texts[: context.sizes.calibration]
    engines = backends.others(context.folder, folder, context.threads, calibrate)
    for name, make in engines.items():
        try:
            engine = make()
            found, rate = accuracy.vectors(engine.load().encode)
            tried.append(Tried(engine, rate, accuracy.quality(found, fp32)))
            say(f"  {name}: {rate:.0f} sentences/s")
        except Exception as wrong:  # an engine that cannot be had, or that fails in its own way, is no peer
            absent.append(f"{name} not measured: {first_line(wrong)}")
            say(f"  {absent[-1]}")
    found, _ = accuracy.vectors(lambda some: our_vectors(context, folder, some))
    mine = accuracy.quality(found, fp32)
    least = tried[0].quality.spearman - TOLERANCE
    fastest = max((each for each in tried if each.quality.spearman >= least), key=lambda each: each.rate)
    say(f"  the fastest is {fastest.backend.name}")
    compared = against(context, fastest.backend, few, source)
    shown = [
        f"{each.backend.name} {each.rate:.0f}/s ({each.quality})"
        + (", not counted: less accurate" if each.quality.spearman < least else "")
        for each in tried
    ]
    seconds = seconds_to_load(fastest.backend)
    how = "ONNX and OpenVINO programs were exported here and put inside sentence-transformers, see bench/backends.py"
    note = "; ".join([f"ours {mine}", *shown, *absent, how, f"the peer takes {seconds:.1f} s of it to load"])
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
    """Vectors of pairs that people have scored."""

    def __init__(self, context: Context) -> None:
        dev = context.tasks["sts"].dev
        rows = dev.take(data.shuffled(len(dev), min(len(dev), context.sizes.accuracy_pairs)))
        self.texts = [" ".join(text.split()) for column in rows.texts for text in column]
        self.gold = rows.labels

    def vectors(self, encode: Callable[[list[str]], Any]) -> tuple[npt.NDArray[np.float32], float]:
        """The vectors, and how many a second of them were made by an engine that is warm."""
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
    """Scores of joined pairs by models that are loaded already."""
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
FROM_FILE = "embedding {sentences:,} sentences from a file, all included"
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
    (Outline("pairs", "scoring {pairs:,} pairs, joined", "pairs/s", 5.0, "CrossEncoder.predict", ST),),
    pair_scores,
)
