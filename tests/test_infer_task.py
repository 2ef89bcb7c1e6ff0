"""Data files -> tasks: what must be found in files of many shapes, and what must be asked."""

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from minbert.config.task import task_from
from minbert.data.dataset import read_dataset
from minbert.data.file_groups import group_files
from minbert.data.infer_task import ColumnChoice, FoundTask, infer_tasks
from minbert.data.label_order import order_labels, score_range
from minbert.errors import UserError

DATA = Path(__file__).parents[2] / "shared" / "data"
WORDS = ["the", "film", "was", "long", "and", "plot", "slow", "actor", "of", "great", "charm", "made", "scene", "shine"]


def prose(random_: random.Random, words: int = 9) -> str:
    return " ".join(random_.choice(WORDS) for _ in range(random_.randint(max(1, words - 3), words + 3)))


def make_rows(columns: dict[str, Any], rows: int = 60) -> list[dict[str, Any]]:
    """Rows of a file: "text" is prose, "text 3" shorter prose, "id" a number, a list is drawn from."""
    drawn = random.Random(0)

    def value(of: Any, row: int) -> Any:
        if isinstance(of, str) and of.startswith("text"):
            return prose(drawn, int(of[5:] or 9))
        if of == "id":
            return f"{row:06x}"
        if of == "row":
            return row
        if callable(of):
            return of(row)
        return of[row % len(of)]

    return [{name: value(of, row) for name, of in columns.items()} for row in range(rows)]


def write(path: Path, rows: Sequence[dict[str, Any]], delimiter: str = ",") -> Path:
    if path.suffix in (".jsonl", ".json"):
        text = "\n".join(map(json.dumps, rows)) if path.suffix == ".jsonl" else json.dumps(rows)
    else:
        lines = [delimiter.join(rows[0]), *(delimiter.join(str(value) for value in row.values()) for row in rows)]
        text = "\n".join(lines) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def tasks_of(*paths: Path, **choice: Any) -> list[FoundTask]:
    found = [task for data in infer_tasks(paths, ColumnChoice(**choice)) for task in data.tasks]
    for task in found:
        task_from(task.name, Path(), task.settings, "what was found")
    return found


# name: (columns of the file, what must be found: text, label, kind, labels or range)
SHAPES: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    "stars": ({"review": "text", "stars": [5, 1, 3, 2, 4]}, [(["review"], "stars", "classify", [1, 2, 3, 4, 5])]),
    "halves": ({"review": "text", "rating": [1.5, 3, 4.5]}, [(["review"], "rating", "score", [1.0, 5.0])]),
    "sts": (
        {"id": "id", "sentence1": "text", "sentence2": "text", "similarity": [0.2, 4.8, 2.5, 3]},
        [(["sentence1", "sentence2"], "similarity", "score", [0.0, 5.0])],
    ),
    "whole similarity": (
        {"s1": "text", "s2": "text", "similarity": [0, 5, 3]},
        [(["s1", "s2"], "similarity", "score", [0.0, 5.0])],
    ),
    "sick": (
        {"sentence1": "text", "sentence2": "text", "relatedness": [1.0, 4.5, 5.0], "entailment": ["neutral",
         "entailment", "contradiction"]},
        [(["sentence1", "sentence2"], "relatedness", "score", [1.0, 5.0]),
         (["sentence1", "sentence2"], "entailment", "classify", ["contradiction", "neutral", "entailment"])],
    ),
    "quora": (
        {"id": "row", "qid1": "row", "qid2": "row", "question1": "text", "question2": "text", "is_duplicate": [0, 1]},
        [(["question1", "question2"], "is_duplicate", "classify", [0, 1])],
    ),
    "snli": (
        {"premise": "text", "hypothesis": "text", "gold_label": ["entailment", "neutral", "contradiction"]},
        [(["premise", "hypothesis"], "gold_label", "classify", ["contradiction", "neutral", "entailment"])],
    ),
    "text_a": (
        {"text_a": "text", "text_b": "text", "label": [0, 1]},
        [(["text_a", "text_b"], "label", "classify", [0, 1])],
    ),
    "two columns of prose": (
        {"mine": "text", "yours": "text", "same": ["yes", "no"]},
        [(["mine", "yours"], "same", "classify", ["no", "yes"])],
    ),
    "trec": (
        {"id": "id", "question": "text", "type": ["LOC", "HUM", "DESC"]},
        [(["question"], "type", "classify", ["DESC", "HUM", "LOC"])],
    ),
    "sentiment in words": (
        {"tweet": "text", "sentiment": ["positive", "negative", "neutral"]},
        [(["tweet"], "sentiment", "classify", ["negative", "neutral", "positive"])],
    ),
    "priority": (
        {"message": "text", "priority": ["High", "Low", "Medium"]},
        [(["message"], "priority", "classify", ["Low", "Medium", "High"])],
    ),
    "booleans": (
        {"comment": "text", "toxic": ["False", "True"]},
        [(["comment"], "toxic", "classify", ["False", "True"])],
    ),
    "many intents": (
        {"text": "text", "intent": [f"intent_{i % 30}" for i in range(60)]},
        [(["text"], "intent", "classify", sorted(f"intent_{i}" for i in range(30)))],
    ),
    "numbered intents": (
        {"text": "text", "label": list(range(20))},
        [(["text"], "label", "classify", list(range(20)))],
    ),
    "percent": (
        {"essay": "text", "grade": [0, 13, 55, 87, 100, 21, 34, 62, 73, 91, 45, 9]},
        [(["essay"], "grade", "score", [0.0, 100.0])],
    ),
    "title and text": (
        {"title": "text 3", "text": "text 40", "label": [0, 1]},
        [(["text"], "label", "classify", [0, 1])],
    ),
    "review of a shop": (
        {"asin": "id", "review_text": "text", "summary": "text 3", "rating": [5, 4, 1], "helpful": [0, 1, 2, 3],
         "verified": ["True", "False"]},
        [(["review_text"], "rating", "classify", [1, 4, 5])],
    ),
    "polarity from -1 to 1": (
        {"text": "text", "polarity": [-0.8, 0.9, 0.1]},
        [(["text"], "polarity", "score", [-1.0, 1.0])],
    ),
    "words alone": (
        {"word": lambda row: f"word{row}", "label": ["noun", "verb"]},
        [(["word"], "label", "classify", ["noun", "verb"])],
    ),
    "Thai": (
        {"ข้อความ": lambda row: f"หนังเรื่องนี้สนุกมาก{row}", "ผล": ["ดี", "แย่"]},
        [(["ข้อความ"], "ผล", "classify", ["ดี", "แย่"])],
    ),
    "zero-one in floats": (
        {"sentence": "text", "label": ["0.0", "1.0"]},
        [(["sentence"], "label", "classify", ["0.0", "1.0"])],
    ),
    "codes": (
        {"text": "text", "code": ["02", "10", "01"]},
        [(["text"], "code", "classify", ["01", "02", "10"])],
    ),
    "many codes": (
        {"text": "text", "code": [f"{i:03}" for i in range(20)]},
        [(["text"], "code", "classify", [f"{i:03}" for i in range(20)])],
    ),
    "versions": (
        {"text": "text", "label": ["v1", "1.1", "1.10"]},
        [(["text"], "label", "classify", ["1.1", "1.10", "v1"])],
    ),
    "stars in words": (
        {"review": "text", "rating": ["5 stars", "1 star", "10 stars"]},
        [(["review"], "rating", "classify", ["1 star", "5 stars", "10 stars"])],
    ),
    "an index without a name": (
        {"": "row", "id": "id", "sentence": "text", "sentiment": [0, 4, 2]},
        [(["sentence"], "sentiment", "classify", [0, 2, 4])],
    ),
    "sms spam": (
        {"v1": ["ham", "spam"], "v2": "text", "": [""]},
        [(["v2"], "v1", "classify", ["ham", "spam"])],
    ),
    "airline": (
        {"tweet_id": "row", "airline_sentiment": ["neutral", "positive", "negative"],
         "airline_sentiment_confidence": [0.3, 0.65, 1.0, 0.7], "airline": ["United", "Delta"], "text": "text",
         "airline_sentiment_gold": lambda row: {3: "negative", 4: "positive"}.get(row, "")},
        [(["text"], "airline_sentiment", "classify", ["negative", "neutral", "positive"])],
    ),
    "food": (
        {"Id": "row", "UserId": "id", "ProfileName": "text 1", "HelpfulnessNumerator": [0, 3, 8, 1], "Score": [5, 1, 4],
         "Time": lambda row: 1_300_000_000 + 977 * row, "Summary": "text 4", "Text": "text 40"},
        [(["Text"], "Score", "classify", [1, 4, 5])],
    ),
    "news": (
        {"Class Index": [3, 4, 1, 2], "Title": "text 4", "Description": "text 40"},
        [(["Description"], "Class Index", "classify", [1, 2, 3, 4])],
    ),
    "sts-b": (
        {"index": "row", "genre": ["main-news", "main-forums"], "year": [2012, 2014], "source1": ["none"],
         "source2": ["none"], "sentence1": "text", "sentence2": "text", "score": [0.0, 5.0, 3.8]},
        [(["sentence1", "sentence2"], "score", "score", [0.0, 5.0])],
    ),
    "mnli": (
        {"index": "row", "pairID": "id", "sentence1_parse": "text 20", "sentence2_parse": "text 20",
         "sentence1": "text", "sentence2": "text", "gold_label": ["neutral", "entailment", "contradiction"]},
        [(["sentence1", "sentence2"], "gold_label", "classify", ["contradiction", "neutral", "entailment"])],
    ),
    "qnli": (
        {"index": "row", "question": "text", "sentence": "text", "label": ["entailment", "not_entailment"]},
        [(["question", "sentence"], "label", "classify", ["not_entailment", "entailment"])],
    ),
    "negated": (
        {"sentence1": "text", "sentence2": "text", "label": ["entailment", "not_entailment"]},
        [(["sentence1", "sentence2"], "label", "classify", ["not_entailment", "entailment"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "semicolon", "tsv"])
@pytest.mark.parametrize("shape", SHAPES)
def test_files_of_many_shapes(tmp_path: Path, shape: str, ending: str) -> None:
    columns, expected = SHAPES[shape]
    delimiter = {"tsv": "\t", "semicolon": ";"}.get(ending, ",")
    path = write(tmp_path / f"rows.{'csv' if ending == 'semicolon' else ending}", make_rows(columns), delimiter)
    found = [
        (task.settings["text"], task.settings["label"], task.settings["kind"],
         task.settings.get("labels", task.settings.get("range")))
        for task in tasks_of(path)
    ]  # fmt: skip
    assert found == expected
    for task in tasks_of(path):
        assert all(task.reasons[setting] for setting in ("text", "label", "kind")) and task.name.isidentifier()


REAL: list[tuple[Sequence[str], dict[str, tuple[str, Any]]]] = [
    (["sts-train.csv", "sts-dev.csv", "sts-test-student.csv"], {"similarity": ("score", [0, 5])}),
    (["quora-dev.csv"], {"is_duplicate": ("classify", ["0.0", "1.0"])}),
    (["ids-sst-train.csv", "ids-sst-dev.csv"], {"sentiment": ("classify", [0, 1, 2, 3, 4])}),
    (["ids-cfimdb-train.csv"], {"sentiment": ("classify", [0, 1])}),
    (["more/cola-train.csv", "more/cola-dev.csv"], {"acceptable": ("classify", [0, 1])}),
    (["more/mrpc-train.csv"], {"paraphrase": ("classify", [0, 1])}),
    (["more/rte-train.csv", "more/rte-dev.csv"], {"label": ("classify", ["not_entailment", "entailment"])}),
    (
        ["more/sick-train.csv", "more/sick-dev.csv"],
        {"relatedness": ("score", [1, 5]), "entailment": ("classify", ["contradiction", "neutral", "entailment"])},
    ),
    (["more/subj-train.csv"], {"kind": ("classify", ["objective", "subjective"])}),
    (["more/trec-train.csv"], {"type": ("classify", ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"])}),
    (["more/sts12-16.csv"], {"similarity": ("score", [0, 5])}),
]


@pytest.mark.skipif(not DATA.is_dir(), reason="the real files are not beside the repository")
@pytest.mark.parametrize(("names", "expected"), REAL, ids=lambda value: value[0] if isinstance(value, list) else "")
def test_the_real_files(names: Sequence[str], expected: dict[str, tuple[str, Any]]) -> None:
    found = tasks_of(*(DATA / name for name in names))
    values = {
        task.name: (task.settings["kind"], task.settings.get("labels", task.settings.get("range"))) for task in found
    }
    assert values == expected
    assert ("dev" in found[0].settings["files"]) == (len(names) > 1)
    # a test file without labels is no file to measure on
    assert "test" not in found[0].settings["files"]


def test_several_labels_in_one_row_are_not_supported_and_said_so(tmp_path: Path) -> None:
    joined = make_rows({"text": "text", "intents": ["pin|new", "arrival", "pin|arrival|new", "new|arrival", "pin"]})
    lists = make_rows({"text": "text", "tags": [["a", "b"], ["c"]]})
    printed = make_rows({"text": "text", "tags": ['["a"; "b"]', '["c"]']})
    for path in (
        write(tmp_path / "joined.csv", joined),
        write(tmp_path / "lists.jsonl", lists),
        write(tmp_path / "printed.csv", printed),
    ):
        with pytest.raises(UserError) as caught:
            tasks_of(path)
        assert "holds several labels in one row" in caught.value.problem
        assert "a column of 0 and 1 for each label" in caught.value.next_step


def test_what_is_unclear_is_shown_with_the_flags_that_decide_it(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", make_rows({"words": "text", "colour": ["red", "blue"], "size": ["s", "m", "l"]}))
    with pytest.raises(UserError) as caught:
        tasks_of(path)
    lines = caught.value.problem.split("\n")
    assert lines[0] == f"{path}: 2 columns may be the label: colour, size."
    assert lines[1] == "It has 60 rows (comma-separated, UTF-8) and these columns:"
    assert [line.split()[0] for line in lines[2:]] == ["words", "colour", "size"] and "3 different values" in lines[4]
    assert "--text words --label colour" in caught.value.next_step
    assert [task.name for task in tasks_of(path, label=("size", "colour"))] == ["size", "colour"]
    assert tasks_of(path, label=("size",), task="clothes")[0].name == "clothes"
    path = write(tmp_path / "y.csv", make_rows({"text_x": "text", "text_y": "text", "text_z": "text", "label": [0, 1]}))
    with pytest.raises(UserError, match="3 columns may be the text"):
        tasks_of(path)
    named = make_rows({"a comment": "text", "another comment": "text", "label": [0, 1]})
    with pytest.raises(UserError, match="2 columns may be the text"):
        tasks_of(write(tmp_path / "z.csv", named))


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ({"label": ("starz",)}, "no column 'starz'. Did you mean 'stars'?"),
        ({"text": ("revue",)}, "no column 'revue'. Did you mean 'review'?"),
        ({"kind": "score", "label": ("colour",)}, "column 'colour' holds no numbers: red"),
        ({"label": ("review",), "text": ("colour",)}, "a classify task needs 2 to 500"),
        ({"label": ("stars", "colour", "stars")}, "--label names the column 'stars' twice"),
        ({"text": ("review", "review")}, "--text names the column 'review' twice"),
        ({"task": "all"}, "A task cannot be called 'all': `predict RUN all` means all tasks"),
    ],
)
def test_wrong_flags_are_named(tmp_path: Path, choice: dict[str, Any], problem: str) -> None:
    rows = make_rows({"review": lambda row: f"film {row} of many", "stars": [1, 2], "colour": ["red", "blue"]}, 600)
    path = write(tmp_path / "x.csv", rows)
    with pytest.raises(UserError) as caught:
        tasks_of(path, **choice)
    assert problem in caught.value.problem


def test_kind_and_names_can_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "reviews.csv", make_rows({"review": "text", "stars": [1, 2, 3, 5]}))
    task = tasks_of(path, kind="score", task="how_good")[0]
    assert (task.name, task.settings["kind"], task.settings["range"]) == ("how_good", "score", [1.0, 5.0])
    both = write(tmp_path / "both.csv", make_rows({"review": "text", "stars": [1, 2, 3], "sentiment": ["a", "b"]}))
    with pytest.raises(UserError, match="--task names one task, and 2 were found: stars, sentiment"):
        tasks_of(both, task="mine")


def test_files_of_one_task_belong_together(tmp_path: Path) -> None:
    rows = make_rows({"text": "text", "label": ["a", "b"]})
    train = write(tmp_path / "x-train.csv", rows)
    dev = write(tmp_path / "x_dev.csv", [*rows, {"text": "only here", "label": "c"}])
    test = write(tmp_path / "x.test.jsonl", rows)
    task = tasks_of(train, dev, test)[0]
    assert task.settings["files"] == {"train": str(train), "dev": str(dev), "test": str(test)}
    # a label that only the dev file has is no bad row
    assert task.settings["labels"] == ["a", "b", "c"]
    groups = group_files([Path(name) for name in ("a/train.csv", "b/train.csv", "a/validation-0.csv", "devices.csv")])
    assert [(group.stem, sorted(group.files)) for group in groups[:2]] == [("a", ["dev", "train"]), ("b", ["train"])]
    assert groups[2].files == {"train": Path("devices.csv")}
    with pytest.raises(UserError, match="both the train file"):
        group_files([Path("x-train.csv"), Path("x-train.jsonl")])
    with pytest.raises(UserError, match="which file is learned from"):
        group_files([Path("x-dev.csv"), Path("x-test.csv")])


def test_tasks_of_several_files_have_names_of_their_own(tmp_path: Path) -> None:
    label = make_rows({"text": "text", "label": [0, 1]})
    mood = make_rows({"text": "text", "label": [0, 1], "Mood (1-3)": [1, 2, 3], "sentiment": [0, 1, 2]})
    paths = [write(tmp_path / "a-train.csv", label), write(tmp_path / "b.csv", label), write(tmp_path / "c.csv", mood)]
    assert [task.name for task in tasks_of(*paths)] == ["a", "b", "c_label", "sentiment"]
    assert [task.name for task in tasks_of(paths[2], label=("Mood (1-3)",))] == ["Mood_1-3"]
    named = write(tmp_path / "d.csv", make_rows({"text": "text", "name": ["x", "y"]}))
    assert [task.name for task in tasks_of(named)] == ["name_"]
    named = write(tmp_path / "e.csv", make_rows({"text": "text", "all": ["x", "y"]}))
    assert [task.name for task in tasks_of(named)] == ["all_"]


def test_a_column_that_names_the_numbers_of_another_gives_the_label_names(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", make_rows({"text": "text", "label": [1, 0], "label_text": ["good", "bad"]}))
    task = tasks_of(path)[0]
    assert len(tasks_of(path)) == 1
    assert (task.settings["labels"], task.settings["label_names"]) == ([0, 1], ["bad", "good"])


def test_rows_without_a_label_are_skipped_and_said_so(tmp_path: Path) -> None:
    rows = make_rows({"key": "id", "text": "text", "spam": ["yes", "no"], "stars": [1, 2, 3]})
    rows[5]["spam"] = rows[6]["spam"] = ""
    spam, stars = tasks_of(write(tmp_path / "x.csv", rows))
    assert spam.settings["missing"] == "skip" and "no label" in spam.reasons["missing"]
    assert "missing" not in stars.settings and stars.settings["id"] == "key"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("text,label\n", "a header line and no rows"),
        ("Great film with a plot,1\nBad film with none,0\n", "the first line looks like a row"),
        ("i feel low,sadness\n" + "so sad,sadness\nso glad,joy\n" * 3, "the first line looks like a row"),
        ("text,label\nok,1,2\n", "None of its 1 rows can be read"),
        ("Exported 2024-01-01\n\ntext,label\nfine,1\nbad,0\n", "x.csv:3: 2 fields where the header has 1"),
        ("text,label\n" + "same words here,1\nsame words here,0\n" * 3, "all rows have the same text in 'text'"),
        ("text,label\n" + "".join(f"words number {i},spam\n" for i in range(9)), "'label' has only one label: spam"),
        ("__label__3 a fine film\n__label__1 a bad film\n", "this is a fastText file"),
        ("text\nfine words here\nmore words here\n", "no column of labels or scores was found"),
        ("label,n\n1,2\n0,3\n1,2\n0,3\n", "no column of texts was found"),
    ],
)
def test_files_without_tasks_say_what_is_wrong(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        tasks_of(path)
    assert problem in caught.value.problem and caught.value.next_step


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 5, (0, 5)), (1, 5, (1, 5)), (0.2, 4.8, (0, 5)), (1.5, 4.5, (1, 5)), (0, 1, (0, 1)), (0.1, 0.95, (0, 1)),
        (-0.9, 0.8, (-1, 1)), (3, 97, (0, 100)), (1, 10, (1, 10)), (-3, 812, (-100, 900)), (0, 20213, (0, 30000)),
        (0.0012, 0.0034, (0.001, 0.004)), (1000, 1010, (1000, 1010)),
    ],
)  # fmt: skip
def test_ranges_are_rounded_outwards(low: float, high: float, expected: tuple[float, float]) -> None:
    found = score_range(low, high)
    assert found == pytest.approx(expected) and found[0] <= low and high <= found[1]


def test_labels_have_an_order() -> None:
    assert order_labels(["Very_Positive", "negative", "neutral"])[0] == ["negative", "neutral", "Very_Positive"]
    assert order_labels(["strongly agree", "disagree", "agree"])[0] == ["disagree", "agree", "strongly agree"]
    assert order_labels(["toxic", "non-toxic"]) == (["non-toxic", "toxic"], "the negated one first")
    assert order_labels(["b", "a", "10"]) == (["10", "a", "b"], "")


# ---- values that mean that there is no label ----------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "labels", "na_values"),
    [
        (["1.5", "2", "NaN", "4.5", "NA", "5"], "score", None, ["NA", "NaN"]),
        (["1", "2", "N/A", "-", "?", "3", "NaN", "none"], "classify", [1, 2, 3], ["-", "?", "N/A", "NaN", "none"]),
        (["good", "bad", "N/A", "NULL", "nan"], "classify", ["bad", "good"], ["N/A", "NULL", "nan"]),
        (["good", "bad", "NA", "None"], "classify", ["bad", "good"], ["NA", "None"]),
        # North America; no symptoms; a mark for no opinion
        (["EU", "NA", "APAC"], "classify", ["APAC", "EU", "NA"], None),
        (["None", "Mild", "Severe"], "classify", ["None", "Mild", "Severe"], None),
        (["none", "mild", "severe"], "classify", ["none", "mild", "severe"], None),
        (["+", "-", "?"], "classify", ["+", "-", "?"], None),
    ],
)
def test_words_that_mean_missing_are_no_labels(
    tmp_path: Path, values: list[str], kind: str, labels: list[Any] | None, na_values: list[str] | None
) -> None:
    path = write(tmp_path / "x.csv", make_rows({"text": "text", "label": values}))
    (task,) = tasks_of(path)
    found = task.settings
    assert (found["kind"], found.get("labels"), found.get("na_values")) == (kind, labels, na_values)
    assert (found.get("missing") == "skip") == bool(na_values)
    if na_values:
        assert "read as missing" in task.reasons["na_values"]
        rows = 60 // len(values) * len(na_values)
        assert 0 <= int(task.reasons["na_values"].split()[0]) - rows <= len(na_values)
        # what was found can be read
        dataset = read_dataset(path, task_from("label", Path(), found, "here"))
        assert len(dataset) + len(dataset.skipped) == 60
    # the way back
    (kept,) = tasks_of(path, keep_na=True)
    assert "na_values" not in kept.settings and kept.settings["kind"] == "classify"
    assert len(kept.settings["labels"]) == len(values)


def test_a_word_that_may_mean_missing_and_is_a_label_is_said(tmp_path: Path) -> None:
    (data,) = infer_tasks([write(tmp_path / "x.csv", make_rows({"text": "text", "label": ["EU", "NA"]}))])
    assert "label: NA is read as a label; if it means that there is none, empty it" in data.notes
    with pytest.raises(UserError, match="only one label: yes") as caught:
        tasks_of(write(tmp_path / "y.csv", make_rows({"text": "text", "label": ["yes", "N/A"]})))
    assert "--keep-na" in caught.value.next_step


def test_what_a_word_means_in_the_training_file_it_means_in_the_dev_file(tmp_path: Path) -> None:
    train = write(tmp_path / "x-train.csv", make_rows({"text": "text", "label": ["EU", "NA", "US"]}))
    dev = write(tmp_path / "x-dev.csv", make_rows({"text": "text", "label": ["EU", "NA", "us"]}))
    (task,) = tasks_of(train, dev)
    assert task.settings["labels"] == ["EU", "NA", "US", "us"] and "na_values" not in task.settings


# ---- values that are no labels ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "problem", "next_step"),
    [
        (
            [f"{i},{7 * i:03}" for i in range(1, 13)],
            "may be thousands or may have a decimal comma: 1,007",
            "Write 1007",
        ),
        ([f"{i}%" for i in range(12)], "holds percentages: 0%", "Write them as numbers: 0 for 0%"),
        ([f"2024-01-{i:02}" for i in range(1, 13)], "holds dates: 2024-01-01", "Name another column"),
        ([f"{i}.3.2024" for i in range(1, 13)], "holds dates: 1.3.2024", "Name another column"),
    ],
)
@pytest.mark.parametrize("choice", [{}, {"label": ("score",)}, {"kind": "score"}])
def test_numbers_in_other_clothes_are_named(
    tmp_path: Path, values: list[str], problem: str, next_step: str, choice: dict[str, Any]
) -> None:
    path = write(tmp_path / "x.csv", make_rows({"text": "text", "score": values}), ";")
    with pytest.raises(UserError) as caught:
        tasks_of(path, **choice)
    assert problem in caught.value.problem and next_step in caught.value.next_step
    assert "use --kind classify" in caught.value.next_step
    (task,) = tasks_of(path, kind="classify", **{k: v for k, v in choice.items() if k != "kind"})
    assert sorted(task.settings["labels"]) == sorted(values)


def test_a_score_that_is_mostly_numbers_has_bad_rows(tmp_path: Path) -> None:
    """They are named when the rows are read, and can be skipped."""
    path = write(tmp_path / "x.csv", make_rows({"text": "text", "score": [1.5, 2, 4.5, "many"]}))
    (task,) = tasks_of(path, kind="score")
    assert task.settings["range"] == [1.0, 5.0]
    dataset = read_dataset(path, task_from("score", Path(), task.settings, "here"), skip_bad_rows=True)
    assert (len(dataset), len(dataset.skipped)) == (45, 15)


def test_labels_that_differ_only_in_case_are_warned_about(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", make_rows({"text": "text", "label": ["Yes", "no", "yes", "NO", "maybe"]}))
    (data,) = infer_tasks([path])
    assert "differ only in case are different labels (NO, no; Yes, yes)" in data.warnings[0]
    (data,) = infer_tasks([write(tmp_path / "y.csv", make_rows({"text": "text", "label": ["yes", "no"]}))])
    assert not data.warnings


def test_labels_of_rows_without_a_text_are_no_labels(tmp_path: Path) -> None:
    rows = [*make_rows({"text": "text", "label": ["good", "bad"]}), {"text": None, "label": 3}, {"text": 7, "label": 4}]
    (task,) = tasks_of(write(tmp_path / "x.jsonl", rows))
    assert task.settings["labels"] == ["bad", "good"] and task.settings["missing"] == "skip"


def test_a_label_that_differs_in_every_row_is_no_label(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", make_rows({"review": lambda row: f"the film number {row}", "stars": [1, 2]}))
    with pytest.raises(UserError) as caught:
        tasks_of(path, text=("stars",), label=("review",))
    assert "column 'review' has a different value in each of 60 rows" in caught.value.problem
    assert caught.value.next_step.endswith("for example: --text review --label stars")


def test_a_column_of_texts_that_is_empty_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", make_rows({"sentence1": "text", "sentence2": [""], "score": [0.5, 1, 2.5]}))
    with pytest.raises(UserError, match="column 'sentence2' is empty in all 60 rows") as caught:
        tasks_of(path)
    assert "--text sentence1" in caught.value.next_step
    assert tasks_of(path, text=("sentence1",))[0].settings["text"] == ["sentence1"]


# ---- files of other programs --------------------------------------------------------------------------


def test_a_fasttext_file_is_converted_as_the_error_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("my mail.txt")
    lines = [f'__label__{"spam" if i % 2 else "ham"} so, a "word" number {i}\n' for i in range(60)]
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        tasks_of(path)
    command = caught.value.next_step.split("\n")[1].replace("python", f"'{sys.executable}'", 1)
    subprocess.run(command, shell=True, check=True)
    (task,) = tasks_of(Path("my mail.csv"))
    assert task.settings["labels"] == ["ham", "spam"]
    dataset = read_dataset(Path("my mail.csv"), task_from("label", Path(), task.settings, "here"))
    assert dataset.texts[0][1] == 'so, a "word" number 1'


def test_json_rows_below_a_name(tmp_path: Path) -> None:
    rows = make_rows({"text": "text", "label": ["good", "bad"]})
    path = tmp_path / "x.json"
    for name in ("data", "results"):
        path.write_text(json.dumps({"count": 60, name: rows}))
        assert tasks_of(path)[0].settings["labels"] == ["bad", "good"]
    path.write_text(json.dumps({"count": 60, "answers": rows}))
    with pytest.raises(UserError, match="the rows are in the field 'answers'") as caught:
        tasks_of(path)
    assert "Call it 'data'" in caught.value.next_step
    path.write_text(json.dumps(["one text", "another text"]))
    with pytest.raises(UserError, match="not a JSON object") as caught:
        tasks_of(path)
    assert "one array of objects" in caught.value.next_step
