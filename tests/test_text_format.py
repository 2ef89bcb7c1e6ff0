"""Delimiters, encodings, JSON arrays, sheets and nested fields: the same rows from every file."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from minbert.config.task import Task
from minbert.data import json_rows
from minbert.data.dataset import read_dataset
from minbert.data.readers import ColumnReader, read_columns, read_layout
from minbert.data.standard_input import ending_of, store_standard_input
from minbert.data.text_format import BLOCK_BYTES, find_encoding
from minbert.errors import UserError

ROWS = [["Schönes Buch, größer als gedacht", "5"], ["Öde; nie wieder", "1"], ["So | so", "3"]]


def table(delimiter: str) -> str:
    lines = [["review", "stars"], *ROWS]
    return "".join(delimiter.join(f'"{field}"' for field in line) + "\r\n" for line in lines)


def rows_of(path: Path, *columns: str) -> list[Any]:
    return [values[:-1] if isinstance(values, list) else values for _, values in read_columns(path, columns, "id")]


# ---- delimiters and encodings -------------------------------------------------------------------------


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize(("delimiter", "name"), [(",", "comma"), ("\t", "tab"), (";", "semicolon"), ("|", "bar")])
@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("cp1252", "Windows-1252"),
    ],
)
def test_delimiter_and_encoding_are_found_and_said(
    tmp_path: Path, delimiter: str, name: str, encoding: str, shown: str, gz: str
) -> None:
    data = table(delimiter).encode(encoding)
    data = b"\xfe\xff" + data if encoding == "utf-16-be" else data
    path = tmp_path / f"rows.csv{gz}"
    path.write_bytes(gzip.compress(data) if gz else data)
    assert rows_of(path, "review", "stars") == ROWS
    layout = read_layout(path)
    assert layout.columns == ["review", "stars"] and layout.description == f"{name}-separated, {shown}"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_json_may_be_utf16_too(tmp_path: Path, encoding: str, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    objects = [json.dumps({"review": text, "stars": stars}, ensure_ascii=False) for text, stars in ROWS]
    text = "\n".join(objects) if ending == "jsonl" else f"[{', '.join(objects)}]"
    path.write_bytes(text.encode(encoding))
    assert rows_of(path, "review", "stars") == ROWS


def test_json_is_never_windows_1252(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes('{"review": "schön"}\n{"review": "fine"}\n'.encode("cp1252"))
    task = Task("mine", tmp_path, kind="classify", text=("review",), label="y", labels=(0, 1))
    dataset = read_dataset(path, task, labeled=False, skip_bad_rows=True)
    assert dataset.texts == (["fine"],) and [row.reason for row in dataset.skipped] == ["'review' is not valid UTF-8"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # the rows show which of two characters in the header is the delimiter
        ("id;text,label\n1;a, b\n2;c\n", ["id", "text,label"]),
        ("id,text;label\n1,a;b\n2,c\n", ["id", "text;label"]),
        # quotes hide a delimiter
        ('"a;b;c",d\n1,2\n', ["a;b;c", "d"]),
        # a column alone stays alone
        ("review\nso, so; or | not\n", ["review"]),
        # a tab in the header decides, as in the course's files
        ("a,b\tc\n1,2\t3\n", ["a,b", "c"]),
    ],
)
def test_the_delimiter_of_an_odd_header(tmp_path: Path, content: str, expected: list[str]) -> None:
    (tmp_path / "rows.csv").write_text(content)
    assert read_layout(tmp_path / "rows.csv").columns == expected


def test_a_tsv_file_with_commas_is_read_with_commas_only_if_every_row_fits(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("text,label\na,1\nb,2\n")
    assert read_layout(path).columns == ["text", "label"]
    path.write_text("hello, world\nnothing else\n")
    assert read_layout(path).columns == ["hello, world"]


def test_a_file_is_windows_1252_only_if_it_is_not_utf8_throughout() -> None:
    def encoding(data: bytes) -> str:
        return find_encoding(io.BytesIO(data))

    german = "schöne Grüße, " * 30
    assert encoding(german.encode("cp1252")) == "cp1252"
    # a row of another encoding in a file of UTF-8: its rows are rejected one by one
    assert encoding(german.encode() + "öäü".encode("cp1252")) == "utf-8-sig"
    # and a wrongly encoded word in a file of Windows-1252 is what it is
    assert encoding(german.encode("cp1252") + "é".encode()) == "cp1252"
    # bytes without a meaning in Windows-1252, NUL, and mostly high bytes: not a western text
    assert encoding(german.encode("cp1252") + b"\x81") == "utf-8-sig"
    assert encoding(german.encode("cp1252") + b"\x00") == "utf-8-sig"
    assert encoding(("привет мир, как дела, " * 30).encode("cp1251")) == "utf-8-sig"


def test_the_last_byte_of_a_long_file_counts() -> None:
    plain = b"x" * (2 * BLOCK_BYTES)
    assert find_encoding(io.BytesIO(plain + b"\xe9")) == "cp1252"
    # a character that two blocks share is one character
    shared = b"x" * (BLOCK_BYTES - 1) + "é".encode() + plain
    assert find_encoding(io.BytesIO(shared)) == "utf-8-sig"


def test_utf16_that_is_cut_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(table(",").encode("utf-16")[:-1])
    with pytest.raises(UserError, match="not whole UTF-16 text"):
        rows_of(path, "review")


def test_a_missing_column_of_a_semicolon_file_lists_its_columns(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("Text;Label\na;1\n")
    with pytest.raises(UserError) as caught:
        rows_of(tmp_path / "rows.csv", "text")
    assert caught.value.next_step == "The file has the columns Text, Label."


# ---- JSON ---------------------------------------------------------------------------------------------

OBJECTS = [{"review": f"film {i}", "stars": i % 3} for i in range(7)]


@pytest.mark.parametrize("block", [1, 7, 2**16])
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(OBJECTS),
        json.dumps(OBJECTS, indent=2),
        json.dumps({"version": 1, "about": [1, 2], "data": OBJECTS, "after": {}}),
        "\n".join(map(json.dumps, OBJECTS)),
        "\n\n".join(map(json.dumps, OBJECTS)) + "\n",
    ],
    ids=["array", "indented", "in data", "lines", "spaced lines"],
)
@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_json_files_of_every_shape(
    tmp_path: Path, text: str, ending: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_rows, "BLOCK_CHARACTERS", block)
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    assert rows_of(path, "review", "stars") == [[row["review"], row["stars"]] for row in OBJECTS]
    assert read_layout(path).columns == ["review", "stars"]


def test_rows_of_an_array_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('[{"a": "x"}, 7, {"a": "y"}]')
    assert list(read_columns(path, ["a"], "id")) == [(1, ["x", None]), (2, "not a JSON object"), (3, ["y", None])]


def test_an_array_in_a_jsonl_file_is_an_array(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for text in (json.dumps(OBJECTS), json.dumps(OBJECTS, indent=1)):
        path.write_text(text)
        assert len(rows_of(path, "review")) == 7
    path.write_text('["x"]\n{"review": "good"}\n')
    assert list(read_columns(path, ["review"], "id")) == [(1, "not a JSON object"), (2, ["good", None])]


@pytest.mark.parametrize(
    ("text", "problem", "step"),
    [
        ('{"text": ["a", "b"], "label": [0, 1]}', "one object with the fields text, label", "orient='records'"),
        ('{"text": "a"}', "one object with the fields text", "one object per line"),
        ('[{"text": "a"}, {"text": ', "not JSON after row 1", "one array of objects"),
        ('[{"text": "a"} {"text": "b"}]', "not JSON after row 1: '{' where ']' should be", "one array of objects"),
        ('"text"', "no array of objects", "one array of objects"),
    ],
)
def test_json_without_rows_says_how_to_write_them(tmp_path: Path, text: str, problem: str, step: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        rows_of(path, "text")
    assert problem in caught.value.problem and step in caught.value.next_step


# ---- nested fields ------------------------------------------------------------------------------------

NESTED: list[dict[str, Any]] = [
    {"data": {"text": "one", "meta": {"lang": "en"}}, "y": 1},
    {"data": {"text": "two", "meta": None}, "y": 0},
    {"data": None, "y": 1},
]


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet"])
def test_nested_fields_are_columns(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(NESTED), path)
    else:
        path.write_text(json.dumps(NESTED) if ending == "json" else "\n".join(map(json.dumps, NESTED)))
    assert rows_of(path, "data.text", "data.meta.lang", "y") == [["one", "en", 1], ["two", None, 0], [None, None, 1]]
    assert {"data.text", "data.meta.lang", "y"} <= set(read_layout(path).columns)
    with pytest.raises(UserError, match=r"no column 'data.texts'. Did you mean 'data.text'\?"):
        rows_of(path, "data.texts")


def test_a_name_with_a_dot_is_a_name_first(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a.b": "whole", "a": {"b": "inner"}}\n{"a": {"b.c": "inner"}}\n')
    assert rows_of(path, "a.b", "a.b.c") == [["whole", None], [None, "inner"]]
    pyarrow.parquet.write_table(pyarrow.table({"a.b": ["whole"]}), tmp_path / "rows.parquet")
    assert rows_of(tmp_path / "rows.parquet", "a.b") == [["whole"]]


# ---- sheets -------------------------------------------------------------------------------------------


def write_sheet(path: Path, rows: list[list[Any]], *more: str) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name)
    book.save(path)
    return path


def test_the_first_sheet_is_read_like_a_csv_file(tmp_path: Path) -> None:
    rows = [["id", "review", "stars"], ["a", "größer", 5], [7, 2012, 1.5], [None, None, None], ["c", None, True]]
    path = write_sheet(tmp_path / "rows.xlsx", rows, "other")
    assert list(read_columns(path, ["review", "stars"], "id")) == [
        (2, ["größer", "5", "a"]),
        (3, ["2012", "1.5", "7"]),
        (5, ["", "true", "c"]),
    ]
    assert read_layout(path).description == "sheet 'Sheet', the first of 2"
    reader = ColumnReader(path, ["review"], "id", exact=True)
    assert len(list(reader)) == 3 and (reader.unit, reader.done, reader.total) == ("rows", 3, 4)
    zipped = tmp_path / "rows.xlsx.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    assert rows_of(zipped, "review")[0] == ["größer"]


def test_a_sheet_has_its_row_numbers_and_bad_rows(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "rows.xlsx", [["review", "stars"], ["good", 1], ["bad", 9], ["x", 1, "more"]])
    task = Task("mine", tmp_path, kind="classify", text=("review",), label="stars", labels=(0, 1))
    with pytest.raises(UserError) as caught:
        read_dataset(path, task)
    assert caught.value.problem.split("\n") == [
        f"{path}:3: 'stars' is '9', not one of the labels 0, 1",
        f"{path}:4: 3 fields where the header has 2",
    ]


def test_a_file_that_is_no_sheet_is_named(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    (tmp_path / "rows.xlsx").write_text("no sheet at all")
    with pytest.raises(UserError, match=r"not a whole \.xlsx file"):
        rows_of(tmp_path / "rows.xlsx", "review")
    with pytest.raises(UserError, match="the file is empty"):
        rows_of(write_sheet(tmp_path / "empty.xlsx", []), "review")


def test_without_openpyxl_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    with pytest.raises(UserError) as caught:
        rows_of(tmp_path / "rows.xlsx", "review")
    assert "pip install 'minbert[excel]'" in caught.value.next_step


def test_an_old_sheet_is_told_to_be_saved_again(tmp_path: Path) -> None:
    (tmp_path / "rows.xls").write_bytes(b"x")
    with pytest.raises(UserError) as caught:
        rows_of(tmp_path / "rows.xls", "review")
    assert caught.value.next_step.startswith("Save it as .xlsx or .csv.")


# ---- standard input, labels ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "ending"),
    [
        (b"a,b\n1,2\n", ".csv"),
        (b"a\tb\n1\t2\n", ".tsv"),
        (b' {"a": 1}\n{"a": 2}\n', ".json"),
        (b'[{"a": 1}]', ".json"),
        ("a\tb\n".encode("utf-16"), ".tsv"),
        (b"PAR1...", ".parquet"),
    ],
)
def test_the_kind_of_standard_input_is_found(start: bytes, ending: str) -> None:
    assert ending_of(start) == ending


def test_standard_input_is_stored_whole_and_replaces_nothing(tmp_path: Path) -> None:
    data = b"review,stars\n" + b"fine,1\n" * 50_000
    path = store_standard_input(io.BytesIO(data), tmp_path / "new" / "run-stdin")
    assert path == tmp_path / "new" / "run-stdin.csv" and path.read_bytes() == data
    with pytest.raises(UserError, match="exists already"):
        store_standard_input(io.BytesIO(data), tmp_path / "new" / "run-stdin")
    with pytest.raises(UserError, match="empty"):
        store_standard_input(io.BytesIO(b"\n"))


@pytest.mark.parametrize(
    ("written", "score"),
    [("3,5", 3.5), ("-1,25", -1.25), ("0,125", 0.125), (" 4,0 ", 4.0), ("1,000", None), ("1,2,3", None)],
)
def test_a_decimal_comma_is_a_point_unless_it_may_mean_thousands(
    tmp_path: Path, written: str, score: float | None
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"t;y\nx;{written}\nx;0\n")
    task = Task("mine", tmp_path, kind="score", text=("t",), label="y", range=(-5.0, 5.0))
    dataset = read_dataset(path, task, skip_bad_rows=True)
    assert dataset.labels is not None
    assert dataset.labels.tolist() == ([] if score is None else [score]) + [0.0]


def test_lists_of_labels_and_scores_outside_the_range_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"t": "x", "y": ["a", "b"]}\n{"t": "x", "y": 7}\n')
    with pytest.raises(UserError) as caught:
        read_dataset(path, Task("mine", tmp_path, kind="classify", text=("t",), label="y", labels=(7, 8)))
    assert "'y' is a list of labels, ['a', 'b']: a row has one" in caught.value.problem
    with pytest.raises(UserError) as caught:
        read_dataset(path, Task("mine", tmp_path, kind="score", text=("t",), label="y", range=(0.0, 5.0)))
    assert "widen 'range' of the task" in caught.value.next_step
