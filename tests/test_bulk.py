"""A file of any length -> predictions: the same as one by one, in the order of the file, none lost, none added."""

import csv
import gzip
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minbert.config.recipe import TaskPlan
from minbert.config.task import Task
from minbert.data import chunks, csv_rows
from minbert.data.readers import ColumnReader, read_columns
from minbert.data.tokenizer import Tokenizer
from minbert.errors import UserError
from minbert.inference.embed_file import FileEmbedding
from minbert.inference.embedder import Embedder
from minbert.inference.formats import output_format_of
from minbert.inference.journal import Journal
from minbert.inference.loop import encode_for_task
from minbert.inference.output_columns import OutputColumn
from minbert.inference.predictor import Predictor
from minbert.inference.resumable_job import partial_folder, rejects_of
from minbert.inference.task_groups import fill_tasks
from minbert.inference.task_predictions import TaskPredictions
from minbert.model.multitask import Model
from tests.faults.critic import critic, critic_of, reviews, write_reviews

FORMATS = [f"{kind}{gz}" for kind in ("csv", "tsv", "jsonl", "parquet") for gz in ("", ".gz")]
# the same examples every time; each of them may use the same folder
OFTEN = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return critic_of(critic(tmp_path_factory.mktemp("runs") / "critic"))


def values_of(path: Path, *names: str) -> list[list[Any]]:
    """The values of these columns and of the id, row by row."""
    rows = [values for _, values in read_columns(path, list(names), "id")]
    assert not any(isinstance(row, str) for row in rows)
    return [list(row) for row in rows]


def rejects_in(output: Path) -> dict[int, str]:
    lines = rejects_of(output).read_text(encoding="utf-8").splitlines()
    return {row["line"]: row["reason"] for row in map(json.loads, lines)}


# ---- predictions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_has_the_predictions_of_its_texts_in_their_order(
    model: Predictor, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 30)
    texts = reviews(100)
    done = model.predict_file("mood", write_reviews(tmp_path / "in.csv", texts), tmp_path / f"out.{ending}")
    assert (done.rows, done.written, done.rejected) == (100, 100, 0)
    found = values_of(tmp_path / f"out.{ending}", "review", "prediction", "p_good")
    assert [(row[3], row[0]) for row in found] == [(f"r{i}", text) for i, text in enumerate(texts)]
    expected = model.predict("mood", texts)
    assert [row[1] for row in found] == [prediction.label for prediction in expected]
    assert len({row[2] for row in found}) > 50
    for row, prediction in zip(found, expected, strict=True):
        assert prediction.probabilities is not None
        assert float(row[2]) == pytest.approx(prediction.probabilities["good"], abs=1e-5)
    assert not rejects_of(tmp_path / f"out.{ending}").exists()
    assert not partial_folder(tmp_path / f"out.{ending}").exists()


def test_several_tasks_predict_as_each_alone_in_columns_of_their_names(model: Predictor, tmp_path: Path) -> None:
    source = tmp_path / "pairs.jsonl"
    source.write_text("".join(json.dumps({"review": text, "other": "a film"}) + "\n" for text in reviews(40)))
    names = ["mood", "stars", "topic", "alike"]
    model.predict_file(names, source, tmp_path / "all.jsonl")
    together = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert list(together[0])[:3] == ["id", "review", "other"]
    for name in names:
        model.predict_file(name, source, tmp_path / f"{name}.jsonl")
        alone = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        for one, row in zip(alone, together, strict=True):
            own = {key.removeprefix(f"{name}."): value for key, value in row.items() if key.startswith(f"{name}.")}
            assert {key: value for key, value in one.items() if key in own} == own
            assert "prediction" in own and "truncated" in own


def test_tasks_that_read_the_same_share_the_encoders_work(model: Predictor, tmp_path: Path) -> None:
    source = write_reviews(tmp_path / "in.csv", reviews(50))
    encoded = []
    hook = model.model.bert.embeddings.register_forward_hook(lambda _, inputs, __: encoded.append(len(inputs[0].ids_T)))
    tokens = {}
    for names in ("mood", "mood stars", "mood stars topic"):
        encoded.clear()
        model.predict_file(names.split(), source, tmp_path / "out.csv", force=True)
        tokens[names] = sum(encoded)
    hook.remove()
    # 50 texts with [CLS] and [SEP]; topic has an adapter in the encoder, so it needs a second pass
    assert tokens["mood stars"] == tokens["mood"] > 100
    assert tokens["mood stars topic"] == 2 * tokens["mood"]


def test_each_text_is_tokenized_once_for_all_tasks(
    model: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    chunks_of = Tokenizer.chunks
    monkeypatch.setattr(
        Tokenizer, "chunks", lambda self, texts, most: (read.append(len(texts)), chunks_of(self, texts, most))[1]
    )
    model.predict_file(["mood", "stars", "topic"], write_reviews(tmp_path / "in.csv", reviews(50)), tmp_path / "o.csv")
    assert read == [50]


def test_texts_that_are_too_long_are_marked_and_those_that_just_fit_are_not(model: Predictor, tmp_path: Path) -> None:
    # 16 tokens with [CLS] and [SEP]: 14 words fit
    texts = ["film " * 14, "film " * 15, " " * 40_000 + "good", "film"]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"review": text, "other": "a b c"}) + "\n" for text in texts))
    done = model.predict_file("mood", source, tmp_path / "out.jsonl")
    assert [json.loads(line)["truncated"] for line in (tmp_path / "out.jsonl").open()] == [False, True, True, False]
    assert done.truncated == 2
    # a bi-encoder has 24 tokens for each text
    done = model.predict_file("alike", source, tmp_path / "out.csv")
    assert [row[0] for row in values_of(tmp_path / "out.csv", "truncated")] == ["false", "false", "true", "false"]


@pytest.mark.parametrize("plan", [TaskPlan(), TaskPlan(symmetric=True), TaskPlan(pairing="bi_encoder")])
def test_which_pairs_are_too_long_is_known_in_every_layout(model: Predictor, plan: TaskPlan) -> None:
    task = Task("x", Path(), kind="score", text=("a", "b"), label="l", range=(0.0, 1.0), max_length=12)
    pairs = Model(model.model.bert, {"x": task}, {"x": plan}, "test")
    texts = {"a": ["film " * i for i in range(14) for _ in range(14)], "b": ["dog " * i for i in range(14)] * 14}
    found: dict[str, TaskPredictions] = {}
    list(fill_tasks(pairs, model.tokenizer, {"x": task.text}, texts, found))
    alone = [
        encode_for_task(pairs, "x", model.tokenizer, ([a], [b])).truncated == 1
        for a, b in zip(*texts.values(), strict=True)
    ]
    assert 0 < sum(alone) < len(alone)
    assert found["x"].truncated is not None and found["x"].truncated.tolist() == alone


def test_a_file_without_rows_gives_a_file_without_rows(model: Predictor, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("id,review\n")
    for ending in FORMATS:
        done = model.predict_file("mood", source, tmp_path / f"out.{ending}")
        assert done.rows == 0
        if "jsonl" not in ending:
            assert values_of(tmp_path / f"out.{ending}", "review", "prediction", "p_good", "truncated") == []
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == b""


def test_what_the_tasks_cannot_do_together_is_refused(model: Predictor, tmp_path: Path) -> None:
    source = write_reviews(tmp_path / "in.csv", reviews(3))
    with pytest.raises(UserError, match="no column 'other'"):
        model.predict_file(["mood", "alike"], source, tmp_path / "out.csv")
    with pytest.raises(UserError, match="predictions of one task"):
        model.bulk(["mood", "stars"], source, tmp_path / "out.csv", output_format="course")
    with pytest.raises(UserError, match="Did you mean 'mood'"):
        model.predict_file(["mod"], source, tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


# ---- chunks -------------------------------------------------------------------------------------------


def test_chunks_end_by_rows_or_by_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 3)
    monkeypatch.setattr(chunks, "CHUNK_CHARACTERS", 10)
    texts = ["a", "b", "", "c", "123456789", "d", "e" * 50, "f"]
    source = tmp_path / "in.csv"
    source.write_text("review\n" + "".join(f'"{text}"\n' for text in texts))
    found = list(chunks.read_chunks(ColumnReader(source, ["review"], "id")))
    # 3 rows, one of them rejected; 1 + 9 characters; 1 + 50; what is left
    assert [chunk.dataset.texts[0] for chunk in found] == [["a", "b"], ["c", "123456789"], ["d", "e" * 50], ["f"]]
    assert [(reject.line, reject.reason) for chunk in found for reject in chunk.rejects] == [(4, "'review' is empty")]


def test_progress_reaches_the_end_of_the_input(model: Predictor, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 20)
    source = write_reviews(tmp_path / "in.csv", reviews(50))
    events = list(model.bulk(["mood"], source, tmp_path / "out.parquet"))
    assert [event.done for event in events] == sorted(event.done for event in events)
    assert (events[-1].done, events[-1].total, events[-1].unit) == (
        source.stat().st_size,
        source.stat().st_size,
        "bytes",
    )
    again = list(model.bulk(["mood"], tmp_path / "out.parquet", tmp_path / "again.csv"))
    assert (again[-1].done, again[-1].total, again[-1].unit) == (50, 50, "rows")
    assert (tmp_path / "again.csv").read_text() != ""


# ---- the journal --------------------------------------------------------------------------------------


def journal_of(folder: Path, **options: Any) -> Journal:
    return Journal(folder / "out.parts", {"input": {"sha256": "abc"}, "threads": 1}, **options)


def test_a_torn_chunk_never_happened(tmp_path: Path) -> None:
    """Truncated at every byte of the three files: the complete chunks are kept, and nothing else."""
    journal = journal_of(tmp_path)
    journal.append({"written": 2}, b"one\n", b"")
    journal.append({"written": 3}, b"two\n", b"bad\n")
    journal.close()
    folder = tmp_path / "out.parts"
    whole = {name: (folder / name).read_bytes() for name in ("output", "rejects", "journal.jsonl")}
    first = whole["journal.jsonl"].index(b"\n") + 1
    for name, content in whole.items():
        for size in range(len(content)):
            for other, bytes_ in whole.items():
                (folder / other).write_bytes(bytes_)
            (folder / name).write_bytes(content[:size])
            found = journal_of(tmp_path, resume=True)
            enough = {"output": size >= 4, "rejects": True, "journal.jsonl": size >= first}[name]
            assert (found.chunks, found.totals["written"]) == ((1, 2) if enough else (0, 0))
            found.append({"written": 3}, b"two\n", b"bad\n")
            found.close()
            assert (folder / "output").read_bytes() == (b"one\ntwo\n" if enough else b"two\n")


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    journal = journal_of(tmp_path)
    journal.append({"written": 1}, b"one\n", b"")
    journal.append({"written": 1}, b"two\n", b"")
    journal.close()
    (tmp_path / "out.parts/output").write_bytes(b"one\ntwp\n")
    assert journal_of(tmp_path, resume=True).chunks == 1


def test_another_job_is_refused_with_the_difference_shown(tmp_path: Path) -> None:
    journal_of(tmp_path).close()
    with pytest.raises(UserError) as caught:
        Journal(tmp_path / "out.parts", {"input": {"sha256": "xyz"}, "threads": 1}, resume=True)
    assert caught.value.problem.splitlines()[1:] == ["  input.sha256: abc then, xyz now"]
    assert "--force" in caught.value.next_step
    with pytest.raises(UserError, match="did not finish"):
        journal_of(tmp_path)
    assert Journal(tmp_path / "out.parts", {"input": {"sha256": "xyz"}}, replace=True).chunks == 0


def test_one_process_at_a_time_and_no_folder_of_others(tmp_path: Path) -> None:
    journal = journal_of(tmp_path)
    with pytest.raises(UserError, match=rf"process {os.getpid()} on .* is at work there"):
        journal_of(tmp_path, resume=True)
    journal.close()
    (tmp_path / "out.parts/thesis.tex").write_text("dear")
    with pytest.raises(UserError, match=r"thesis\.tex"):
        journal_of(tmp_path, replace=True)
    assert (tmp_path / "out.parts/thesis.tex").exists()


@pytest.mark.parametrize("change", ["input", "tasks", "threads", "model"])
def test_a_changed_call_is_not_resumed(
    model: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 10)
    source, output = write_reviews(tmp_path / "in.csv", reviews(50)), tmp_path / "out.csv"
    asked: dict[str, Any] = {"tasks": ["mood"], "source": source, "output": output}
    begun = model.bulk(**asked)
    for event in begun:
        if event.written:
            break
    begun.journal.close()
    threads = torch.get_num_threads()
    weight = next(model.model.task("mood").head.parameters())
    before = weight.detach().clone()
    if change == "input":
        write_reviews(source, [*reviews(49), "another film"])
    if change == "model":
        weight.data += 1
    if change == "threads":
        torch.set_num_threads(torch.get_num_threads() + 1)
    asked |= {"tasks": ["mood", "stars"]} if change == "tasks" else {}
    with pytest.raises(UserError, match=r"input\.sha256" if change == "input" else f"  {change}: "):
        model.bulk(**asked, resume=True)
    weight.data.copy_(before)
    torch.set_num_threads(threads)
    write_reviews(source, reviews(50))
    *_, last = model.bulk(["mood"], source, output, resume=True)
    assert (last.written, last.before) == (50, 10)


def test_an_input_that_changes_while_it_is_read_gives_no_output(
    model: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 10)
    source = write_reviews(tmp_path / "in.csv", reviews(50))
    with pytest.raises(UserError, match="changed while it was read"):
        for _ in model.bulk(["mood"], source, tmp_path / "out.csv"):
            with source.open("a") as file:
                file.write("r50,more\n")
    assert not (tmp_path / "out.csv").exists()


def test_a_full_disk_keeps_what_was_done_and_says_how_to_resume(
    model: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 10)
    source, output = write_reviews(tmp_path / "in.csv", reviews(50)), tmp_path / "out.csv"
    job = model.bulk(["mood"], source, output)
    sync, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 5:
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError) as caught:
        list(job)
    assert "No space left on device" in caught.value.problem and "--resume" in caught.value.next_step
    monkeypatch.setattr(os, "fsync", sync)
    *_, last = model.bulk(["mood"], source, output, resume=True)
    assert last.before >= 20 and last.written == 50


# ---- hostile text -------------------------------------------------------------------------------------

# everything but halves of surrogate pairs and NUL; troublesome characters often
TROUBLE = st.sampled_from([*"\r\n\t\",;'\\ \x85\u2028\ufeff\x0c=é🙂", "\r\n", '""', "a"])
PIECES = st.one_of(TROUBLE, st.characters(exclude_categories=("Cs",), exclude_characters="\x00"))
TEXTS = st.lists(PIECES, min_size=1, max_size=12).map("".join).filter(str.strip)


@pytest.mark.parametrize("ending", FORMATS)
@OFTEN
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), max_size=8), cut=st.integers(0, 8))
def test_whatever_is_written_is_read_again(tmp_path: Path, ending: str, rows: list[tuple[str, str]], cut: int) -> None:
    path = tmp_path / f"rows.{ending}"
    output_format = output_format_of(path)

    def table(some: list[tuple[str, str]]) -> list[OutputColumn]:
        return [OutputColumn(name, "text", [row[i] for row in some]) for i, name in enumerate(("id", "review"))]

    (tmp_path / "appended").write_bytes(
        output_format.header(table([]))
        + b"".join(output_format.rows(table(some)) for some in (rows[:cut], rows[cut:]) if some)
    )
    output_format.finish(tmp_path / "appended", path)
    if ending == "jsonl" and not rows:
        return
    found = [(values[1], values[0]) for _, values in ColumnReader(path, ["review"], "id", exact=True)]
    assert found == rows


LINES = st.lists(st.sampled_from(['"', '""', ",", "a", "é", "\x00", "\udcff", " ", "1,b", '"x"', "{}"]), max_size=6)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
HOSTILE = st.lists(st.tuples(LINES.map("".join), ENDS), max_size=12).map(lambda rows: "".join(map("".join, rows)))
BREAK = re.compile(r"\r\n|\r|\n")


def physical_lines(text: str) -> list[str]:
    return BREAK.split(text)


@settings(OFTEN, max_examples=300)
@given(body=HOSTILE)
@example(body='1,"a\n2,b\n3,c\n')
@example(body='"x"y,a\n1,b\n')
def test_every_line_of_a_hostile_csv_is_in_exactly_one_row(tmp_path: Path, body: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(("a,b\n" + body).encode("utf-8", "surrogateescape"))
    lines = physical_lines("a,b\n" + body)
    covered = 2
    for line, values in ColumnReader(path, ["a", "b"], "id", exact=True):
        # lines between two rows are empty
        assert line >= covered and not "".join(lines[covered - 1 : line - 1]).strip()
        inside = 0 if isinstance(values, str) else sum(len(BREAK.findall(value)) for value in values[:2])
        covered = line + 1 + inside if "fields" not in str(values) else covered_by(lines, line, 2)
    assert not "".join(lines[covered - 1 :]).strip("\r\n")


def covered_by(lines: list[str], line: int, fields: int) -> int:
    """Where the row after one with a wrong number of fields begins: csv says where that one ends."""
    reader = csv.reader(io.StringIO("\n".join(lines[line - 1 :]), newline=""), strict=True)
    next(reader)
    return line + reader.line_num


@OFTEN
@given(body=HOSTILE)
def test_what_csv_reads_without_complaint_is_read_the_same(tmp_path: Path, body: str) -> None:
    path = tmp_path / "rows.csv"
    # the mark says UTF-8: without it, a file of bad bytes only is Windows-1252
    path.write_bytes(("\ufeffa,b\n" + body).encode("utf-8", "surrogateescape"))
    try:
        expected = [row for row in csv.reader(io.StringIO(body, newline=""), strict=True) if row]
    except csv.Error:
        assert any(isinstance(values, str) for _, values in ColumnReader(path, ["a", "b"], "id"))
        return
    found = [
        values[:2] if not isinstance(values, str) else None
        for _, values in ColumnReader(path, ["a", "b"], "id", exact=True)
    ]
    assert found == [row if len(row) == 2 else None for row in expected]


@OFTEN
@given(body=HOSTILE)
def test_every_line_of_a_hostile_jsonl_is_a_row(tmp_path: Path, body: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(("\n" + body).encode("utf-8", "surrogateescape"))
    found = [line for line, _ in ColumnReader(path, [], "id")]
    assert found == [i for i, line in enumerate(physical_lines("\n" + body), 1) if line.strip()]


def test_many_broken_quotes_are_many_rejects(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("review\n" + '"x"y\n' * 30_000 + "good\n")
    found = list(ColumnReader(path, ["review"], "id"))
    assert len(found) == 30_001 and found[-1] == (30_002, ["good", None])
    assert found[0] == (2, "broken quoting: ',' expected after '\"'")


def test_a_quote_that_is_never_closed_takes_little_memory_and_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "LONGEST_FIELD", 1000)
    path = tmp_path / "rows.csv"
    path.write_text('id,review\n1,"open\n' + "".join(f"{i},film\n" for i in range(2, 1000)))
    rows = ColumnReader(path, ["review"], "id")
    assert next(iter(rows)) == (2, "broken quoting: field larger than field limit (1000)")
    # what was read of the file is not much more than that
    assert [line for line, values in rows if isinstance(values, str)] == [2]
    assert sum(1 for _ in rows) == 999


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_line_that_is_too_long_is_one_row(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "LONGEST_LINE", 100)
    path = tmp_path / f"rows.{ending}"
    lines = ["review", "good", "x" * 500, '"open', "y" * 300, "fine", "z" * 100]
    if ending == "jsonl":
        lines = [json.dumps({"review": line}) for line in lines[1:]]
    path.write_text("\n".join(lines))
    found = dict(ColumnReader(path, ["review"], "id"))
    reason = "a line of more than 100 characters"
    good = {line: values[0] for line, values in found.items() if not isinstance(values, str)}
    if ending == "csv":
        assert good == {2: "good", 6: "fine"}
        assert found[3] == found[5] == reason and found[4] == f"broken quoting: {reason}"
        # as long as a line may be, but the last one: it might go on
        assert found[7] == reason
    else:
        assert good == {1: "good", 3: '"open', 5: "fine"}
        assert found[2] == found[4] == found[6] == reason


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("review,review\na,b\n")
    with pytest.raises(UserError, match="two columns are called 'review'"):
        list(ColumnReader(path, ["review"], "id"))
    table = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["review", "review"])
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(UserError, match="two columns are called 'review'"):
        list(ColumnReader(tmp_path / "rows.parquet", ["review"], "id"))


def test_a_parquet_file_of_one_row_group_is_read_in_small_pieces(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"review": [f"film {i}" for i in range(5000)]}), path)
    rows = ColumnReader(path, ["review"], "id")
    assert [(line, values[0]) for line, values in rows] == [(i + 1, f"film {i}") for i in range(5000)]
    assert (rows.done, rows.total) == (5000, 5000)


# ---- vectors ------------------------------------------------------------------------------------------


def test_a_file_of_vectors_is_the_vectors_of_its_lines(
    model: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 30)
    texts = [*reviews(99), "", "Ünïcödé 🎈 \u2028 here"]
    source, output = tmp_path / "in.txt", tmp_path / "out.npy"
    source.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(texts).encode())
    embedder = Embedder(model.model.bert, model.tokenizer, normalize=True)
    job = FileEmbedding(embedder, source, output)
    for event in job:
        if event.written >= 60:
            break
    job.journal.close()
    assert not output.exists()
    *_, last = FileEmbedding(embedder, source, output, resume=True)
    assert (last.before, last.written) == (60, 101)
    vectors = np.load(output)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, model.embed(texts, normalize=True), atol=1e-5)


def test_a_line_that_is_not_utf8_is_named_before_anything_is_done(model: Predictor, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_bytes(b"fine\n" * 20_000 + b"caf\xe9\n")
    with pytest.raises(UserError, match="20001: not UTF-8"):
        FileEmbedding(Embedder(model.model.bert, model.tokenizer), source, tmp_path / "out.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
