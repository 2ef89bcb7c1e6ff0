"""The demo's sentences under the names of the standard tasks' files: a data root for recipes of sst, quora and sts."""

import csv
import json
from pathlib import Path

from tests.workbench import DEMO

HEADERS = {
    "sst": ["id", "sentence", "sentiment"],
    "quora": ["id", "sentence1", "sentence2", "is_duplicate"],
    "sts": ["id", "sentence1", "sentence2", "similarity"],
    "cfimdb": ["id", "sentence", "sentiment"],
}
# task: (the demo's, the standard's) names of its files
FILES = {
    "sst": ("sentiment-{}.csv", "ids-sst-{}.csv"),
    "quora": ("paraphrase-{}.tsv", "quora-{}.csv"),
    "sts": ("similarity-{}.jsonl", "sts-{}.csv"),
    "cfimdb": ("sentiment-{}.csv", "ids-cfimdb-{}.csv"),
}


def course_data(folder: Path, train: int = 64, dev: int = 24) -> Path:
    """Write the first rows of each; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for task, (source, target) in FILES.items():
        for part, count in (("train", train), ("dev", dev)):
            rows = read_rows(DEMO / source.format(part))[:count]
            if task == "cfimdb":
                # two labels instead of five
                rows = [[name, text, "1" if int(label) > 2 else "0"] for name, text, label in rows]
            with (folder / target.format(part)).open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, delimiter="\t").writerows([HEADERS[task], *rows])
    return folder


def read_rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            return [[str(value) for value in json.loads(line).values()] for line in file]
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))[1:]
