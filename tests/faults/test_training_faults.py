"""A training that is stopped, killed, starved of disk or fed with damage: what is lost, and what it says."""

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tomli_w

from minbert.config.loading import read_recipe
from minbert.config.recipe import Recipe
from minbert.errors import UserError
from minbert.runs.checkpoint import CheckpointInterval, complete_checkpoints
from minbert.runs.directory import list_runs, lock_run, read_run
from minbert.runs.events import Evaluated, Event, Finished, Started, Stopped
from minbert.runs.run import resume_run, start_run
from tests.faults.hashes import run_hash
from tests.workbench import DEMO, Minbert

# recipes that between them use everything that remembers something between steps
REMEMBERING: dict[str, list[str]] = {
    "plain": ["stages.0.sampler=proportional"],
    "prioritized, dwa, ema, smart, adjusting": [
        "stages.0.sampler=prioritized",
        "balancer=dwa",
        'weight_averaging={name = "ema", decay = 0.5}',
        'defaults.regularizers=[{name = "smart", bregman = 1.0}]',
        'optimizer.schedule={name = "adjusting"}',
        "optimizer.algorithm.implementation=minbert",
    ],
    "annealed, pcgrad over parts, swa, r_drop, lion": [
        "optimizer.algorithm=lion",
        "stages.0.sampler=annealed",
        "balancer=pcgrad",
        "optimizer.gradient_accumulation_steps=3",
        'weight_averaging={name = "swa", start = 0.25}',
        'defaults.regularizers=["r_drop", "mixout"]',
    ],
    "heads in turn, then all at once with famo, sgd": [
        'optimizer.algorithm={name = "sgd", nesterov = true}',
        'stages=[{sampler = "in_turn", max_rows_per_task = 64, trainable = "heads and adapters", '
        'tasks = ["paraphrase", "sentiment"]}, '
        '{sampler = "at_once", max_rows_per_task = 64}]',
        "balancer=famo",
        'tasks.sentiment.regularizers=[{name = "towards_start", weight = 0.01}]',
    ],
    "gradnorm": ['stages=[{sampler = "at_once", max_rows_per_task = 128, epochs = 2}]', "balancer=gradnorm"],
    "gradvac": ['stages=[{sampler = "at_once", max_rows_per_task = 128, epochs = 2}]', "balancer=gradvac"],
    "uncertainty and fixed weights": [
        'stages.0.sampler={name = "fixed", weights = {sentiment = 1, paraphrase = 2, similarity = 3}}',
        "balancer=uncertainty",
    ],
}


def recipe_of(tiny: Path, *overrides: str) -> Recipe:
    short = ["stages.0.epochs=2", "stages.0.steps_per_epoch=4", "selection.eval_rows=20"]
    return read_recipe("demo", [f"backbone={tiny}", *short, *overrides])


def asked_after(steps: int) -> Callable[[], int | None]:
    """Someone who asks the training to stop the so many-th time that it looks."""
    looks = iter(range(1, 10_000))
    return lambda: signal.SIGTERM if next(looks) >= steps else None


def finish(events: Iterator[Event]) -> Finished:
    last = list(events)[-1]
    assert isinstance(last, Finished)
    return last


@pytest.mark.parametrize("name", REMEMBERING)
def test_2_a_run_stopped_after_any_step_ends_as_if_it_had_never_stopped(name: str, tiny: Path, tmp_path: Path) -> None:
    recipe = recipe_of(tiny, *REMEMBERING[name])
    whole, parts = tmp_path / "whole", tmp_path / "heads and adapters"
    finish(start_run(recipe, whole, controls=False))
    with pytest.raises(Stopped):
        # the first looks are those after the first steps, the later ones come while an epoch is measured
        list(start_run(recipe, parts, controls=False, stop_requested=asked_after(1)))
    stops = 0
    while True:
        try:
            # longer each time: what is measured half is measured anew
            finish(resume_run(parts, stop_requested=asked_after(2 + 2 * stops)))
            break
        except Stopped:
            stops += 1
    assert stops >= 3
    assert run_hash(parts) == run_hash(whole)
    assert read_run(parts)["scores"] == read_run(whole)["scores"]
    assert not (parts / "checkpoints").exists()


def test_checkpoints_come_as_often_as_asked_and_old_ones_go(tiny: Path, tmp_path: Path) -> None:
    events = start_run(recipe_of(tiny), tmp_path / "run", every=CheckpointInterval(steps=2, keep=2))
    seen = [tuple(sorted(complete_checkpoints(tmp_path / "run" / "checkpoints"))) for _ in events]
    assert set(seen) >= {(2,), (2, 4), (4, 6), (6, 8)}
    assert max(map(len, seen)) == 2


@pytest.mark.parametrize(("text", "steps", "seconds"), [("200", 200, None), ("10m", None, 600), ("90s", None, 90)])
def test_how_often_is_said_in_steps_or_minutes(text: str, steps: int | None, seconds: float | None) -> None:
    assert CheckpointInterval.parse(text) == CheckpointInterval(steps, seconds)
    for wrong in ("", "0", "ten", "-3", "0m"):
        with pytest.raises(UserError, match="--save-every"):
            CheckpointInterval.parse(wrong)


# ---- damaged and unfinished checkpoints ---------------------------------------------------------------


@pytest.fixture
def stopped_at_4(tiny: Path, tmp_path: Path) -> Path:
    """A run with the checkpoints of steps 2 and 4, stopped after the fourth."""
    run = tmp_path / "run"
    with pytest.raises(Stopped):
        list(
            start_run(
                recipe_of(tiny), run, every=CheckpointInterval(steps=2), controls=False, stop_requested=asked_after(4)
            )
        )
    assert sorted(complete_checkpoints(run / "checkpoints")) == [2, 4]
    return run


def notes_of(run: Path) -> str:
    started = next(event for event in resume_run(run) if isinstance(event, Started))
    return "\n".join(started.notes)


def test_1_a_checkpoint_that_was_being_written_is_ignored(stopped_at_4: Path) -> None:
    checkpoints = stopped_at_4 / "checkpoints"
    (checkpoints / "step-000004").rename(checkpoints / "step-000004.tmp")
    (checkpoints / "step-000004.tmp" / "manifest.json").unlink()
    assert notes_of(stopped_at_4) == "step 4 incomplete, ignored\nresuming from step 2"


@pytest.mark.parametrize("damage", ["flipped", "cut", "zeroed", "gone"])
@pytest.mark.parametrize("file", ["weights.safetensors", "state.safetensors", "state.json", "manifest.json"])
def test_5_a_damaged_checkpoint_is_passed_over_loudly(stopped_at_4: Path, file: str, damage: str) -> None:
    path = stopped_at_4 / "checkpoints" / "step-000004" / file
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        # of the manifest its first character, since a changed digest would be taken for damage of the file it is of
        content[0 if file == "manifest.json" else len(content) // 2] ^= 1
    elif damage == "cut":
        del content[len(content) // 2 :]
    elif damage == "zeroed":
        content = bytearray(len(content))
    path.write_bytes(content)
    if damage == "gone":
        path.unlink()
    notes = notes_of(stopped_at_4)
    assert notes.startswith("step 4 damaged, ignored: ")
    assert notes.endswith("resuming from step 2")
    if damage in ("flipped", "zeroed") and file != "manifest.json":
        assert f"{file}: sha256 mismatch" in notes


def test_5_with_nothing_whole_left_it_says_so_and_begins_again(stopped_at_4: Path, tiny: Path, tmp_path: Path) -> None:
    for path in (stopped_at_4 / "checkpoints").glob("*/weights.safetensors"):
        path.write_bytes(b"")
    started, *_ = resume_run(stopped_at_4)
    assert isinstance(started, Started) and started.notes[-1].startswith("there is no checkpoint to resume from")
    finish(start_run(recipe_of(tiny), tmp_path / "whole"))
    assert run_hash(stopped_at_4) == run_hash(tmp_path / "whole")


# ---- another recipe, other data, another backbone, another process ------------------------------------


def test_7_a_changed_recipe_is_refused_with_the_difference(stopped_at_4: Path, tiny: Path) -> None:
    changed = recipe_of(tiny, "optimizer.learning_rate=0.5", "tasks.sentiment.batch_size=16")
    with pytest.raises(UserError) as wrong:
        list(resume_run(stopped_at_4, changed))
    assert "recipe: optimizer.learning_rate is 0.5, it was 0.0001" in wrong.value.problem
    assert "recipe: tasks.sentiment.batch_size is 16, it was 32" in wrong.value.problem


def test_7_changed_data_is_refused(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text((DEMO / "sentiment-train.csv").read_text("utf-8"), "utf-8")
    task = {"kind": "classify", "text": ["sentence"], "label": "sentiment", "files": {"train": "own.csv"}}
    (tmp_path / "own.toml").write_text(tomli_w.dumps(task), encoding="utf-8")
    recipe = recipe_of(tiny, 'tasks=["own"]', f"tasks.own.task={tmp_path / 'own.toml'}")
    with pytest.raises(Stopped):
        list(start_run(recipe, tmp_path / "run", controls=False, stop_requested=asked_after(3)))
    with (tmp_path / "own.csv").open("a", encoding="utf-8") as file:
        file.write("99999,one more,4\n")
    with pytest.raises(UserError, match="data: own train has changed"):
        list(resume_run(tmp_path / "run"))


def test_7_another_tokenizer_is_refused(stopped_at_4: Path, tiny: Path, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "other"
    shutil.copytree(tiny, other)
    (other / "vocab.txt").write_text((other / "vocab.txt").read_text("utf-8") + "more\n", "utf-8")
    with pytest.raises(UserError, match=r"backbone: vocab\.txt has changed"):
        list(resume_run(stopped_at_4, recipe_of(other)))


def test_a_finished_run_is_not_resumed(tiny: Path, tmp_path: Path) -> None:
    finish(start_run(recipe_of(tiny), tmp_path / "run"))
    with pytest.raises(UserError, match="this run is finished"):
        list(resume_run(tmp_path / "run"))


def test_10_two_processes_cannot_have_one_run(stopped_at_4: Path) -> None:
    with (
        lock_run(stopped_at_4),
        pytest.raises(UserError, match=rf"process {os.getpid()} on .* is at work there"),
    ):
        list(resume_run(stopped_at_4))


def test_8_a_loss_that_is_no_number_fails_the_run_and_keeps_the_last_checkpoint(tiny: Path, tmp_path: Path) -> None:
    wild = recipe_of(tiny, "optimizer.learning_rate=1e30", "optimizer.max_grad_norm=0", "optimizer.warmup_ratio=0")
    with pytest.raises(UserError, match=r"The loss of task '\w+' became (nan|inf) at step"):
        list(start_run(wild, tmp_path / "run", every=CheckpointInterval(steps=1)))
    about = read_run(tmp_path / "run")
    assert about["state"] == "failed" and "became" in about["reason"]
    assert complete_checkpoints(tmp_path / "run" / "checkpoints")


def test_runs_are_listed_with_how_they_ended(stopped_at_4: Path, tiny: Path) -> None:
    finish(start_run(recipe_of(tiny), stopped_at_4.parent / "other"))
    found = {path.name: about for path, about in list_runs(stopped_at_4.parent)}
    assert (found["run"]["state"], found["other"]["state"]) == ("interrupted", "finished")
    # a process that was killed could not say so itself
    run_json = stopped_at_4 / "run.json"
    run_json.write_text(run_json.read_text("utf-8").replace('"interrupted"', '"running"'), "utf-8")
    assert dict(list_runs(stopped_at_4.parent))[stopped_at_4]["state"] == "killed"


# ---- real processes -----------------------------------------------------------------------------------


def spawn(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "minbert", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_line(process: "subprocess.Popen[str]", metrics: Path, lines: int) -> None:
    """Until the log has so many lines, or the process has ended."""
    while process.poll() is None and (not metrics.is_file() or metrics.read_bytes().count(b"\n") < lines):
        time.sleep(0.01)


def write_recipe(folder: Path, tiny: Path, steps: int) -> Path:
    recipe = recipe_of(tiny, f"stages.0.steps_per_epoch={steps}", "stages.0.epochs=4")
    path = folder / "recipe.toml"
    path.write_text(recipe.as_toml(), encoding="utf-8")
    return path


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_3_a_signal_saves_and_names_the_command_that_resumes(
    number: signal.Signals, code: int, tiny: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = spawn("train", write_recipe(tmp_path, tiny, 200), "--out", run)
    wait_for_line(process, run / "metrics.jsonl", 3)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"minbert resume {run}" in said.replace("\n", "")
    assert complete_checkpoints(run / "checkpoints") and read_run(run)["state"] == "interrupted"


@pytest.mark.slow
@pytest.mark.parametrize("name", REMEMBERING)
def test_2_killed_before_any_line_of_the_code_that_trains_the_weights_are_the_same(
    name: str, tiny: Path, tmp_path: Path
) -> None:
    """Each recipe at two instants drawn from all of them, and killed again while it resumes: any kind of boundary."""
    path = tmp_path / "recipe.toml"
    path.write_text(recipe_of(tiny, *REMEMBERING[name]).as_toml(), encoding="utf-8")
    command = [sys.executable, "-m", "tests.faults.killed_training", str(path), str(tmp_path / "runs"), "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    instants = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(instants) == 2 and all(each["ended"] == -signal.SIGKILL for each in instants)
    assert all(each["same"] for each in instants), instants


@pytest.mark.slow
def test_2_a_run_killed_at_twenty_instants_has_the_weights_of_one_that_was_not(tiny: Path, tmp_path: Path) -> None:
    recipe, run, whole = write_recipe(tmp_path, tiny, 60), tmp_path / "run", tmp_path / "whole"
    uninterrupted = spawn("train", recipe, "--out", whole)
    assert uninterrupted.communicate(timeout=120) and uninterrupted.returncode == 0
    draw = random.Random(0)
    command: list[object] = ["train", recipe, "--out", run]
    kills = 0
    while kills < 20:
        process = spawn(*command, "--save-every", "5")
        lines = (run / "metrics.jsonl").read_bytes().count(b"\n") if kills else 0
        wait_for_line(process, run / "metrics.jsonl", max(1, lines - 5))
        # anywhere: in a step, in a checkpoint, in an evaluation, at a boundary
        time.sleep(draw.uniform(0, 0.25))
        if process.poll() is not None:
            break
        process.kill()
        process.wait()
        kills += 1
        command = ["resume", run]
    # a run of 240 steps may end before the twentieth kill; then those it survived must have been many
    if kills == 20:
        last = spawn("resume", run)
        assert last.communicate(timeout=120) and last.returncode == 0
    assert kills >= 10
    assert run_hash(run) == run_hash(whole)


def test_4_a_full_disk_leaves_the_last_checkpoint_whole_and_names_path_and_bytes(tiny: Path, tmp_path: Path) -> None:
    """A file larger than allowed stands in for the full disk: the system refuses to write on, in the same place."""
    run = tmp_path / "run"
    recipe = write_recipe(tmp_path, tiny, 200)
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from minbert.runs import checkpoint\n"
        "from minbert.cli import main\n"
        "whole = checkpoint.save_checkpoint\n"
        "def limited(folder, step, *rest):\n"
        "    if step >= 4:\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "    whole(folder, step, *rest)\n"
        "import minbert.runs.fit\n"
        "minbert.runs.fit.save_checkpoint = limited\n"
        f"sys.argv = ['minbert', 'train', {str(recipe)!r}, '--out', {str(run)!r}, '--save-every', '2']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    said = done.stderr.replace("\n", "")
    assert "step-000004" in said and "bytes" in said
    assert sorted(complete_checkpoints(run / "checkpoints")) == [2]
    assert json.loads((run / "run.json").read_text("utf-8"))["state"] == "failed"
    assert "resuming from step 2" in notes_of(run)


# ---- what is offered as a model, and as data ----------------------------------------------------------


class Payload:
    """Unpickled, it leaves a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("place", ["model/model.safetensors", "model/tasks.safetensors", "model/pytorch_model.bin"])
def test_6_a_pickle_offered_as_a_model_is_refused_and_not_run(
    place: str, tiny: Path, tmp_path: Path, minbert: Minbert
) -> None:
    run, trace = tmp_path / "run", tmp_path / "trace"
    finish(start_run(recipe_of(tiny), run))
    if place.endswith(".bin"):
        (run / "model" / "model.safetensors").unlink()
    (run / place).write_bytes(pickle.dumps({"embeddings.word_embeddings.weight": Payload(trace)}))
    said = minbert("predict", run, "sentiment", "A film.")
    assert said.code == 2 and "Traceback" not in said.err
    assert Path(place).name in said.err
    assert not trace.exists()


def test_6_a_pickle_offered_as_a_checkpoint_is_passed_over(stopped_at_4: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    path = stopped_at_4 / "checkpoints" / "step-000004" / "weights.safetensors"
    path.write_bytes(pickle.dumps(Payload(trace)))
    assert "step 4 damaged, ignored: weights.safetensors" in notes_of(stopped_at_4)
    assert not trace.exists()


def test_11_bad_rows_are_named_before_training_and_left_out_only_when_asked(
    tiny: Path, tmp_path: Path, minbert: Minbert
) -> None:
    rows = [f"{i},sentence number {i},{i % 5}" for i in range(40)]
    rows[7], rows[20] = "7,sentence number 7,9", '20,"never closed,1'
    data = tmp_path / "own.csv"
    data.write_text("\n".join(["id,sentence,sentiment", *rows]) + "\n", "utf-8")
    labels = [0, 1, 2, 3, 4]
    files = {"train": "own.csv"}
    task = {"kind": "classify", "text": ["sentence"], "label": "sentiment", "labels": labels, "files": files}
    (tmp_path / "own.toml").write_text(tomli_w.dumps(task), encoding="utf-8")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'backbone = "{tiny}"\n[tasks.own]\ntask = "own.toml"\n', encoding="utf-8")
    said = minbert("train", recipe, "--out", tmp_path / "run")
    assert said.code == 2 and not (tmp_path / "run").exists()
    assert "own.csv:9:" in said.err and "own.csv:22:" in said.err and "--skip-bad-rows" in said.err
    said = minbert("train", recipe, "--out", tmp_path / "run", "--skip-bad-rows")
    assert said.code == 0, said.err
    assert "2 skipped" in said.err


def test_3_a_signal_while_the_finished_model_is_measured_stops_it_too(tiny: Path, tmp_path: Path) -> None:
    run, recipe, trained = tmp_path / "run", recipe_of(tiny), []
    events = start_run(recipe, run, stop_requested=lambda: signal.SIGTERM if len(trained) == 2 else None)
    with pytest.raises(Stopped):
        for event in events:
            # after the evaluation of the second and last epoch, only the final measurement is left
            trained += [event] if isinstance(event, Evaluated) else []
    assert read_run(run)["state"] == "interrupted"
    started, *_ = resume_run(run)
    assert isinstance(started, Started) and started.done == started.steps
    finish(start_run(recipe, tmp_path / "whole"))
    assert run_hash(run) == run_hash(tmp_path / "whole")


def test_a_checkpoint_whose_successor_was_being_put_in_its_place_is_found(stopped_at_4: Path) -> None:
    checkpoints = stopped_at_4 / "checkpoints"
    (checkpoints / "step-000004").rename(checkpoints / "step-000004.old")
    assert notes_of(stopped_at_4) == "resuming from step 4"


def test_a_run_of_another_version_is_not_resumed(stopped_at_4: Path) -> None:
    about = read_run(stopped_at_4)
    del about["recipe"]
    (stopped_at_4 / "run.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(UserError, match="another version of minbert"):
        list(resume_run(stopped_at_4))
