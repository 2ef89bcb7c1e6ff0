"""Teachers, soups, ensembles: one model from several."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from minbert.config.recipe import Distillation
from minbert.errors import UserError
from minbert.inference.ensemble import Member
from minbert.inference.predictor import Predictor, load_predictor
from minbert.inference.saved_model import load_model, save_calibration
from minbert.runs.directory import read_run
from minbert.runs.merge import make_ensemble, make_soup
from minbert.training.distillation import Teachers, distance
from minbert.training.loop import Loop
from minbert.training.prepare import prepare
from tests.tiny import tiny_backbone
from tests.workbench import Minbert, demo_recipe, run_all, write_csv


@pytest.fixture(scope="module")
def runs(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of one recipe with two seeds."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        run_all(demo_recipe(tiny, f"seed={seed}"), folder / str(seed))
    return [folder / "0", folder / "1"]


# ---- teachers -----------------------------------------------------------------------------------------


def test_the_distance_to_a_teacher_by_hand() -> None:
    """Logits (2, 0) against (0, 0) at temperature 2: (.731, .269) against (.5, .5), KL .110944, times 4."""
    theirs = torch.tensor([[2.0, 0.0]]).softmax(1)
    own = torch.tensor([[0.5, 0.5]])
    assert distance(own, theirs, 2.0).item() == pytest.approx(0.443776, abs=1e-5)
    assert distance(theirs, theirs, 2.0).item() == pytest.approx(0, abs=1e-6)
    assert distance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]), 2.0).item() == 2.0
    # a probability of 0 does not give infinity
    assert math.isfinite(distance(own, torch.tensor([[1.0, 0.0]]), 2.0).item())


def test_teachers_are_averaged_over_those_that_have_the_task_on_the_same_rows(runs: list[Path], tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny))
    name, part = "sentiment", ready.train["sentiment"]
    teachers = Teachers(
        Distillation(teachers=tuple(map(str, runs))), {name: ready.tasks[name]}, {name: part.dataset.texts}, "x.toml"
    )
    batch = ready.setup.loaders[name].draw(8, 128)
    singles = []
    for run in runs:
        texts = [part.dataset.texts[0][row] for row in batch.rows_B]
        predictions = Predictor([Member.with_all_tasks(*load_model(run))]).predict(name, texts)
        singles.append([list((each.probabilities or {}).values()) for each in predictions])
    expected = np.mean(singles, axis=0)
    assert teachers.predict(batch).numpy() == pytest.approx(expected, abs=1e-5)


def test_the_teachers_weight_goes_from_start_to_end_over_the_stage(runs: list[Path], tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny))
    name = "similarity"
    texts = {name: ready.train[name].dataset.texts}
    teachers = Teachers(Distillation(teachers=(str(runs[0]),), start=0.8, end=0.2), ready.tasks, texts, "x.toml")
    batch = ready.setup.loaders[name].draw(8, 128)
    ready.model.eval()
    output, loss, by_labels = ready.model(batch), ready.model.task(name).loss, torch.tensor(10.0)
    by_teachers = (loss.predict(output) - teachers.predict(batch)).square().mean()
    for done, weight in ((0.0, 0.8), (0.5, 0.5), (1.0, 0.2)):
        blended = teachers.blend(batch, loss, output, by_labels, done)
        assert blended.item() == pytest.approx((weight * by_teachers + (1 - weight) * 10).item(), rel=1e-5)


def test_a_student_learns_to_predict_as_its_teacher_does(runs: list[Path], tiny: Path) -> None:
    stage = f'stages=[{{epochs = 1, steps_per_epoch = 60, distillation = {{teachers = ["{runs[0]}"], end = 1.0}}}}]'
    recipe = demo_recipe(tiny, 'tasks=["sentiment"]', stage, "seed=7", "optimizer.learning_rate=1e-3")
    ready = prepare(recipe)
    teachers = ready.setup.teachers[0]
    batch = ready.setup.loaders["sentiment"].draw(64, 128)

    def apart() -> float:
        ready.model.eval()
        with torch.no_grad():
            return distance(ready.model.predict(batch), teachers.predict(batch), 1.0).item()

    before = apart()
    for _ in Loop(ready.model, ready.setup):
        pass
    assert apart() < before / 2


def test_a_teacher_without_the_task_or_with_other_labels_is_refused(runs: list[Path], tiny: Path) -> None:
    taught = f'stages=[{{distillation = {{teachers = ["{runs[0]}"]}}}}]'
    with pytest.raises(UserError, match="stage 0: no teacher has the task 'other'"):
        prepare(demo_recipe(tiny, 'tasks=["other"]', "tasks.other.task=demo/sentiment", taught))
    with pytest.raises(UserError, match="other labels or another range"):
        prepare(demo_recipe(tiny, 'tasks=["sentiment"]', "tasks.sentiment.task=demo/paraphrase", taught))
    with pytest.raises(UserError, match="no such run"):
        prepare(demo_recipe(tiny, 'stages=[{distillation = {teachers = ["nosuch"]}}]'))


# ---- soups --------------------------------------------------------------------------------------------


def test_a_soup_has_the_mean_of_the_weights(runs: list[Path], tmp_path: Path) -> None:
    make_soup(runs, tmp_path / "soup")
    first, second, mean = (load_model(path)[0].state_dict() for path in (*runs, tmp_path / "soup"))
    for name, tensor in mean.items():
        assert torch.allclose(tensor, (first[name] + second[name]) / 2, atol=1e-6), name
    assert any(not torch.equal(tensor, mean[name]) for name, tensor in first.items())


def test_a_soup_has_the_mean_calibration(runs: list[Path], tmp_path: Path) -> None:
    """Temperatures 2 and 8 have the geometric mean 4; a missing threshold counts as a half."""
    copies = [tmp_path / "0", tmp_path / "1"]
    for run, copy, temperature, threshold in zip(runs, copies, (2.0, 8.0), (0.3, None), strict=True):
        shutil.copytree(run, copy)
        save_calibration(copy / "model", {"paraphrase": temperature}, {"paraphrase": threshold})
    make_soup(copies, tmp_path / "soup")
    part = load_model(tmp_path / "soup")[0].task("paraphrase")
    assert part.temperature == pytest.approx(4)
    assert part.task.threshold == pytest.approx(0.4)


def test_runs_of_other_shapes_make_no_soup(runs: list[Path], tmp_path: Path) -> None:
    backbone = tiny_backbone(tmp_path / "tiny")
    run_all(demo_recipe(backbone, 'tasks=["sentiment"]'), tmp_path / "other")
    with pytest.raises(UserError, match="not of the same shape"):
        make_soup([runs[0], tmp_path / "other"], tmp_path / "soup")
    with pytest.raises(UserError, match="Fewer than two runs"):
        make_soup(runs[:1], tmp_path / "soup")
    assert not (tmp_path / "soup").exists()


# ---- ensembles ----------------------------------------------------------------------------------------

QUESTIONS = {
    "sentiment": ["A wonderful film.", "Dull and far too long.", "It opens at nine."],
    "similarity": [("A dog runs.", "A dog is running."), ("A dog runs.", "The bank is closed.")],
}


def numbers(model: Predictor, task: str) -> list[list[float]]:
    found = model.predict(task, QUESTIONS[task])  # type: ignore[arg-type]
    return [[each.score] if each.score is not None else list((each.probabilities or {}).values()) for each in found]


def test_an_ensemble_gives_the_mean_of_its_members_predictions(runs: list[Path], tmp_path: Path) -> None:
    who = make_ensemble(runs, tmp_path / "both")
    assert who["sentiment"] == runs
    members, together = [load_predictor(run) for run in runs], load_predictor(tmp_path / "both")
    for task in QUESTIONS:
        mean = np.mean([numbers(member, task) for member in members], axis=0)
        assert np.allclose(numbers(together, task), mean, atol=1e-6)
        assert not np.allclose(numbers(members[0], task), mean, atol=1e-6)


def test_an_ensemble_predicts_files_as_it_predicts_texts(runs: list[Path], tmp_path: Path) -> None:
    make_ensemble(runs, tmp_path / "both")
    source = write_csv(tmp_path / "in.csv", "sentence", [f'"{text}"' for text in QUESTIONS["sentiment"]])
    model = load_predictor(tmp_path / "both")
    done = model.predict_file("sentiment", source, tmp_path / "out.jsonl")
    assert done.written == 3
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    expected = [max(probabilities) for probabilities in numbers(model, "sentiment")]
    assert [row["probability"] for row in rows] == pytest.approx(expected, abs=1e-6)


def test_single_task_runs_make_one_that_predicts_all_and_is_evaluated_like_a_run(
    tiny: Path, tmp_path: Path, minbert: Minbert
) -> None:
    for task in ("sentiment", "similarity"):
        run_all(demo_recipe(tiny, f'tasks=["{task}"]'), tmp_path / task)
    singles = [tmp_path / "sentiment", tmp_path / "similarity"]
    said = minbert("ensemble", *singles, "--out", tmp_path / "all")
    assert said.code == 0, said.err
    found = json.loads(minbert("evaluate", tmp_path / "all", "--json").out)["tasks"]
    for run in singles:
        assert found[run.name] == pytest.approx(read_run(run)["scores"][run.name])


def test_the_best_run_of_each_task_predicts_it(runs: list[Path], tmp_path: Path) -> None:
    who = make_ensemble(runs, tmp_path / "best", best=True)
    for task, metric in (("sentiment", "accuracy"), ("similarity", "pearson")):
        scores = {run: read_run(run)["scores"][task][metric] for run in runs}
        assert who[task] == [max(scores, key=lambda run: scores[run])]
        assert numbers(load_predictor(tmp_path / "best"), task) == numbers(load_predictor(who[task][0]), task)


def test_what_cannot_be_merged_is_refused(runs: list[Path], tiny: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_all(demo_recipe(tiny, 'tasks=["sentiment"]', "tasks.sentiment.task=demo/paraphrase"), other)
    with pytest.raises(UserError, match="other labels or another range"):
        make_ensemble([runs[0], other], tmp_path / "out")
    with pytest.raises(UserError, match="exists already"):
        make_ensemble(runs, other)
    make_ensemble(runs, tmp_path / "out")
    with pytest.raises(UserError, match="is an ensemble itself"):
        make_ensemble([runs[0], tmp_path / "out"], tmp_path / "more")
