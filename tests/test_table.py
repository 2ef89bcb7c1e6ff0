"""Files of all kinds -> Examples; a bad row never disappears."""

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from minbert.config.task import Files, Task, read_task
from minbert.data.dataset import Dataset, read_dataset, read_rows
from minbert.data.infer_labels import infer_labels
from minbert.data.labels import LabelReader, balanced_weights
from minbert.data.readers import format_of, read_columns
from minbert.data.rejects import BadRows, RejectedRow, describe_reasons, group_by_reason, read_all
from minbert.data.source import DataSource
from minbert.errors import UserError

FORMATS = [f"{kind}{gz}" for kind in ("csv", "tsv", "txt", "jsonl", "ndjson", "parquet", "pq") for gz in ("", ".gz")]


def classify(folder: Path = Path(), **settings: Any) -> Task:
    """Stars for a review: columns of no standard task."""
    return Task("mine", folder, **{"kind": "classify", "text": ("review",), "label": "stars", **settings})


def stars(**settings: Any) -> Task:
    return classify(labels=(0, 1, 2), **settings)


def score(**settings: Any) -> Task:
    return Task("alike", Path(), kind="score", text=("a", "b"), label="how much", range=(0.0, 5.0), **settings)


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """The rows as other programs would write them in the format of the path."""
    kind, gzipped = format_of(path)
    if kind == "parquet":
        table = pyarrow.table({name: [row[i] for row in rows] for i, name in enumerate(columns)})
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(table, sink)
        data = sink.getvalue().to_pybytes()
    elif kind == "jsonl":
        data = "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows).encode()
    else:
        plain = path.with_name("plain")
        with plain.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",")
            writer.writerow(columns)
            writer.writerows(rows)
        data = plain.read_bytes()
    path.write_bytes(gzip.compress(data) if gzipped else data)
    return path


def file_of(folder: Path, content: str | bytes, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path, task: Task, **settings: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        read_dataset(path, task, **settings)
    return caught.value


def labels_of(dataset: Dataset) -> list[Any]:
    assert dataset.labels is not None
    return list(dataset.labels.tolist())


# ---- formats ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_gives_the_same_examples(tmp_path: Path, ending: str) -> None:
    rows = [
        ["r1", 2, 'She said "no",\tand left.'],
        ["r2", 0, "Zwei Zeilen:\nschön, ไทย 🙂"],
        ["r3", 1, "  spaces stay  "],
    ]
    path = write_rows(tmp_path / f"rows.{ending}", ["key", "stars", "review"], rows)
    dataset = read_dataset(path, stars(id="key"))
    assert dataset.texts == ([row[2] for row in rows],)
    assert labels_of(dataset) == [2, 0, 1]
    assert dataset.ids == ["r1", "r2", "r3"]
    assert len(dataset) == 3 and dataset.skipped == [] and dataset.path == path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_pairs_have_two_columns_and_scores_are_numbers(tmp_path: Path, ending: str) -> None:
    rows = [["x", "y", 0.0], ["x", "z", 4.75], ["w", "w", 5.0]]
    path = write_rows(tmp_path / f"rows.{ending}", ["a", "b", "how much"], rows)
    dataset = read_dataset(path, score())
    assert dataset.texts == (["x", "x", "w"], ["y", "z", "w"])
    assert labels_of(dataset) == [0.0, 4.75, 5.0]


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        ((0, 1), [0, 1, 1]),
        ((0, 1), [0.0, 1.0, 1.0]),
        ((0, 1), ["0", "1.0", " 1 "]),
        (("0.0", "1.0"), [0, 1, 1]),
        (("no", "yes"), ["no", "yes", " yes"]),
        ((False, True), [False, True, True]),
        ((False, True), ["False", "true", "TRUE"]),
        ((0.5, 1.5), [0.5, 1.5, 1.5]),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_labels_of_any_type_are_found_in_any_format(
    tmp_path: Path, labels: tuple[Any, ...], values: list[Any], ending: str
) -> None:
    path = write_rows(tmp_path / f"rows.{ending}", ["review", "stars"], [["text", value] for value in values])
    assert labels_of(read_dataset(path, classify(labels=labels))) == [0, 1, 1]


def test_unlabelled_files_are_read_for_answering(tmp_path: Path) -> None:
    path = file_of(tmp_path, "review\nfine\n")
    dataset = read_dataset(path, stars(), labeled=False)
    assert dataset.labels is None and dataset.texts == (["fine"],)


def test_rows_without_an_id_are_called_by_their_line(tmp_path: Path) -> None:
    path = file_of(tmp_path, "id,review,stars\na,x,0\n,y,1\n")
    assert read_dataset(path, stars()).ids == ["a", "3"]
    assert read_dataset(path, stars(id="key")).ids == ["2", "3"]


def test_a_task_may_name_its_delimiter(tmp_path: Path) -> None:
    path = file_of(tmp_path, "review;stars\nso, so;1\n")
    assert read_dataset(path, stars(delimiter=";")).texts == (["so, so"],)


def test_taking_rows_takes_them_in_the_given_order(tmp_path: Path) -> None:
    some = read_dataset(file_of(tmp_path, "id,review,stars\na,x,0\nb,y,1\nc,z,2\n"), stars()).take([2, 0])
    assert (some.texts, labels_of(some), some.ids, some.lines) == ((["z", "x"],), [2, 0], ["c", "a"], [4, 2])


# ---- the course's files -------------------------------------------------------------------------------

COURSE = (
    "\tid\tsentence1\tsentence2\tis_duplicate\n"
    "290564\tfbfd\tWhat is it?\tWhat is that?\t0.0\n"
    '318737\t3186\t"""Which is it: """"the"""" here?"""\tIs it, is it not?\t1.0\n'
    "7\t0bad\tOnly one question\n"
    "8\t1bad\t\tOnly the other\t1.0\n"
)


def test_a_file_of_the_course_is_read_as_published(tmp_path: Path) -> None:
    dataset = read_dataset(file_of(tmp_path, COURSE, "quora-dev.csv"), read_task("quora"))
    assert dataset.texts[0] == ["What is it?", '"Which is it: ""the"" here?"']
    assert dataset.texts[1] == ["What is that?", "Is it, is it not?"]
    assert labels_of(dataset) == [0, 1] and dataset.ids == ["fbfd", "3186"]
    assert [(reject.line, reject.reason) for reject in dataset.skipped] == [
        (4, "'sentence2' is empty"),
        (5, "'sentence1' is empty"),
    ]


def test_rows_with_missing_fields_stop_a_task_that_does_not_allow_them(tmp_path: Path) -> None:
    path = file_of(tmp_path, COURSE)
    task = Task("strict", Path(), kind="classify", text=("sentence1", "sentence2"), label="is_duplicate", labels=(0, 1))
    assert refusal(path, task).problem == f"{path}:4: 'sentence2' is empty\n{path}:5: 'sentence1' is empty"


def test_a_wrong_row_stops_even_a_task_that_skips_missing_fields(tmp_path: Path) -> None:
    path = file_of(tmp_path, "review,stars\nx,0\n,1\ny,9\n")
    assert refusal(path, stars(missing="skip")).problem == (f"{path}:4: 'stars' is '9', not one of the labels 0, 1, 2")


# ---- bytes and lines ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path, ending: str) -> None:
    path = write_rows(tmp_path / f"rows.{ending}", ["review", "stars"], [["x", 1]])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_dataset(path, stars()).texts == (["x"],)


def test_windows_line_ends_are_line_ends(tmp_path: Path) -> None:
    path = file_of(tmp_path, "review,stars\r\nx,0\r\n\r\ny,1\r\n")
    dataset = read_dataset(path, stars())
    assert dataset.texts == (["x", "y"],) and dataset.lines == [2, 4]
    path = file_of(tmp_path, '{"review": "x", "stars": 0}\r\n\r\n{"review": "y", "stars": 1}', "rows.jsonl")
    assert read_dataset(path, stars()).lines == [1, 3]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quoted_newline_keeps_later_line_numbers_right(tmp_path: Path, end: str) -> None:
    lines = ["review,stars", '"two', 'lines",0', "fine,1", "bad,7"]
    path = file_of(tmp_path, end.join(lines) + end)
    dataset, rejects = read_rows(path, stars())
    assert dataset.texts == ([f"two{end}lines", "fine"],) and dataset.lines == [2, 4]
    assert [reject.line for reject in rejects] == [5]


def test_a_quoted_newline_may_stand_in_the_header(tmp_path: Path) -> None:
    path = file_of(tmp_path, '"a\nb",review,stars\n1,x,0\n2,y,8\n')
    dataset, rejects = read_rows(path, stars())
    assert dataset.texts == (["x"],) and [reject.line for reject in rejects] == [4]


def test_a_field_of_a_megabyte_is_read_whole(tmp_path: Path) -> None:
    path = file_of(tmp_path, f"review,stars\n{'word ' * 200_000},1\n")
    assert len(read_dataset(path, stars()).texts[0][0]) == 1_000_000


def test_importing_minbert_leaves_the_limit_of_csv_alone() -> None:
    code = (
        "import csv; before = csv.field_size_limit()\n"
        "import minbert.cli, minbert.data.source, minbert.data.chunks\n"
        "assert csv.field_size_limit() == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_reading_a_long_field_leaves_the_limit_of_csv_alone(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = file_of(tmp_path, f'review,stars\n{"word " * 200_000},1\n"open,1\n')
    for line, values in read_columns(path, ["review"], "id"):
        assert csv.field_size_limit() == before
        assert (len(values[0]) == 1_000_000) if line == 2 else isinstance(values, str)
    assert csv.field_size_limit() == before


def test_files_with_long_fields_are_read_by_several_threads(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    path = file_of(tmp_path, "review,stars\n" + f"{'w' * 150_000},1\n" * 50)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: len(read_dataset(path, stars())), range(8)))
    assert found == [50] * 8 and csv.field_size_limit() == before


# ---- bad rows -----------------------------------------------------------------------------------------


def test_every_bad_row_of_a_csv_is_listed_with_its_reason(tmp_path: Path) -> None:
    rows = [
        b"id,review,stars",
        b"1,fine,0",
        b"2,caf\xe9,1",
        b"3,nul \x00 here,1",
        b"4,one,two,1",
        b'5,"closed" too early,1',
        b"6,no such label,5",
        b"7,,1",
        b"8,short",
        b"\xff9,x,1",
        b'10,"never closed,1',
        b"11,not swallowed,1",
        b"12,nor this one,7",
    ]
    path = file_of(tmp_path, b"\n".join(rows) + b"\n")
    error = refusal(path, stars())
    assert error.problem.split("\n") == [
        f"{path}:3: 'review' is not valid UTF-8",
        f"{path}:4: 'review' has a NUL character",
        f"{path}:5: 4 fields where the header has 3",
        f"{path}:6: broken quoting: ',' expected after '\"'",
        f"{path}:7: 'stars' is '5', not one of the labels 0, 1, 2",
        f"{path}:8: 'review' is empty",
        f"{path}:9: 'stars' is empty",
        f"{path}:10: 'id' is not valid UTF-8",
        f"{path}:11: broken quoting: unexpected end of data",
        f"{path}:13: 'stars' is '7', not one of the labels 0, 1, 2",
    ]
    labels = "A model predicts only the labels of its training rows, or those that the task lists as 'labels'."
    assert error.next_step == f"{labels} Fix these rows, or skip them with --skip-bad-rows."


def test_a_quote_that_never_closes_costs_its_own_row_only(tmp_path: Path) -> None:
    rows = [f"row {i},{i % 3}" for i in range(8)]
    rows[2], rows[5] = '"row 2,2', 'row "5,2'
    path = file_of(tmp_path, "review,stars\n" + "\n".join(rows) + "\n")
    dataset = read_dataset(path, stars(), skip_bad_rows=True)
    assert dataset.texts[0] == ["row 0", "row 1", "row 3", "row 4", 'row "5', "row 6", "row 7"]
    assert dataset.lines == [2, 3, 5, 6, 7, 8, 9]
    assert [reject.line for reject in dataset.skipped] == [4]


def test_every_bad_row_of_a_jsonl_file_is_listed_with_its_reason(tmp_path: Path) -> None:
    rows = [
        '{"a": "x", "b": "y", "how much": 5}',
        '{"a": "x", "b": "y", "how much": 1',
        '["x", "y", 1]',
        '{"a": 7, "b": "y", "how much": 1}',
        '{"a": "x", "b": ["y"], "how much": 1}',
        '{"a": "x", "b": "\\ud800", "how much": 1}',
        '{"a": "x", "b": "y", "how much": NaN}',
        '{"a": "x", "b": "y", "how much": -Infinity}',
        '{"a": "x", "b": "y", "how much": 1e999}',
        '{"a": "x", "b": "y", "how much": 1' + "0" * 400 + "}",
        '{"a": "x", "b": "y", "how much": 5.5}',
        '{"a": "x", "b": "y", "how much": "a lot"}',
        '{"a": "x", "b": "y", "how much": true}',
        '{"a": "x", "b": "y"}',
        '{"a": null, "b": "y", "how much": 1}',
        "[" * 100_000,
    ]
    path = file_of(tmp_path, "\n".join(rows), "rows.jsonl")
    dataset, rejects = read_rows(path, score())
    assert labels_of(dataset) == [5.0]
    reasons = {reject.line: reject.reason for reject in rejects}
    assert list(reasons) == list(range(2, 17))
    assert reasons.pop(2).startswith("not JSON: ") and reasons.pop(16).startswith("not JSON: ")
    assert reasons.pop(10).endswith(", not a number")
    assert reasons == {
        3: "not a JSON object",
        4: "'a' is not text: 7",
        5: "'b' is not text: ['y']",
        6: "'b' is not valid UTF-8",
        7: "'how much' is nan, not a number",
        8: "'how much' is -inf, outside the range 0 to 5",
        9: "'how much' is inf, outside the range 0 to 5",
        11: "'how much' is 5.5, outside the range 0 to 5",
        12: "'how much' is 'a lot', not a number",
        13: "'how much' is True, not a number",
        14: "'how much' is empty",
        15: "'a' is empty",
    }


def test_every_bad_row_of_a_parquet_file_is_listed_with_its_row(tmp_path: Path) -> None:
    texts = pyarrow.array([b"fine", b"caf\xe9", None, b"x", b"y"]).cast(pyarrow.binary())
    spoilt = pyarrow.StringArray.from_buffers(5, texts.buffers()[1], texts.buffers()[2], texts.buffers()[0])
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"review": spoilt, "stars": [0, 1, 1, 9, None]}), path)
    assert refusal(path, stars()).problem.split("\n") == [
        f"{path}:2: 'review' is not valid UTF-8",
        f"{path}:3: 'review' is empty",
        f"{path}:4: 'stars' is 9, not one of the labels 0, 1, 2",
        f"{path}:5: 'stars' is empty",
    ]
    pyarrow.parquet.write_table(pyarrow.table({"review": [1.5, 2.5], "stars": [0, 1]}), path)
    assert f"{path}:1: 'review' is not text: 1.5" in refusal(path, stars()).problem


def test_scores_of_a_csv_are_checked_as_numbers(tmp_path: Path) -> None:
    path = file_of(tmp_path, "a,b,how much\nx,y,nan\nx,y,inf\nx,y,-0.1\nx,y,\nx,y,two\nx,y,2\n")
    assert refusal(path, score()).problem.split("\n") == [
        f"{path}:2: 'how much' is 'nan', not a number",
        f"{path}:3: 'how much' is inf, outside the range 0 to 5",
        f"{path}:4: 'how much' is -0.1, outside the range 0 to 5",
        f"{path}:5: 'how much' is empty",
        f"{path}:6: 'how much' is 'two', not a number",
    ]


def test_a_long_list_of_bad_rows_is_cut_and_counted(tmp_path: Path) -> None:
    path = file_of(tmp_path, "review,stars\n" + "".join(f"x,{i}\n" for i in range(10, 50)))
    lines = refusal(path, stars()).problem.split("\n")
    assert len(lines) == 16 and lines[-1] == "... and 25 more reasons."
    rejects = read_rows(path, stars())[1]
    assert len(BadRows(rejects[:15]).problem.split("\n")) == 15
    with pytest.raises(BadRows, match="and 25 more reasons; `minbert check` lists all rows"):
        read_all(lambda path: read_dataset(path, stars()), [path])


def test_bad_rows_with_the_same_reason_are_one_line(tmp_path: Path) -> None:
    rows = ["Well, no.,0", "Well, yes.,1", "fine,1", "So, so.,1", "bad,9"]
    path = file_of(tmp_path, "\n".join(["review,stars", *rows]) + "\n")
    error = refusal(path, stars())
    assert error.problem.split("\n")[0] == f"{path}:2-3, 5: 3 fields where the header has 2"
    assert "need quotes" in error.next_step and "--skip-bad-rows" in error.next_step
    rejects = [RejectedRow(path, line, "no") for line in range(2, 400, 2)]
    assert BadRows(rejects).problem == f"{path}:2, 4, 6, 8, 10, 12, 14, 16, 18, 20, ... (199 rows): no"
    assert group_by_reason(rejects)[0].count(",") == 198
    assert describe_reasons({"a": 3}) == "a"
    assert describe_reasons({"a": 3, "b": 2, "c": 1, "d": 1}) == "3 a, 2 b, 1 c, 1 for other reasons"


def test_a_huge_bad_value_does_not_fill_the_screen(tmp_path: Path) -> None:
    path = file_of(tmp_path, f"review,stars\nx,{'9' * 5000}\n")
    assert len(refusal(path, stars()).problem) < len(str(path)) + 200


def test_skipped_bad_rows_are_counted_so_that_the_sum_is_the_rows_in_the_file(tmp_path: Path) -> None:
    path = file_of(tmp_path, b"review,stars\nx,0\n,1\ny,9\nz\xc3\xa9,2\ncaf\xe9,1\nw,1,1\n")
    for missing in ("error", "skip"):
        dataset = read_dataset(path, stars(missing=missing), skip_bad_rows=True)
        assert dataset.texts == (["x", "zé"],) and labels_of(dataset) == [0, 2]
        assert [reject.line for reject in dataset.skipped] == [3, 4, 6, 7]
        assert len(dataset) + len(dataset.skipped) == 6


def test_a_file_of_bad_rows_only_is_refused_even_when_they_may_be_skipped(tmp_path: Path) -> None:
    path = file_of(tmp_path, "review,stars\nx,9\n")
    error = refusal(path, stars(), skip_bad_rows=True)
    why = "'stars' is '9', not one of the labels 0, 1, 2"
    assert (
        error.problem == f"{path}: no usable rows: in 1 of 1 rows, {why}." and "'review' and 'stars'" in error.next_step
    )
    path = file_of(tmp_path, "review,stars\n,1\n,2\nx,9\n")
    error = refusal(path, stars(), skip_bad_rows=True)
    assert "in 2 of 3 rows, 'review' is empty, and 1 for other reasons" in error.problem


def test_values_that_mean_missing_are_skipped_like_empty_ones(tmp_path: Path) -> None:
    path = file_of(tmp_path, "review,stars\nx,0\ny,N/A\nz, n/a \nw,\nv,1\n")
    task = stars(na_values=("N/A",), missing="skip")
    dataset = read_dataset(path, task)
    assert labels_of(dataset) == [0, 1] and [reject.line for reject in dataset.skipped] == [3, 4, 5]
    assert infer_labels(path, classify(na_values=("N/A",))) == ("0", "1")
    path = write_rows(tmp_path / "rows.parquet", ["review", "stars"], [["x", 0.0], ["y", float("nan")]])
    assert [reject.reason for reject in read_dataset(path, task).skipped] == ["'stars' is nan, not a label"]


@pytest.mark.parametrize(
    ("labels", "values", "expected"),
    [
        (("01", "02"), ["01", "02", "1", 2], [0, 1, 0, 1]),
        ((1, 2), ["01", "+2", "1e0"], [0, 1, 0]),
        (("1", "01"), ["1", "01", "1.0"], [0, 1, 0]),
        ((0.5, 1.5), ["0.50", "1,5"], [0, 1]),
        (("1.1", "1.10"), ["1.10", "1.1"], [1, 0]),
        (("1_2", "12"), ["12", "1_2"], [1, 0]),
    ],
)
def test_other_spellings_of_a_number_are_the_same_label_if_only_one_label_is_that_number(
    tmp_path: Path, labels: tuple[Any, ...], values: list[Any], expected: list[int]
) -> None:
    read = LabelReader(classify(tmp_path, labels=labels))
    assert [read(value) for value in values] == expected
    assert classify(tmp_path, labels=labels).label_texts == tuple(map(str, labels))


# ---- bad files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_wrong_column_name_suggests_the_right_one(tmp_path: Path, ending: str) -> None:
    path = write_rows(tmp_path / f"rows.{ending}", ["reviews", "stars"], [["x", 0]])
    error = refusal(path, stars())
    assert error.problem == f"{path}: no column 'review'. Did you mean 'reviews'?"
    assert error.next_step == "The file has the columns reviews, stars."


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n"])
def test_an_empty_file_is_called_empty(tmp_path: Path, content: bytes) -> None:
    path = file_of(tmp_path, content)
    assert refusal(path, stars()).problem == f"{path}: the file is empty."
    path = file_of(tmp_path, gzip.compress(content), "rows.csv.gz")
    assert refusal(path, stars()).problem == f"{path}: the file is empty."


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_a_header_alone_has_no_usable_rows(tmp_path: Path, ending: str) -> None:
    path = write_rows(tmp_path / f"rows.{ending}", ["review", "stars"], [])
    error = refusal(path, stars())
    assert error.problem == f"{path}: no usable rows."
    assert error.next_step == "A data file needs a header line and at least one row."


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    assert refusal(path, stars()).problem == f"{path}: no such file."
    assert refusal(tmp_path, stars()).problem == f"{tmp_path}: a directory, not a file."


@pytest.mark.parametrize("name", ["rows.docx", "rows", "rows.gz", "rows.docx.gz"])
def test_an_unknown_ending_is_answered_with_the_known_ones(tmp_path: Path, name: str) -> None:
    path = file_of(tmp_path, "review,stars\nx,0\n", name)
    error = refusal(path, stars())
    assert error.problem == f"{path}: unknown kind of file."
    assert error.next_step == "Known endings: .csv, .tsv, .jsonl, .json, .parquet, .xlsx, also with .gz."


@pytest.mark.parametrize("ending", ["csv.gz", "jsonl.gz", "parquet.gz"])
def test_a_broken_gzip_file_is_named(tmp_path: Path, ending: str) -> None:
    rows = [[f"review number {i * i}", i % 3] for i in range(500)]
    path = write_rows(tmp_path / f"rows.{ending}", ["review", "stars"], rows)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    for i in range(100, 140):
        flipped[i] ^= 0xFF
    for content in (whole[:-100], b"no gzip at all", bytes(flipped)):
        path.write_bytes(content)
        assert refusal(path, stars()).problem.startswith(f"{path}: not a whole gzip file: ")


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    rows = [[f"review number {i * i}", i % 3] for i in range(500)]
    path = write_rows(tmp_path / "rows.parquet", ["review", "stars"], rows)
    whole = path.read_bytes()
    spoilt = whole[:50] + b"\xff" * 200 + whole[250:]
    for content in (b"no parquet at all", whole[:-100], whole[100:], spoilt):
        path.write_bytes(content)
        assert refusal(path, stars()).problem.startswith(f"{path}: not a whole parquet file: ")


def test_utf16_without_its_mark_is_told_to_be_saved_as_utf8(tmp_path: Path) -> None:
    path = file_of(tmp_path, "review,stars\nx,0\n".encode("utf-16-le"))
    error = refusal(path, stars())
    assert error.problem.startswith(f"{path}:1: the header line has a NUL byte, so it is not UTF-8 text")
    assert error.next_step == "Save the file with the encoding UTF-8."


def test_a_missing_file_of_a_task_says_how_to_name_the_data_root(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        DataSource(tmp_path).locate(read_task("sst"), "train")
    assert f"there is no {tmp_path / 'ids-sst-train.csv'} nor " in caught.value.problem
    assert caught.value.next_step == "Set the data folder with --data-root FOLDER or the variable MINBERT_DATA."


def test_a_file_that_the_task_does_not_name_says_where_to_name_it(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        DataSource(tmp_path).locate(stars(), "test")
    assert str(caught.value) == (
        "Task 'mine' names no test file.\nAdd 'test = \"...\"' under [files] in its task file."
    )


def test_files_are_found_below_the_data_root_and_else_beside_the_task(tmp_path: Path) -> None:
    task = classify(tmp_path / "tasks", labels=(0, 1), files=Files(train="t.csv"))
    (tmp_path / "tasks").mkdir()
    beside = file_of(tmp_path / "tasks", "x", "t.csv")
    assert DataSource().locate(task, "train") == DataSource(tmp_path).locate(task, "train") == beside
    below = file_of(tmp_path, "x", "t.csv")
    assert DataSource(tmp_path).locate(task, "train") == below


def test_a_path_out_of_the_tasks_folder_is_not_looked_up_below_the_data_root(tmp_path: Path) -> None:
    for folder in ("tasks", "data", "a/data"):
        (tmp_path / folder).mkdir(parents=True)
    task = classify(tmp_path / "tasks", labels=(0, 1), files=Files(train="../data/t.csv"))
    beside = file_of(tmp_path / "data", "x", "t.csv")
    file_of(tmp_path / "a/data", "x", "t.csv")
    assert DataSource(tmp_path / "a/data").locate(task, "train").resolve() == beside


# ---- labels that the task does not list ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["10", "9", "9.0", "-1"], ("-1", "9", "10")),
        (["pos", "neg", " pos "], ("neg", "pos")),
        (["10", "9", "many"], ("10", "9", "many")),
        (["True", "false"], ("false", "True")),
        (["True", "TRUE", "false"], ("false", "true")),
        (["02", "10", "01"], ("01", "02", "10")),
        (["1.0", "2.0"], ("1.0", "2.0")),
    ],
)
def test_labels_are_taken_from_the_column_numbers_in_their_order(
    tmp_path: Path, values: list[str], labels: tuple[str, ...]
) -> None:
    path = write_rows(tmp_path / "rows.csv", ["review", "stars"], [["x", value] for value in [*values, "", " "]])
    assert infer_labels(path, classify()) == labels


def test_rows_that_will_be_refused_make_no_labels(tmp_path: Path) -> None:
    rows = ['"a"', '"b"', "null", "NaN", "[1]", '{"c": 1}', '"\\ud800"']
    path = file_of(tmp_path, "".join(f'{{"review": "x", "stars": {row}}}\nno JSON\n' for row in rows), "rows.jsonl")
    assert infer_labels(path, classify()) == ("a", "b")


def test_too_many_or_too_few_labels_point_at_the_label_column(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.csv", ["review", "stars"], [["x", i] for i in range(501)])
    with pytest.raises(UserError) as caught:
        infer_labels(path, classify())
    assert caught.value.problem == f"{path}: column 'stars' has 501 different values; a classify task needs 2 to 500."
    assert caught.value.next_step == "Check 'label' of task 'mine', or list its 'labels'."
    path = write_rows(tmp_path / "rows.csv", ["review", "stars"], [["x", "good"]] * 5)
    with pytest.raises(UserError, match="column 'stars' has only one label: good"):
        infer_labels(path, classify())


def test_labels_of_rows_without_texts_are_no_labels(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.csv", ["review", "stars"], [["x", "a"], ["y", "b"], ["", "c"]])
    assert infer_labels(path, classify()) == ("a", "b")
    # no row is usable: reading them says why
    path = write_rows(tmp_path / "rows.csv", ["review", "stars"], [["", "a"], ["", "b"]])
    assert infer_labels(path, classify()) == ("a", "b")


def test_a_task_without_labels_knows_them_after_reading(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.csv", ["review", "stars"], [["x", "good"], ["y", "bad"]])
    write_rows(tmp_path / "dev.csv", ["review", "stars"], [["z", "good"]])
    task, train, dev = DataSource().read_splits(classify(tmp_path, files=Files(train="train.csv", dev="dev.csv")))
    assert task.label_keys == ("bad", "good")
    assert (labels_of(train), labels_of(dev)) == ([1, 0], [1])


def test_a_dev_label_that_training_never_shows_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.csv", ["review", "stars"], [["x", "good"], ["y", "bad"]])
    dev = write_rows(tmp_path / "dev.csv", ["review", "stars"], [["z", "so so"]])
    with pytest.raises(UserError) as caught:
        DataSource().read_splits(classify(tmp_path, files=Files(train="train.csv", dev="dev.csv")))
    assert caught.value.problem == f"{dev}:2: 'stars' is 'so so', not one of the labels bad, good"


# ---- a dev part split off the training file: see also test_dev_split.py --------------------------------


def test_skipped_rows_are_counted_once_when_the_file_is_split(tmp_path: Path) -> None:
    rows = [[f"review {i}", i % 3] for i in range(100)] + [["bad", 9], ["bad", 8]]
    write_rows(tmp_path / "train.csv", ["review", "stars"], rows)
    task = classify(tmp_path, labels=(0, 1, 2), files=Files(train="train.csv"))
    _, train, dev = DataSource(skip_bad_rows=True).read_splits(task)
    assert len(train) + len(dev) + len(train.skipped) + len(dev.skipped) == len(rows)


def test_balanced_weights_make_every_class_count_the_same() -> None:
    # 6 rows in 3 classes: 3, 1 and 2 of them, so 6 / (3 * 3), 6 / (3 * 1), 6 / (3 * 2)
    weights = balanced_weights(np.array([0, 0, 0, 1, 2, 2]), 3)
    assert weights == pytest.approx((2 / 3, 2.0, 1.0))
    assert balanced_weights(np.array([0, 0, 1]), 3) == pytest.approx((0.5, 1.0, 0.0))


# ---- the course's own data, where it is ---------------------------------------------------------------

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.mark.skipif(not DATA.is_dir(), reason="the course's data is not beside the repository")
@pytest.mark.parametrize(
    ("name", "train", "dev", "skipped"),
    [("sst", 8544, 1101, 0), ("quora", 88063, 20212, 2), ("sts", 6040, 863, 0), ("cfimdb", 1707, 245, 0)],
)
def test_the_courses_files_are_read_to_the_last_row(name: str, train: int, dev: int, skipped: int) -> None:
    _, train_rows, dev_rows = DataSource(DATA).read_splits(read_task(name))
    assert (len(train_rows), len(train_rows.skipped)) == (train, 0)
    assert (len(dev_rows), len(dev_rows.skipped)) == (dev, skipped)


@pytest.mark.skipif(not DATA.is_dir(), reason="the course's data is not beside the repository")
@pytest.mark.parametrize(
    ("name", "file", "rows"), [("sst", "ids-sst", 2210), ("sts", "sts", 1725), ("cfimdb", "ids-cfimdb", 488)]
)
def test_the_courses_test_files_are_read_without_labels(name: str, file: str, rows: int) -> None:
    dataset = read_dataset(DATA / f"{file}-test-student.csv", read_task(name), labeled=False)
    assert len(dataset) == rows and all(len(identity) == 25 for identity in dataset.ids)


def test_a_jsonl_row_may_leave_a_field_out_but_a_column_that_no_row_has_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"y": 0}\n{"t": "one", "y": 0}\n{"t": "two", "y": 1}\n')
    task = Task("x", tmp_path, kind="classify", text=("t",), label="y", labels=(0, 1), missing="skip")
    dataset = read_dataset(path, task)
    assert (dataset.texts, dataset.lines, len(dataset.skipped)) == ((["one", "two"],), [2, 3], 1)
    other = Task("x", tmp_path, kind="classify", text=("tt",), label="y", labels=(0, 1))
    with pytest.raises(UserError, match="no column 'tt'"):
        read_dataset(path, other)
