"""Tab-separated files -> ten data sets, each cut to the same number of rows every time."""

import csv
import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SEED = 0
# scores are cut by deciles, so that the cut keeps their distribution
BINS = 10
PARTS = ("train", "dev")


@dataclass(frozen=True)
class DataSet:
    """Where a data set is, and how it is measured: the first metric counts, the others are shown beside it."""

    name: str
    title: str
    # with {part} for train and dev
    file: str
    text: tuple[str, ...]
    label: str
    # of scores; None means classes
    range: tuple[float, float] | None = None
    metrics: tuple[str, ...] = ("accuracy",)
    # the class that F1 is about
    positive: str = ""
    # further label columns of the same file
    drop: tuple[str, ...] = ()

    @property
    def paired(self) -> bool:
        return len(self.text) == 2

    @property
    def scored(self) -> bool:
        return self.range is not None


PAIR = ("sentence1", "sentence2")
SETS = {
    each.name: each
    for each in (
        DataSet("sst", "SST", "ids-sst-{part}.csv", ("sentence",), "sentiment"),
        DataSet("sts", "STS", "sts-{part}.csv", PAIR, "similarity", (0, 5), ("pearson",)),
        DataSet("trec", "TREC", "more/trec-{part}.csv", ("question",), "type"),
        DataSet("mrpc", "MRPC", "more/mrpc-{part}.csv", PAIR, "paraphrase", None, ("accuracy", "f1"), "1"),
        DataSet(
            "sick-r",
            "SICK relatedness",
            "more/sick-{part}.csv",
            PAIR,
            "relatedness",
            (1, 5),
            ("pearson",),
            drop=("entailment",),
        ),
        DataSet("sick-e", "SICK entailment", "more/sick-{part}.csv", PAIR, "entailment", drop=("relatedness",)),
        DataSet(
            "cola", "CoLA", "more/cola-{part}.csv", ("sentence",), "acceptable", None, ("accuracy", "matthews"), "1"
        ),
        DataSet("rte", "RTE", "more/rte-{part}.csv", PAIR, "label"),
        DataSet("subj", "SUBJ", "more/subj-{part}.csv", ("sentence",), "kind"),
        DataSet("banking77", "Banking77", "more/banking77-{part}.csv", ("text",), "intent"),
    )
}
QUICK_SETS = ("trec", "sts")


@dataclass(frozen=True)
class Cut:
    """A data set cut to size, as every system gets it: files, and the gold labels of the dev rows."""

    name: str
    # sorted; empty for scores
    classes: tuple[str, ...]
    train: str
    dev: str
    rows: int
    # the labels as written, or scores
    gold: tuple[Any, ...]
    # of both files, so that results of other data are not mixed with these
    digest: str

    @property
    def set(self) -> DataSet:
        return SETS[self.name]


def cut_set(data: DataSet, root: Path, out: Path, most_train: int, most_dev: int) -> Cut:
    """Write the cut files of a data set. Train and dev are in different folders, so that nobody finds dev by itself."""
    kept = {}
    for part, most in zip(PARTS, (most_train, most_dev), strict=True):
        rows = read_rows(data, root / data.file.format(part=part))
        chosen = stratified([row[data.label] for row in rows], most, scores=data.scored)
        kept[part] = [rows[i] for i in chosen]
    files = {part: out / part / f"{data.name}.tsv" for part in PARTS}
    for part, path in files.items():
        write_rows(path, kept[part])
    gold = [row[data.label] for row in kept["dev"]]
    classes = () if data.scored else tuple(sorted({row[data.label] for row in kept["train"]}))
    found = Cut(
        data.name,
        classes,
        str(files["train"].resolve()),
        str(files["dev"].resolve()),
        len(kept["train"]),
        tuple(float(value) for value in gold) if data.scored else tuple(gold),
        hashlib.sha256(b"".join(path.read_bytes() for path in files.values())).hexdigest(),
    )
    (out / f"{data.name}.json").write_text(json.dumps(asdict(found), ensure_ascii=False), encoding="utf-8")
    return found


def read_cut(path: Path) -> Cut:
    saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Cut(**saved | {"classes": tuple(saved["classes"]), "gold": tuple(saved["gold"])})


def read_rows(data: DataSet, path: Path) -> list[dict[str, str]]:
    """The rows of a file that have all texts and a label, without the columns of other labels."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    needed = (*data.text, data.label)
    whole = [row for row in rows if all((row[column] or "").strip() for column in needed)]
    return [{column: value for column, value in row.items() if column not in data.drop} for row in whole]


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def stratified(labels: Sequence[str], most: int, scores: bool = False) -> list[int]:
    """At most `most` row numbers, in file order, with the labels in their proportions; the same ones every time."""
    if len(labels) <= most:
        return list(range(len(labels)))
    groups: dict[Any, list[int]] = {}
    for row, group in enumerate(deciles(labels) if scores else labels):
        groups.setdefault(group, []).append(row)
    quotas = shares({group: len(rows) for group, rows in groups.items()}, most)
    draw = random.Random(SEED)
    return sorted(row for group in sorted(groups) for row in draw.sample(groups[group], quotas[group]))


def deciles(scores: Sequence[str]) -> list[int]:
    """The decile of each score by its rank."""
    order = sorted(range(len(scores)), key=lambda row: float(scores[row]))
    found = [0] * len(scores)
    for rank, row in enumerate(order):
        found[row] = rank * BINS // len(scores)
    return found


def shares(counts: dict[Any, int], most: int) -> dict[Any, int]:
    """The largest remainder method: `most` places in proportion to the counts, rare groups keep one where possible."""
    total = sum(counts.values())
    exact = {group: most * count / total for group, count in counts.items()}
    found = {group: max(int(share), min(1, most // len(counts))) for group, share in exact.items()}
    by_need = sorted(counts, key=lambda group: (found[group] - exact[group], str(group)))
    left = most - sum(found.values())
    while left:
        for group in by_need if left > 0 else reversed(by_need):
            if left > 0 and found[group] < counts[group]:
                found[group], left = found[group] + 1, left - 1
            elif left < 0 and found[group] > 1:
                found[group], left = found[group] - 1, left + 1
            if not left:
                break
    return found
