"""Prediction of files: bad input, and kills at any instant. The numbers are those of the cases in docs/predict.md."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from minbert.data.readers import read_columns
from minbert.inference.resumable_job import partial_folder, rejects_of
from tests.faults.critic import critic, reviews, write_reviews
from tests.workbench import Minbert

ROOT = Path(__file__).parents[2]
ALONE = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return critic(tmp_path_factory.mktemp("runs") / "critic", layers=1)


def start(*words: object, rows: int = 0) -> "subprocess.Popen[str]":
    """The command in a new process, in chunks of so many rows."""
    command = [sys.executable, "-m", "tests.faults.measured", str(rows), *map(str, words)]
    return subprocess.Popen(command, cwd=ROOT, env=ALONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: "subprocess.Popen[str]") -> tuple[int, str, float]:
    """Its exit code, what it said, and its peak memory in MB."""
    out, err = process.communicate(timeout=600)
    found = re.search(r"peak ([\d.]+) MB", out)
    return process.returncode, err, float(found[1]) if found else 0.0


def columns_in(path: Path, *names: str) -> list[list[str]]:
    return [list(values) for _, values in read_columns(path, list(names), "id")]


def rejects_in(output: Path) -> dict[int, str]:
    lines = rejects_of(output).read_text(encoding="utf-8").splitlines()
    return {row["line"]: row["reason"] for row in map(json.loads, lines)}


# ---- 15: killed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "times"), [("csv", 12), ("parquet", 5)])
def test_15_killed_at_any_instant_and_resumed_the_output_is_the_same(
    run: Path, tmp_path: Path, ending: str, times: int
) -> None:
    source = write_reviews(tmp_path / "in.jsonl", reviews(150))
    source.write_text(source.read_text() + 'no JSON\n{"review": 3}\n')
    command = [sys.executable, "-m", "tests.faults.killing", run, source, tmp_path / f"out.{ending}", str(times)]
    said = subprocess.run(command, cwd=ROOT, env=ALONE, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    found = [json.loads(line) for line in said.stdout.splitlines()]
    assert len(found) >= times
    assert all(each["same"] and not each["left"] for each in found), found
    assert all(each["ends"][0] == -signal.SIGKILL and each["ends"][-1] in (0, -signal.SIGKILL) for each in found)
    # most of them had to be resumed
    assert sum(each["ends"][-1] == 0 for each in found) > times / 2


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jsonl.gz", "parquet.gz"])
def test_15_killed_at_a_hundred_instants(run: Path, tmp_path: Path, ending: str) -> None:
    test_15_killed_at_any_instant_and_resumed_the_output_is_the_same(run, tmp_path, ending, 100)


def wait_for(there: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + 120
    while not there() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_15_the_command_itself_killed_from_outside(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    source = write_reviews(tmp_path / "in.csv", reviews(4000))
    words = ["predict", run, "--tasks", "mood,stars", "--input", source, "--output"]
    whole, output = tmp_path / "whole.csv", tmp_path / "out.csv"
    assert end(start(*words, whole, rows=100))[0] == 0
    journal = partial_folder(output) / "journal.jsonl"
    for number, chunks in enumerate((3, 12)):
        process = start(*words, output, *(["--resume"] if number else []), rows=100)
        wait_for(lambda enough=chunks: partial_folder(output).exists() and lines_in(journal) >= enough, process)  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        assert end(process)[0] == -signal.SIGKILL
        assert not output.exists()
    kept = lines_in(journal)
    assert kept >= 12
    said = minbert(*words, output)
    assert said.code == 2 and "Continue it with --resume, or start again with --force." in said.err
    code, told, _ = end(start(*words, output, "--resume", rows=100))
    assert code == 0 and "4,000 rows: 4,000 predictions" in told
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv", "whole.csv"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_15_a_stopped_command_says_how_to_resume(run: Path, tmp_path: Path, number: signal.Signals) -> None:
    source = write_reviews(tmp_path / "in.csv", reviews(20_000))
    output = tmp_path / "out.csv"
    process = start("predict", run, "mood", "--input", source, "--output", output, rows=100)
    wait_for(lambda: lines_in(partial_folder(output) / "journal.jsonl") >= 2, process)
    process.send_signal(number)
    code, said, _ = end(process)
    assert code == 128 + number
    assert f"--output {output} --resume" in said and "Traceback" not in said
    assert not output.exists() and lines_in(partial_folder(output) / "journal.jsonl") >= 2


# ---- 16: bad rows -------------------------------------------------------------------------------------

BAD = {
    "csv": (
        b'id,review\n1,a good film\n2,caf\xe9\n3,nul\x00here\n4,too,many\n5\n6,\n7,fine\n8,"never closed\n9,last one\n',
        {
            3: "'review' is not valid UTF-8",
            4: "'review' has a NUL character",
            5: "3 fields where the header has 2",
            6: "1 fields where the header has 2",
            7: "'review' is empty",
            9: "broken quoting: unexpected end of data",
        },
    ),
    "jsonl": (
        b'{"id": 1, "review": "a good film"}\n{"id": 2, "review": "caf\xe9"}\n{"id": 3, "review": "nul\\u0000here"}\n'
        b'[4]\n{"id": 5\n{"id": 6, "review": " "}\n{"id": 7, "review": "fine"}\n{"id": 8, "review": "\\ud800"}\n'
        b'{"id": 9, "review": "last one"}\n\n',
        {
            2: "'review' is not valid UTF-8",
            3: "'review' has a NUL character",
            4: "not a JSON object",
            5: "not JSON: Expecting ',' delimiter: line 2 column 1 (char 9)",
            6: "'review' is empty",
            8: "'review' is not valid UTF-8",
        },
    ),
}


@pytest.mark.parametrize("ending", BAD)
def test_16_bad_rows_are_listed_and_the_rest_is_predicted(
    minbert: Minbert, run: Path, tmp_path: Path, ending: str
) -> None:
    content, rejects = BAD[ending]
    source, output = tmp_path / f"in.{ending}", tmp_path / "out.csv"
    source.write_bytes(content)
    words = ("predict", run, "mood", "--input", source, "--output", output)
    said = minbert(*words)
    assert said.code == 3
    assert rejects_in(output) == rejects
    assert [row[-1] for row in columns_in(output, "review")] == ["1", "7", "9"]
    assert "9 rows: 3 predictions" in said.err and "6 rejected" in said.err
    counts = json.loads(minbert(*words, "--force", "--json", "--skip-bad-rows").out)
    assert (counts["rows"], counts["written"], counts["rejected"]) == (9, 3, 6)
    assert minbert(*words, "--force", "--skip-bad-rows").code == 0


def test_16_bad_rows_of_a_parquet_file(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    texts = pyarrow.array([b"fine", b"caf\xe9", None, b"a\x00b", b"good"]).cast(pyarrow.binary())
    spoilt = pyarrow.StringArray.from_buffers(5, texts.buffers()[1], texts.buffers()[2], texts.buffers()[0])
    pyarrow.parquet.write_table(pyarrow.table({"review": spoilt}), tmp_path / "in.parquet")
    output = tmp_path / "out.parquet"
    assert minbert("predict", run, "mood", "--input", tmp_path / "in.parquet", "--output", output).code == 3
    assert list(rejects_in(output)) == [2, 3, 4]
    assert [row[:1] for row in columns_in(output, "review")] == [["fine"], ["good"]]


def test_16_a_file_of_bad_rows_only_is_rejected_row_by_row(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("id,review\n" + "1,a,b\n" * 50)
    said = minbert("predict", run, "mood", "--input", source, "--output", output)
    assert said.code == 3 and len(rejects_in(output)) == 50
    assert output.read_text() == "id,review,prediction,probability,p_bad,p_good,truncated\n"
    # the next output has none, and says so by having no such file
    write_reviews(source, ["good"])
    assert minbert("predict", run, "mood", "--input", source, "--output", output, "--force").code == 0
    assert not rejects_of(output).exists()


def test_16_a_file_that_cannot_be_read_at_all_leaves_nothing_behind(
    minbert: Minbert, run: Path, tmp_path: Path
) -> None:
    for name, content in {
        "in.csv": b"id,text\n1,a\n",
        "in.jsonl": b'{"text": "a"}\n' * 3,
        "in.parquet": b"PAR1",
        "in.csv.gz": b"\x1f\x8b no",
    }.items():
        (tmp_path / name).write_bytes(content)
        said = minbert("predict", run, "mood", "--input", tmp_path / name, "--output", tmp_path / "out.csv")
        assert said.code == 2 and name in said.err and "Traceback" not in said.err
    assert not list(tmp_path.glob("out*"))


# ---- 17: odd, but good --------------------------------------------------------------------------------


def test_17_marks_of_other_systems_are_not_part_of_the_text(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    plain, odd = tmp_path / "plain.csv", tmp_path / "odd.csv"
    plain.write_bytes(b'id,review\n1,a good film\n2,"two\nlines"\n')
    odd.write_bytes(b'\xef\xbb\xbfid,review\r\n1,a good film\r\n2,"two\nlines"\r\n')
    for source in (plain, odd):
        output = source.with_suffix(".jsonl")
        assert minbert("predict", run, "mood", "--input", source, "--output", output).code == 0
    assert plain.with_suffix(".jsonl").read_bytes() == odd.with_suffix(".jsonl").read_bytes()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_17_ten_megabytes_in_one_field_are_predicted_and_marked(run: Path, tmp_path: Path, ending: str) -> None:
    texts = ["a good film", "bad " * 2_621_440, "a bad film"]
    assert len(texts[1]) == 10 * 2**20

    def predicted(name: str, texts: list[str]) -> tuple[list[dict[str, object]], float]:
        source, output = tmp_path / f"{name}.{ending}", tmp_path / f"{name}-out.jsonl"
        if ending == "parquet":
            pyarrow.parquet.write_table(pyarrow.table({"review": texts}), source)
        else:
            write_reviews(source, texts)
        code, said, peak = end(start("predict", run, "mood", "--input", source, "--output", output))
        assert code == 0 and peak > 0, said
        return [json.loads(line) for line in output.open(encoding="utf-8")], peak

    found, peak = predicted("large", texts)
    assert [row["truncated"] for row in found] == [False, True, False]
    assert [row["review"] for row in found] == texts
    alone, usual = predicted("small", texts[::2])
    assert [row["p_good"] for row in alone] == pytest.approx([row["p_good"] for row in found[::2]], abs=2e-6)
    # tokenized whole it would be 2 GB: 215 MB for each MB of text. The libraries alone take what they take
    assert peak - usual < 300


# ---- 18: places ---------------------------------------------------------------------------------------


def test_18_nothing_is_written_over(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    source, output = write_reviews(tmp_path / "in.csv", reviews(5)), tmp_path / "out.csv"
    before = source.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(source)
    hard = tmp_path / "hard.csv"
    hard.hardlink_to(source)
    output.write_text("dear\n")
    rejects_of(tmp_path / "new.csv").write_text("dear\n")

    def refused(target: Path, *more: str, given: Path = source) -> str:
        said = minbert("predict", run, "mood", "--input", given, "--output", target, *more)
        assert said.code == 2 and "Traceback" not in said.err
        return said.err

    for same in (source, link, hard):
        assert "is the input file" in refused(same, "--force")
    assert "exists already" in refused(output) and "--force" in refused(output)
    assert "rejects.jsonl: exists already" in refused(tmp_path / "new.csv")
    assert "exists already" in refused(output, "--resume")
    assert "is a folder" in refused(tmp_path, "--force")
    assert "Give one of them" in refused(output, "--resume", "--force")
    mine = rejects_of(tmp_path / "mine.csv")
    source.rename(mine)
    assert "is the input file" in refused(tmp_path / "mine.csv", "--force", given=mine)
    mine.rename(source)
    assert output.read_text() == "dear\n" and source.read_bytes() == before
    assert minbert("predict", run, "mood", "--input", source, "--output", output, "--force").code == 0
    assert len(columns_in(output, "prediction")) == 5


# ---- 19: a million rows -------------------------------------------------------------------------------


def write_many(path: Path, rows: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.write("id,review\n")
        file.writelines(f"{i},good film {i % 977}\n" for i in range(rows))
    return path


def peak_of(run: Path, folder: Path, rows: int, ending: str) -> float:
    source, output = write_many(folder / f"{rows}.csv", rows), folder / f"{rows}-out.{ending}"
    code, said, peak = end(start("predict", run, "mood", "--input", source, "--output", output))
    assert code == 0 and f"{rows:,} rows: {rows:,} predictions" in said, said
    ids = (values[-1] for _, values in read_columns(output, ["prediction"], "id"))
    assert all(int(found) == i for i, found in enumerate(ids))
    return peak


@pytest.mark.slow
def test_19_a_million_rows_take_the_memory_of_ten_thousand_and_keep_their_order(run: Path, tmp_path: Path) -> None:
    rows = int(os.environ.get("MINBERT_ROWS", "1000000"))
    few, many = (peak_of(run, tmp_path, count, "csv") for count in (10_000, rows))
    print(f"{few:.0f} MB for 10,000 rows, {many:.0f} MB for {rows:,}")
    # the small file is not even one chunk, which has 8,192 rows
    assert many < 1.15 * few


@pytest.mark.slow
def test_19_parquet_to_parquet_is_flat_too(run: Path, tmp_path: Path) -> None:
    peaks = []
    for rows in (20_000, 200_000):
        source = tmp_path / f"{rows}.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"review": [f"good film {i % 977}" for i in range(rows)]}), source)
        code, said, peak = end(
            start("predict", run, "mood", "--input", source, "--output", tmp_path / f"{rows}-out.parquet")
        )
        assert code == 0, said
        peaks.append(peak)
    assert peaks[1] < 1.15 * peaks[0]
