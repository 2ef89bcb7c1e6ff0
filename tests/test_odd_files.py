"""Files as programs and people write them: what is above the header, unquoted commas, columns text and text2."""

from pathlib import Path

import pytest

from minbert.config.task import Task
from minbert.data.dataset import read_dataset
from minbert.data.infer_task import infer_tasks
from minbert.errors import UserError

ROWS = [f"film number {i} was {'fine,good' if i % 2 else 'poor,bad'}" for i in range(20)]


@pytest.mark.parametrize(
    ("above", "delimiter", "described"),
    [
        ("\n", ",", "comma-separated, UTF-8"),
        ("\r\n  \r\n", ",", "comma-separated, UTF-8"),
        # Excel writes this line, and reads it
        ("sep=;\n", ";", "semicolon-separated, UTF-8"),
        ('\ufeff"sep=;"\r\n\r\n', ";", "semicolon-separated, UTF-8"),
        ("SEP=|\n", "|", "bar-separated, UTF-8"),
    ],
)
def test_lines_above_the_header_that_mean_nothing_are_passed(
    above: str, delimiter: str, described: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    rows = [row.replace(",", delimiter) for row in ROWS]
    path.write_text(above + "\n".join([f"text{delimiter}label", *rows]) + "\n", encoding="utf-8", newline="")
    (found,) = infer_tasks([path])
    assert found.train.description == described and found.train.rows == 20
    task = Task("x", tmp_path, kind="classify", text=("text",), label="label", labels=("bad", "good"))
    dataset = read_dataset(path, task)
    # lines are those of the file, as an editor counts them
    assert dataset.texts[0][0] == "film number 0 was poor" and dataset.lines[0] == above.count("\n") + 2


def test_a_file_of_blank_lines_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for text in ("\n\n \n", "sep=;\n"):
        path.write_text(text)
        with pytest.raises(UserError, match="the file is empty"):
            infer_tasks([path])


def test_unquoted_commas_in_every_row_are_named_as_a_cause(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("text,label\n" + "".join(f"well, it is {i},good\n" for i in range(9)))
    with pytest.raises(UserError, match="None of its 9 rows can be read") as caught:
        infer_tasks([path])
    assert "need quotes around them" in caught.value.next_step and "above the header" in caught.value.next_step


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("text,text2,label", ["text", "text2"]),
        ("question,question_2,label", ["question", "question_2"]),
        ("text,text1,text2,label", ["text1", "text2"]),
    ],
)
def test_a_text_and_a_second_one_of_its_name_are_a_pair(header: str, expected: list[str], tmp_path: Path) -> None:
    path, texts = tmp_path / "x.csv", header.count(",")
    rows = [",".join([f"the film number {i} of {each}" for each in range(texts)] + [str(i % 2)]) for i in range(20)]
    path.write_text("\n".join([header, *rows]) + "\n")
    (found,) = infer_tasks([path])
    assert found.tasks[0].settings["text"] == expected
    assert found.tasks[0].reasons["text"] == "a pair by their names"
