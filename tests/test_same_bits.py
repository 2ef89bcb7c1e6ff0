"""Texts, files, several tasks, evaluation and teachers: the same rows have the same predictions, bit for bit."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from minbert.config.recipe import Distillation, TaskPlan
from minbert.config.task import Task
from minbert.data.batch import collate, length_batches
from minbert.data.dataset import Dataset
from minbert.inference.embed_file import FileEmbedding
from minbert.inference.embedder import Embedder
from minbert.inference.ensemble import Member
from minbert.inference.formats import JsonLinesFormat
from minbert.inference.loop import BUDGET, encode_for_task
from minbert.inference.output_columns import OutputColumn
from minbert.inference.predictor import Predictor, load_predictor
from minbert.inference.task_predictions import TaskPredictions, empty_predictions, mean_over_models
from minbert.model.multitask import Model
from minbert.runs.merge import make_ensemble
from minbert.runs.scoring import scoring_of
from minbert.training.distillation import Teachers
from minbert.training.prepare import Split
from tests.faults.critic import TASKS, critic, reviews

# several batches of the longest texts
ROWS = 600
COLUMNS = {"review": reviews(ROWS), "other": reviews(ROWS, seed=1)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [critic(folder / str(seed), seed=seed) for seed in range(3)]


@pytest.fixture(scope="module", params=["one model", "three models"])
def predictor(request: pytest.FixtureRequest, runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    if request.param == "one model":
        return load_predictor(runs[0], "fp32")
    out = tmp_path_factory.mktemp("ensembles") / "three"
    make_ensemble(runs, out)
    return load_predictor(out, "fp32")


class ExactFormat(JsonLinesFormat):
    """jsonl that also keeps the predictions as they were before they were rounded."""

    def __init__(self) -> None:
        self.written: dict[str, npt.NDArray[Any]] = {}

    def columns(
        self, text_names: Sequence[str], dataset: Dataset, predictions: Sequence[TaskPredictions]
    ) -> list[OutputColumn]:
        # a header has no rows
        self.written |= {each.task.name: each.values for each in predictions if len(dataset)}
        return super().columns(text_names, dataset, predictions)


def write_columns(path: Path) -> Path:
    rows = zip(*COLUMNS.values(), strict=True)
    path.write_text("".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows))
    return path


def in_file(predictor: Predictor, tasks: Sequence[str], folder: Path) -> dict[str, npt.NDArray[Any]]:
    """The predictions that the file gets, which is one chunk."""
    job = predictor.bulk(tasks, write_columns(folder / "in.jsonl"), folder / "out.jsonl", force=True)
    job.format = exact = ExactFormat()
    *_, last = job
    assert last.written == ROWS
    return exact.written


def alone(predictor: Predictor, name: str) -> npt.NDArray[Any]:
    """The numbers of Predictor.predict; a Python float holds a float32 exactly."""
    texts = list(zip(*(COLUMNS[column] for column in TASKS[name].text), strict=True))
    found = predictor.predict(name, texts)
    numbers = [each.score if each.probabilities is None else list(each.probabilities.values()) for each in found]
    return np.array(numbers, np.float64)


def assert_same_bits(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> None:
    assert first.dtype == second.dtype == np.float32 and np.array_equal(first, second)


def test_texts_files_and_several_tasks_at_once_have_the_same_predictions(predictor: Predictor, tmp_path: Path) -> None:
    together, written = predictor.predict_columns(list(TASKS), COLUMNS), in_file(predictor, list(TASKS), tmp_path)
    for name in TASKS:
        exact = together[name].values
        assert_same_bits(exact, written[name])
        assert_same_bits(exact, in_file(predictor, [name], tmp_path)[name])
        assert_same_bits(exact, predictor.predict_columns([name], COLUMNS)[name].values)
        assert np.array_equal(alone(predictor, name), exact.astype(np.float64))
        assert len(np.unique(exact)) > ROWS / 2


def test_the_order_of_the_tasks_does_not_matter(predictor: Predictor) -> None:
    there, back = (predictor.predict_columns(names, COLUMNS) for names in (list(TASKS), list(TASKS)[::-1]))
    for name in TASKS:
        assert_same_bits(there[name].values, back[name].values)


def test_evaluation_scores_the_same_predictions(predictor: Predictor) -> None:
    together = predictor.predict_columns(list(TASKS), COLUMNS)
    for name, task in TASKS.items():
        texts = tuple(COLUMNS[column] for column in task.text)
        # `minbert evaluate`
        values = empty_predictions(task, ROWS)
        *_, last = predictor.fill(name, texts, values)
        assert last == 1
        assert_same_bits(values, together[name].values)
        if len(predictor.members) > 1:
            continue
        # while training
        model = predictor.model
        dataset = Dataset(texts, np.arange(ROWS) % 2, [""] * ROWS, list(range(ROWS)), Path())
        scoring = scoring_of(model, {name: Split(dataset, encode_for_task(model, name, predictor.tokenizer, texts))})
        values = empty_predictions(task, ROWS)
        list(scoring.fill(name, values))
        assert_same_bits(values, together[name].values)
        assert [event.done for event in scoring][-1] == ROWS


def test_teachers_predict_as_their_ensemble(runs: list[Path], tmp_path: Path) -> None:
    make_ensemble(runs, tmp_path / "three")
    # as teachers are loaded: in the precision of this machine
    ensemble = load_predictor(tmp_path / "three")
    for name, task in TASKS.items():
        texts = tuple(COLUMNS[column][:50] for column in task.text)
        teachers = Teachers(Distillation(teachers=tuple(map(str, runs))), TASKS, {name: texts}, "test")
        encoded = encode_for_task(ensemble.model, name, ensemble.tokenizer, texts)
        (rows,) = length_batches(encoded.tokens, BUDGET)
        taught = teachers.predict(collate(name, encoded, None, rows))
        columns = dict(zip(task.text, texts, strict=True))
        assert_same_bits(taught.numpy(), ensemble.predict_columns([name], columns)[name].values[rows])


def test_the_mean_over_models_is_the_same_for_arrays_and_tensors_of_any_shape() -> None:
    """Of seven models, torch.stack(...).mean(0) depends on where a number is in its tensor."""
    generator = np.random.default_rng(0)
    values = [generator.random((33, 5), dtype=np.float32) for _ in range(7)]
    mean = mean_over_models(values)
    assert_same_bits(mean, mean_over_models([torch.from_numpy(each) for each in values]).numpy())
    assert_same_bits(mean[3:4, 2], mean_over_models([each[3:4, 2] for each in values]))
    assert mean == pytest.approx(np.mean(np.stack(values).astype(np.float64), axis=0), rel=1e-6)


def test_members_may_call_the_columns_of_a_task_by_other_names(predictor: Predictor, tmp_path: Path) -> None:
    """The first member's names are those of the files."""
    task = Task("mood", Path(), kind="classify", text=("sentence",), label="m", labels=("bad", "good"))
    other = Model(predictor.model.bert, {"mood": task}, {"mood": TaskPlan(max_length=16)}, "test")
    both = Predictor([*predictor.members, Member.with_all_tasks(other, predictor.tokenizer)])
    found = in_file(both, ["mood", "stars"], tmp_path)["mood"]
    assert np.array_equal(alone(both, "mood"), found.astype(np.float64))
    assert not np.array_equal(alone(predictor, "mood"), found.astype(np.float64))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vectors_of_a_file_are_those_of_its_texts(predictor: Predictor, tmp_path: Path, pooling: str) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.npy"
    source.write_text("\n".join(COLUMNS["review"]))
    embedder = Embedder(predictor.model.bert, predictor.tokenizer, pooling, normalize=True)
    for _ in FileEmbedding(embedder, source, output):
        pass
    assert_same_bits(np.load(output), predictor.embed(COLUMNS["review"], pooling, normalize=True))
