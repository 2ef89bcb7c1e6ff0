"""Files in encodings that are not read: the message is about the file, not about its rows."""

import json
from pathlib import Path

import pytest
import tomli_w

from tests.workbench import Minbert

RUSSIAN = [f"Очень хороший фильм номер {i}, который я посмотрел,{'да' if i % 2 else 'нет'}" for i in range(80)]
JAPANESE = [f"これは映画番号{i}です,{'good' if i % 2 else 'bad'}" for i in range(80)]


@pytest.mark.parametrize(("rows", "encoding"), [(RUSSIAN, "cp1251"), (JAPANESE, "shift_jis")])
def test_a_csv_file_in_another_encoding(
    rows: list[str], encoding: str, minbert: Minbert, tiny: Path, tmp_path: Path
) -> None:
    file = tmp_path / "x.csv"
    lines = [line.replace(",", ";", line.count(",") - 1) for line in rows]
    file.write_bytes("\n".join(["text,label", *lines]).encode(encoding))
    for words in (("check", file), ("train", file, "--out", tmp_path / "run"), ("init", file, "--out", tmp_path / "i")):
        said = minbert(*words)
        assert said.code == 2 and "this file is not UTF-8: 80 of 80 rows" in said.err
        assert "Save the file with the encoding UTF-8" in said.err and "Fix these rows" not in said.err
    # with a recipe too
    recipe = tmp_path / "recipe.toml"
    task = {"kind": "classify", "text": ["text"], "label": "label", "labels": ["a", "b"], "files": {"train": "x.csv"}}
    recipe.write_text(tomli_w.dumps({"backbone": str(tiny), "tasks": {"x": {"task": task}}}))
    said = minbert("check", recipe)
    assert said.code == 2 and "this file is not UTF-8: 80 of 80 rows" in said.err


def test_a_json_file_in_another_encoding(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    rows = [{"text": f"Le café numéro {i} était fermé", "label": "oui" if i % 2 else "non"} for i in range(79)]
    rows.append({"text": "A fine day", "label": "oui"})
    file = tmp_path / "l1.jsonl"
    file.write_bytes("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode("latin-1"))
    assert "this file is not UTF-8: 79 of 80 rows" in minbert("check", file).err
    recipe = tmp_path / "recipe.toml"
    task = {
        "kind": "classify",
        "text": ["text"],
        "label": "label",
        "labels": ["non", "oui"],
        "files": {"train": "l1.jsonl"},
    }
    recipe.write_text(tomli_w.dumps({"backbone": str(tiny), "tasks": {"x": {"task": task}}}))
    said = minbert("train", recipe, "--out", tmp_path / "run", "--skip-bad-rows")
    assert said.code == 2 and "too few rows (1; 79 were skipped ('text' is not valid UTF-8))" in said.err


def test_a_few_bad_rows_are_bad_rows(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    good = "\n".join(["text,label", *(f"Ein schöner Tag {i},{i % 2}" for i in range(40))]).encode()
    file.write_bytes(good + b"\nEin schlechter \xff\xfe,1\n")
    said = minbert("check", file, "--set", f"backbone={tiny}")
    assert said.code == 2 and "few.csv:42: 'text' is not valid UTF-8" in said.out and "Fix these rows" in said.err
    assert "comma-separated, UTF-8" in said.out
    shown = minbert("init", file, "--out", tmp_path / "init").out
    assert "warning: few.csv: 1 of 41 rows have text that is not valid UTF-8" in shown


def test_a_nul_byte_in_the_header(minbert: Minbert, tmp_path: Path) -> None:
    file = tmp_path / "bin.csv"
    file.write_bytes(b"te\x00xt,label\na,b\n")
    said = minbert("check", file)
    assert said.code == 2 and "the header line has a NUL byte" in said.err
