"""Predictions read back, and recipes compared by them; runs are written by the functions that training uses."""

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from minbert.comparison.caveats import overall_caveats
from minbert.comparison.ranking import Ranking, rank_systems
from minbert.comparison.results import BETTER, NO_EVIDENCE, OVERALL, WORSE, TrialCost, TrialResult
from minbert.comparison.run_differences import Question, differences_between, sharing_gains, task_transfers
from minbert.comparison.training_curves import curve_over_seeds
from minbert.config.overall_terms import OverallTerm
from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.metrics import score
from minbert.data.overall_score import overall
from minbert.errors import UserError
from minbert.runs.directory import read_run
from minbert.runs.predictions import read_dev_predictions, write_dev_predictions
from tests.workbench import demo_recipe, run_all

ROWS = 200
MOOD = Task("mood", Path(), kind="classify", text=("text",), label="mood", labels=("bad", "good"))
LIKE = Task("like", Path(), kind="score", text=("one", "two"), label="like", range=(0.0, 5.0), metric="mse")
TASKS = {"mood": MOOD, "like": LIKE}
LABELS = {"mood": np.arange(ROWS) % 2, "like": np.arange(ROWS) % 6 / 1.0}
TEXTS = [f'number {i}, said "{i}"' for i in range(ROWS)]


def answers_of(task: Task, skill: float, seed: int) -> Any:
    """A classify task: this share of the answers is right; a score: off by the rest."""
    rng = np.random.default_rng(seed)
    labels = LABELS[task.name]
    if task.kind == "score":
        return labels + rng.normal(0, 1 - skill, len(labels))
    right = np.where(rng.random(len(labels)) < skill, labels, 1 - labels)
    return np.eye(2)[right] * 0.6 + 0.2


def write_run(folder: Path, task: Task, answers: Any, labels: Any = None, texts: list[str] = TEXTS) -> None:
    labels = LABELS[task.name] if labels is None else labels
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    (folder / "tasks" / f"{task.name}.toml").write_text(tomli_w.dumps(task.as_settings()), encoding="utf-8")
    count = len(labels)
    examples = Dataset((texts[:count],) * len(task.text), labels, [str(i) for i in range(count)], [], Path())
    write_dev_predictions(folder / "predictions", task, examples, np.asarray(answers, dtype=np.float32))


def train(folder: Path, label: str, seed: int, skills: dict[str, float], **recipe: Any) -> TrialResult:
    """What a training of this skill leaves behind."""
    run = f"trials/{label}-{seed}"
    scores = {}
    for name, skill in skills.items():
        answers = answers_of(TASKS[name], skill, hash_of(label, seed))
        write_run(folder / run, TASKS[name], answers)
        scores[name] = score(TASKS[name], answers, LABELS[name])
    (folder / run / "run.json").write_text(json.dumps({"recipe": {"seed": seed, "about": label, **recipe}}))
    steps = [{"step": 1, "losses": {"mood": 0.5}}] + [
        {"step": step, "scores": {"mood": {"accuracy": step / 100 + seed / 10}}, "overall": 0.5} for step in (10, 20)
    ]
    steps.append({"step": 20, "cosines": {"mood like": 0.1 * seed}})
    (folder / run / "metrics.jsonl").write_text("\n".join(map(json.dumps, steps)) + "\n")
    cost = TrialCost(10.0 + seed, 20, 1000, 50, 7, 1e6, 2e6)
    return TrialResult(label + str(seed), label, seed, "finished", "", scores, None, cost, run)


def hash_of(label: str, seed: int) -> int:
    return sum(label.encode()) * 1000 + seed


SKILLS = {"plain": (0.7, 0.3), "strong": (0.95, 0.6), "weak": (0.5, 0.1), "like-plain": (0.7, 0.3)}


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[TrialResult]]:
    folder = tmp_path_factory.mktemp("comparison")
    results = [
        train(
            folder,
            label,
            seed,
            {"mood": mood, "like": like},
            rate=mood,
            epoch_fraction=(seed + 1) / 10,
            heads={"mood": label},
        )
        for label, (mood, like) in SKILLS.items()
        for seed in range(3)
    ]
    return folder, results


@pytest.fixture(scope="module")
def verdicts(comparison: tuple[Path, list[TrialResult]]) -> Ranking:
    folder, results = comparison
    return rank_systems(results, list(SKILLS), "plain", TASKS, folder)


# ---- predictions --------------------------------------------------------------------------------------


def test_scores_from_a_runs_predictions_are_the_runs_own(tiny: Path, tmp_path: Path) -> None:
    run_all(demo_recipe(tiny, steps=1), tmp_path / "run")
    scores = read_run(tmp_path / "run")["scores"]
    kinds = set()
    for name, found in scores.items():
        read = read_dev_predictions(tmp_path / "run", name)
        kinds.add(read.task.kind)
        # the run computes with single precision, statistics with double
        assert score(read.task, read.values, read.labels) == pytest.approx(found, abs=1e-6)
        assert score(read.task, read.values.astype(np.float32), read.labels) == found
        assert len(read.ids) == len(read.labels) == len(read.texts[0])
    assert kinds == {"classify", "score"}


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    texts = ["a, b", 'say "no"', "two\nlines", "old\rlines", " spaced ", "NA", "nan"]
    # the user has taken one of our names
    task = replace(MOOD, text=("prediction",))
    answers = np.array([[0.25, 0.75]] * 6 + [[1 - 1e-9, 1e-9]], dtype=np.float32)
    write_run(tmp_path, task, answers, np.array([0, 1, 0, 1, 0, 1, 0]), texts)
    read = read_dev_predictions(tmp_path, "mood")
    assert read.texts == (texts,) and read.ids == ["0", "1", "2", "3", "4", "5", "6"]
    assert read.labels.tolist() == [0, 1, 0, 1, 0, 1, 0]
    # exactly, where the .csv has 0.0
    assert (read.values == answers).all() and read.values.dtype == np.float64
    assert (tmp_path / "predictions/mood-dev.csv").read_text(encoding="utf-8").endswith(",1.0,1.0,0.0\n")


def test_predictions_differ_where_rounded_probabilities_are_equal(tmp_path: Path) -> None:
    answers = np.array([[0.4999999, 0.5000001], [0.5000001, 0.4999999]])
    write_run(tmp_path, MOOD, answers, np.array([1, 0]))
    assert read_dev_predictions(tmp_path, "mood").values.argmax(1).tolist() == [1, 0]


def change_arrays(path: Path, **changed: Any) -> None:
    """Write the file again with other arrays; None leaves one out."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files} | changed
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"predictions": np.full((ROWS, 2), np.nan)}, "row 1: the prediction or the label is not a number"),
        ({"predictions": np.ones((ROWS, 3))}, r"has predictions of shape \(200, 3\); task 'mood' with 200 labels"),
        ({"predictions": np.ones((0, 2)), "labels": np.ones(0, int)}, "has no rows"),
        ({"labels": np.full(ROWS, 2)}, "has labels from 2 to 2; task 'mood' has 2"),
        (
            {"labels": np.zeros(ROWS - 1, int), "predictions": np.ones((ROWS - 1, 2))},
            "has 199 labels and 200, 200 texts",
        ),
        ({"labels": None}, "damaged: .*labels"),
        ({"texts_0_lengths": np.ones(ROWS, int)}, "damaged: texts_0 has"),
        ({"ids_bytes": np.full(490, 255, np.uint8)}, "damaged: .*utf-8"),
        ({"labels": np.array([{}] * ROWS)}, "damaged: .*allow_pickle"),
    ],
)
def test_predictions_that_do_not_fit_the_task_are_refused(tmp_path: Path, changed: Any, message: str) -> None:
    write_run(tmp_path, MOOD, answers_of(MOOD, 1.0, 0))
    change_arrays(tmp_path / "predictions/mood-dev.npz", **changed)
    with pytest.raises(UserError, match=f"mood-dev.npz: .*{message}") as wrong:
        read_dev_predictions(tmp_path, "mood")
    assert "minbert train" in wrong.value.next_step


def test_a_damaged_file_is_refused_with_the_next_step(tmp_path: Path) -> None:
    """Truncated anywhere, emptied, replaced by a pickle, or with any one byte of the data changed."""
    write_run(tmp_path, MOOD, answers_of(MOOD, 1.0, 0))
    path = tmp_path / "predictions/mood-dev.npz"
    whole = path.read_bytes()
    place = whole.index(answers_of(MOOD, 1.0, 0).astype(np.float32).tobytes())
    damaged = [whole[:length] for length in range(0, len(whole), 997)]
    damaged += [whole[:-1], pickle.dumps({"predictions": 1}), bytes(len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(place, place + 8 * ROWS, 101)]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"mood-dev\.npz: damaged: ") as wrong:
            read_dev_predictions(tmp_path, "mood")
        assert "minbert train" in wrong.value.next_step
    path.write_bytes(whole)
    assert read_dev_predictions(tmp_path, "mood").ids[-1] == "199"


def test_ids_and_texts_of_any_length_cost_their_own_bytes(tmp_path: Path) -> None:
    # in one of numpy's own arrays each of them would be as wide as the longest, and lose its last character
    texts = ["x" * 100_000, "", "é\0", *["short"] * 97]
    write_run(tmp_path, MOOD, np.full((100, 2), 0.5), LABELS["mood"][:100], texts)
    assert read_dev_predictions(tmp_path, "mood").texts == (texts,)
    assert (tmp_path / "predictions/mood-dev.npz").stat().st_size < 110_000


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    write_run(tmp_path, MOOD, answers_of(MOOD, 1.0, 0))
    with pytest.raises(UserError, match="has no task 'like'"):
        read_dev_predictions(tmp_path, "like")
    (tmp_path / "predictions/mood-dev.npz").unlink()
    with pytest.raises(UserError, match="no such file, so the run's predictions are not known") as wrong:
        read_dev_predictions(tmp_path, "mood")
    assert "minbert train" in wrong.value.next_step


# ---- a whole comparison -------------------------------------------------------------------------------


def test_recipes_are_ranked_summarised_and_judged(verdicts: Ranking) -> None:
    assert verdicts.measures == ("mood.accuracy", "like.mse", OVERALL)
    assert [each.label for each in verdicts.systems][:1] == ["strong"]
    assert verdicts.systems[-1].label == "weak" and verdicts.complete and verdicts.seeds == (0, 1, 2)
    by_label = {each.label: each for each in verdicts.systems}
    # three recipes against the baseline, on three measures
    assert verdicts.tested == 9 and not by_label["plain"].differences
    assert {name: each.result for name, each in by_label["strong"].differences.items()} == {
        "mood.accuracy": BETTER, "like.mse": BETTER, OVERALL: BETTER,
    }  # fmt: skip
    assert by_label["weak"].differences["mood.accuracy"].result == WORSE
    assert by_label["like-plain"].differences["mood.accuracy"].result == NO_EVIDENCE


def test_a_difference_is_that_of_the_means_with_more_being_better(
    verdicts: Ranking, comparison: tuple[Path, list[TrialResult]]
) -> None:
    by_label = {each.label: each for each in verdicts.systems}
    plain, strong = by_label["plain"].summaries, by_label["strong"].summaries
    accuracy, errors = by_label["strong"].differences["mood.accuracy"], by_label["strong"].differences["like.mse"]
    assert accuracy.value == pytest.approx(strong["mood.accuracy"].mean - plain["mood.accuracy"].mean)
    assert accuracy.errors_removed == pytest.approx(accuracy.value / (1 - plain["mood.accuracy"].mean))
    assert errors.value == pytest.approx(plain["like.mse"].mean - strong["like.mse"].mean, abs=1e-6)
    assert errors.errors_removed is None and errors.low < errors.value < errors.high
    first = next(each for each in comparison[1] if (each.label, each.seed) == ("plain", 0))
    assert plain[OVERALL].values[0] == pytest.approx(overall(first.scores, TASKS))


def test_the_order_of_the_results_changes_nothing(
    verdicts: Ranking, comparison: tuple[Path, list[TrialResult]]
) -> None:
    folder, results = comparison
    mixed = [results[i] for i in np.random.default_rng(0).permutation(len(results))]
    assert rank_systems(mixed, list(SKILLS), "plain", TASKS, folder) == verdicts


def test_what_a_recipe_has_that_the_baseline_has_not(verdicts: Ranking) -> None:
    by_label = {each.label: each for each in verdicts.systems}
    # neither the seed nor the fraction of an epoch, nor the description
    assert by_label["strong"].changes == (("rate", "0.7", "0.95"), ("heads.mood", "plain", "strong"))
    assert by_label["plain"].changes == () and by_label["strong"].about == "strong"


def test_costs_and_curves_are_means_over_seeds(verdicts: Ranking) -> None:
    strong = verdicts.systems[0]
    # seeds 0, 1, 2: 10, 11, 12 seconds; at step 10, .1, .2 and .3
    assert strong.cost == TrialCost(11.0, 20, 1000, 50, 7, 1e6, 2e6)
    curve = strong.curves["mood.accuracy"]
    assert curve.steps == (10.0, 20.0) and curve.mean == pytest.approx((0.2, 0.3))
    assert (curve.low[0], curve.high[0]) == (pytest.approx(0.1), pytest.approx(0.3))
    assert strong.curves[OVERALL].mean == (0.5, 0.5) and "like.mse" not in strong.curves
    assert strong.cosines["mood", "like"].mean == (pytest.approx(0.1),)
    assert strong.runs[1] == "trials/strong-1"


def test_seeds_that_were_measured_at_other_steps_are_read_between_them() -> None:
    # the first is 1 at step 10; after step 20 there is only the other
    curve = curve_over_seeds([{0: 0.0, 20: 2.0}, {0: 0.0, 10: 3.0, 30: 3.0}])
    assert curve.steps == (0, 10, 20, 30) and curve.mean == (0, 2, 2.5, 3)
    assert curve.high[3] - curve.low[3] == 0


def test_failed_and_missing_trials_are_left_out_and_named(comparison: tuple[Path, list[TrialResult]]) -> None:
    folder, results = comparison
    changed = []
    for each in results:
        if each.label == "weak":
            changed.append(replace(each, state="failed", reason="out of memory", scores={}))
        elif (each.label, each.seed) == ("strong", 1):
            changed.append(replace(each, state="missing", scores={}))
        elif (each.label, each.seed) != ("plain", 2):
            changed.append(each)
    found = rank_systems(changed, list(SKILLS), "plain", TASKS, folder)
    by_label = {each.label: each for each in found.systems}
    assert not found.complete and found.systems[-1].label == "weak"
    weak, strong = by_label["weak"], by_label["strong"]
    assert weak.failed == dict.fromkeys(range(3), "out of memory")
    assert not weak.summaries and not weak.differences and weak.cost is None
    assert strong.seeds == (0, 2) and strong.missing == (1,) and by_label["plain"].missing == (2,)
    # the seed that both have is 0: one seed has no effect size
    difference = strong.differences["mood.accuracy"]
    first = {each.label: each.scores["mood"]["accuracy"] for each in results if each.seed == 0}
    assert difference.value == pytest.approx(first["strong"] - first["plain"]) and difference.effect is None
    assert found.tested == 6


@pytest.mark.parametrize(
    ("labels", "texts", "message"),
    [
        (1 - LABELS["mood"], TEXTS, "differ in row 1:"),
        (LABELS["mood"], [*TEXTS[:6], "another", *TEXTS[7:]], "differ in row 7:"),
        (LABELS["mood"][:-1], TEXTS, "are 199, not 200:"),
    ],
)
def test_runs_on_other_dev_rows_are_not_compared(tmp_path: Path, labels: Any, texts: list[str], message: str) -> None:
    one, two = (train(tmp_path, label, 0, {"mood": 0.7}) for label in ("plain", "strong"))
    write_run(tmp_path / two.run, MOOD, answers_of(MOOD, 0.9, 1)[: len(labels)], labels, texts)
    found = rank_systems([two, one], ["strong", "plain"], "plain", {"mood": MOOD}, tmp_path)
    strong = found.systems[-1]
    assert not found.complete and not strong.differences and not strong.summaries
    assert f"trials/strong-0: its dev rows of task 'mood' {message} they are not those of" in strong.failed[0]
    with pytest.raises(UserError, match="its dev rows of task 'mood'"):
        differences_between({0: Question("mood.accuracy", [two], [one])}, {"mood": MOOD}, tmp_path)


def test_with_one_task_the_overall_score_is_not_tested_twice(tmp_path: Path) -> None:
    results = [train(tmp_path, label, 0, {"mood": skill}) for label, skill in (("plain", 0.7), ("strong", 0.9))]
    found = rank_systems(results, ["plain", "strong"], "plain", TASKS, tmp_path)
    strong = found.systems[0]
    # the other task was not measured
    assert found.measures == ("mood.accuracy", OVERALL) and found.tested == 1
    assert strong.differences[OVERALL] == strong.differences["mood.accuracy"]


def test_the_declared_overall_score_ranks(tmp_path: Path) -> None:
    skills = {"plain": {"mood": 0.7, "like": 0.2}, "strong": {"mood": 0.9, "like": 0.9}}
    results = [train(tmp_path, label, seed, each) for label, each in skills.items() for seed in (0, 1)]
    # by the default, the errors of the similarity task count as much as the other's accuracy
    declared = {"mood.macro_f1": 1.0}
    found = rank_systems(results, list(skills), "plain", TASKS, tmp_path, declared)
    assert list(found.overall) == ["mood.macro_f1"]
    for each in found.systems:
        of = {result.seed: result.scores["mood"]["macro_f1"] for result in results if result.label == each.label}
        assert each.summaries[OVERALL].values == pytest.approx(of)
    strong = next(each for each in found.systems if each.label == "strong")
    means = {each.label: each.summaries[OVERALL].mean for each in found.systems}
    assert strong.differences[OVERALL].value == pytest.approx(means["strong"] - means["plain"])


def test_with_one_task_an_overall_score_of_another_metric_is_tested_by_itself(tmp_path: Path) -> None:
    results = [train(tmp_path, label, 0, {"mood": skill}) for label, skill in (("plain", 0.7), ("strong", 0.9))]
    found = rank_systems(results, ["plain", "strong"], "plain", TASKS, tmp_path, {"mood.macro_f1": 1.0})
    assert found.measures == ("mood.accuracy", OVERALL) and found.tested == 2
    assert found.systems[0].differences[OVERALL] != found.systems[0].differences["mood.accuracy"]
    # a transform of its only number changes no order
    same = {"mood.accuracy": OverallTerm(transform="zero_to_one")}
    assert rank_systems(results, ["plain", "strong"], "plain", TASKS, tmp_path, same).tested == 1


def test_recipes_that_declare_anoverall_caveats_score_are_named() -> None:
    tasks = {"mood": {}, "like": {}}
    base = {"tasks": tasks, "overall": {"mood.accuracy": 1.0, "like.mse": 1.0}}
    fewer = {"tasks": {"mood": {}}, "overall": {"mood.accuracy": 1.0}}
    other = {"tasks": tasks, "overall": {"mood.accuracy": 2.0, "like.mse": 1.0}}
    assert not list(overall_caveats({"base": base, "fewer": fewer, "same": dict(base)}))
    assert list(overall_caveats({"base": base, "fewer": fewer, "other": other})) == [
        "other declares another overall score than base: models were selected by their own one, "
        "and are ranked by that of base."
    ]


def test_a_recipe_of_fewer_tasks_is_compared_on_those_and_not_overall(tmp_path: Path) -> None:
    both = [train(tmp_path, "plain", seed, {"mood": 0.7, "like": 0.3}) for seed in (0, 1)]
    fewer = [train(tmp_path, "strong", seed, {"mood": 0.9}) for seed in (0, 1)]
    found = rank_systems([*both, *fewer], ["strong", "plain"], "plain", TASKS, tmp_path)
    assert [each.label for each in found.systems] == ["plain", "strong"] and found.tested == 1
    assert list(found.systems[1].differences) == list(found.systems[1].summaries) == ["mood.accuracy"]


# ---- groups of runs -----------------------------------------------------------------------------------


def test_a_single_difference_is_the_one_of_the_whole_comparison(
    verdicts: Ranking, comparison: tuple[Path, list[TrialResult]]
) -> None:
    folder, results = comparison
    groups = {label: [each for each in results if each.label == label] for label in SKILLS}
    asked = {
        measure: Question(measure, groups["strong"], groups["plain"][::-1]) for measure in ("mood.accuracy", OVERALL)
    }
    whole = verdicts.systems[0].differences
    for measure, found in differences_between(asked, TASKS, folder).items():
        assert (found.value, found.p_rows) == (pytest.approx(whole[measure].value), whole[measure].p_rows)
        # fewer systems say less about the variance over seeds
        assert found.p > whole[measure].p


def test_gains_and_transfers(comparison: tuple[Path, list[TrialResult]]) -> None:
    folder, results = comparison
    plain, strong = ([each for each in results if each.label == label] for label in ("plain", "strong"))
    failed = [replace(each, state="failed") for each in plain]
    found = sharing_gains({"mood": plain, "like": failed}, strong, TASKS, folder)
    assert [each.task for each in found] == ["mood"] and found[0].difference.result == BETTER
    assert found[0].together.mean - found[0].alone.mean == pytest.approx(found[0].difference.value)
    (moved,) = task_transfers({"mood": strong}, {("like", "mood", "then"): plain}, TASKS, folder)
    assert (moved.source, moved.target, moved.how, moved.difference.result) == ("like", "mood", "then", WORSE)
