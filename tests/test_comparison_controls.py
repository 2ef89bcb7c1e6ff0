"""The constant answer and the untrained backbone in comparisons: their scores, and who does not beat them."""

import csv
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score

from minbert.comparison.budget import Budget
from minbert.comparison.compare import Comparison, ControlsMeasured
from minbert.comparison.conclude import conclude
from minbert.comparison.controls import control_places
from minbert.comparison.engines import Engine, Returned, TrialProgress
from minbert.comparison.fraction_jobs import call_in_process
from minbert.comparison.results import BETTER, NO_EVIDENCE, OVERALL, ComparisonResults, Control, TrialResult
from minbert.comparison.statistics import Evidence, holm_correction, judge_differences
from minbert.comparison.transfer import LabeledRecipe, single_task_recipe
from minbert.comparison.trial import Trial
from minbert.report import write_comparison
from minbert.report.control_sentences import control_sentences
from minbert.runs.directory import read_run
from minbert.runs.outcomes import CONSTANT, PROBE
from minbert.runs.predictions import read_dev_predictions
from minbert.training.prepare import prepare
from tests.browser.samples import difference, whole
from tests.tiny import tiny_backbone
from tests.workbench import demo_recipe, run_all


class InProcess(Engine):
    """Trains in this process, which is quicker than to start others."""

    def call(
        self, function: Callable[..., Returned], arguments: Mapping[str, tuple[Any, ...]]
    ) -> Iterator[tuple[str, Returned | BaseException]]:
        return call_in_process(function, arguments)

    def run(self, trials: Sequence[Trial]) -> Generator[TrialProgress | TrialResult, None, None]:
        for trial in trials:
            yield trial.train(self.comparison, lambda done, total, remaining: None, lambda: None)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_backbone(tmp_path_factory.mktemp("models") / "other", seed=1)


def recipes_of(tiny: Path, other: Path) -> list[LabeledRecipe]:
    plain = LabeledRecipe("plain", demo_recipe(tiny))
    return [
        plain,
        LabeledRecipe("broken", demo_recipe(tiny, "optimizer.learning_rate=10", "optimizer.head_learning_rate=10")),
        LabeledRecipe("other", demo_recipe(other)),
        LabeledRecipe("single", single_task_recipe(plain.recipe, "similarity").recipe),
    ]


def train(folder: Path, recipes: Sequence[LabeledRecipe]) -> list[Any]:
    return list(Comparison(folder, recipes, [0, 1], Budget()).train(InProcess(folder, 1), "plain"))


@pytest.fixture(scope="module")
def compared(tiny: Path, other: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    train(folder, recipes_of(tiny, other))
    return folder


@pytest.fixture
def found(compared: Path) -> ComparisonResults:
    return conclude(compared)


def control(results: ComparisonResults, kind: str, label: str = "plain") -> Control:
    (only,) = (each for each in results.controls if each.kind == kind and label in each.labels)
    return only


def folder_of(compared: Path, kind: str, task: str) -> Path:
    about = read_run(next(path.parent for path in compared.glob("trials/*/run.json")))
    return compared / control_places(about)[kind][task]


def written(compared: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in compared.glob("controls/*/predictions/*.npz")}


# ---- what they score ----------------------------------------------------------------------------------


def test_they_score_as_the_controls_of_a_single_run(found: ComparisonResults, tiny: Path, tmp_path: Path) -> None:
    run_all(demo_recipe(tiny), tmp_path / "run")
    outcomes = read_run(tmp_path / "run")["outcomes"]
    for kind, name in ((CONSTANT, "constant"), (PROBE, "probe")):
        scores = control(found, kind).scores
        # the run computes with single precision
        expected = {f"{task}.{each['metric']}": each[name] for task, each in outcomes.items()}
        assert {measure: scores[measure] for measure in expected} == pytest.approx(expected, abs=1e-6)
        assert scores[OVERALL] == pytest.approx(np.mean([*expected.values()]), abs=1e-6)


def test_the_constant_answer_is_that_of_scikit_learn(compared: Path, found: ComparisonResults, tiny: Path) -> None:
    ready, scores = prepare(demo_recipe(tiny)), control(found, CONSTANT).scores
    for name, split in ready.train.items():
        read = read_dev_predictions(folder_of(compared, CONSTANT, name), name)
        texts, rows = np.zeros((len(split.dataset), 1)), np.zeros((len(read.labels), 1))
        if read.task.kind == "score":
            fitted = DummyRegressor().fit(texts, split.dataset.labels)
            assert read.values == pytest.approx(fitted.predict(rows))
            assert scores[f"{name}.pearson"] == 0
        else:
            fitted = DummyClassifier(strategy="prior").fit(texts, split.dataset.labels)
            assert read.values == pytest.approx(fitted.predict_proba(rows))
            assert scores[f"{name}.accuracy"] == accuracy_score(read.labels, fitted.predict(rows))


def test_another_backbone_is_another_control_with_the_same_constant_answer(found: ComparisonResults) -> None:
    labels = {(each.kind, each.labels) for each in found.controls}
    everything = ("plain", "broken", "other", "single")
    assert {(kind, frozenset(names)) for kind, names in labels} == {
        (CONSTANT, frozenset(everything)),
        # a recipe with some of the tasks shares the control of the others
        (PROBE, frozenset({"plain", "broken", "single"})),
        (PROBE, frozenset({"other"})),
    }
    assert set(control(found, PROBE).differences["single"]) == {"similarity.pearson"}


# ---- what does not beat them --------------------------------------------------------------------------


def test_a_recipe_that_is_worse_than_the_untrained_backbone_is_named(found: ComparisonResults) -> None:
    (broken,) = (each for each in found.systems if each.label == "broken")
    probe = control(found, PROBE)
    for measure, d in probe.differences["broken"].items():
        assert d.value == pytest.approx(broken.summaries[measure].mean - probe.scores[measure], abs=1e-6)
        assert ("broken" in probe.not_beaten_by(measure)) == (d.value <= 0)
    assert probe.differences["broken"][OVERALL].value < 0
    said = [sentence for sentence in control_sentences(found) if "broken" in sentence and "not beat" in sentence]
    places = ("overall score", "on any measure")
    assert any(PROBE in sentence and any(place in sentence for place in places) for sentence in said), said


def test_they_are_a_family_of_their_own(found: ComparisonResults) -> None:
    # three recipes against the baseline: two on three tasks and overall, one on one task
    assert found.tested == 2 * 4 + 1
    tests = [d for each in found.controls for by in each.differences.values() for d in by.values()]
    # three recipes with two controls on four measures, one recipe on one
    assert len(tests) == 2 * (3 * 4 + 1)
    assert [d.corrected for d in tests] == pytest.approx(holm_correction([d.p for d in tests]))
    # of two sides, one varies
    assert {d.effect for d in tests} == {None}


def test_only_the_recipe_varies_over_seeds() -> None:
    values = (0.61, 0.64, 0.66, 0.62)
    evidence = Evidence("a.accuracy", values, (0.6,) * 4, 0.0, 0.0, 1.0, None, None, fixed=True)
    (judged,) = judge_differences([evidence])
    assert judged.p == pytest.approx(stats.ttest_1samp(values, 0.6).pvalue, rel=1e-3)
    low, high = stats.t.interval(0.95, 3, np.mean(values) - 0.6, stats.sem(values))
    assert (judged.low, judged.high) == pytest.approx((low, high), rel=1e-3)
    # the control adds no degrees of freedom and no variance of 0 to that of another recipe
    wide = replace(evidence, left=(0.5, 0.9, 0.6, 0.8))
    assert judge_differences([evidence, wide])[0].high - 0.0325 > 3 * (high - 0.0325)


def test_on_a_single_task_the_overall_score_is_tested_once(tiny: Path, tmp_path: Path) -> None:
    recipe = single_task_recipe(demo_recipe(tiny), "sentiment").recipe
    train(tmp_path, [LabeledRecipe("plain", recipe)])
    for each in conclude(tmp_path).controls:
        by = each.differences["plain"]
        assert by[OVERALL] == by["sentiment.accuracy"]
        assert each.scores[OVERALL] == each.scores["sentiment.accuracy"]


# ---- files --------------------------------------------------------------------------------------------


def test_nothing_is_computed_twice(compared: Path, tiny: Path, other: Path) -> None:
    before = written(compared)
    # of three tasks the constant answer, and two untrained backbones
    assert len(before) == 3 + 6
    assert not [event for event in train(compared, recipes_of(tiny, other)) if isinstance(event, ControlsMeasured)]
    assert written(compared) == before


def test_a_damaged_file_is_missed_and_computed_again(compared: Path, tiny: Path, other: Path) -> None:
    before, scores = written(compared), control(conclude(compared), PROBE).scores
    damaged = folder_of(compared, PROBE, "sentiment") / "predictions/sentiment-dev.npz"
    damaged.write_bytes(damaged.read_bytes()[:-40])
    without = conclude(compared)
    owner = next(each for each in without.controls if each.kind == PROBE and "sentiment.accuracy" not in each.scores)
    assert "paraphrase.accuracy" in owner.scores and OVERALL not in owner.scores
    (caveat,) = (each for each in without.caveats if "sentiment" in each)
    assert caveat.startswith(f"Nothing is compared with {PROBE} on sentiment: ") and "damaged" in caveat
    assert any(isinstance(event, ControlsMeasured) for event in train(compared, recipes_of(tiny, other)))
    assert {path for path, when in written(compared).items() if when != before[path]} == {damaged}
    assert control(conclude(compared), PROBE).scores == scores


def test_a_failure_costs_only_the_controls(tiny: Path, tmp_path: Path) -> None:
    # a file in place of the folder
    (tmp_path / "controls").write_text("", encoding="utf-8")
    recipes = [LabeledRecipe("plain", demo_recipe(tiny)), LabeledRecipe("slow", demo_recipe(tiny, "seed=7"))]
    train(tmp_path, recipes[:1])
    results = conclude(tmp_path)
    assert results.complete and not results.controls
    (caveat,) = results.caveats
    assert caveat.startswith(f"Nothing is compared with {CONSTANT} and {PROBE} on sentiment, paraphrase, similarity: ")
    assert "Error" in caveat and control_sentences(results) == ()
    (tmp_path / "controls").unlink()
    train(tmp_path, recipes[:1])
    assert len(conclude(tmp_path).controls) == 2 and not conclude(tmp_path).caveats


# ---- pages --------------------------------------------------------------------------------------------


def with_controls(outcomes: Mapping[str, tuple[float, str]], kinds: Sequence[str] = (CONSTANT, PROBE)) -> Any:
    """The sample comparison with controls; the difference of each recipe from them, and what is known of it."""
    results = whole()
    controls = tuple(
        Control(
            kind,
            tuple(each.label for each in results.systems),
            dict.fromkeys(results.measures, 0.4),
            {
                each.label: {
                    name: difference(*outcomes.get(each.label.split()[0], (0.1, BETTER))) for name in results.measures
                }
                for each in results.systems
            },
        )
        for kind in kinds
    )
    return replace(results, controls=controls)


def test_sentences_are_grouped() -> None:
    assert control_sentences(with_controls({"low": (-0.1, NO_EVIDENCE), "smart": (0.1, NO_EVIDENCE)})) == (
        f"“low rank” does not beat {CONSTANT} or {PROBE} on any measure.",
        f"smart is not clearly better than {CONSTANT} or {PROBE} on any measure (the corrected interval includes 0).",
    )
    names = [each.label.split()[0] for each in whole().systems]
    assert control_sentences(with_controls(dict.fromkeys(names, (0.0, NO_EVIDENCE)), [PROBE])) == (
        f"No recipe beats {PROBE} on any measure.",
    )
    assert control_sentences(with_controls({})) == (
        f"Every recipe is clearly better than {CONSTANT} and {PROBE} on every measure.",
    )
    assert control_sentences(whole()) == ()


def test_the_pages_have_the_controls(tmp_path: Path) -> None:
    write_comparison(with_controls({"frozen": (-0.1, NO_EVIDENCE)}), tmp_path)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| untrained backbone | 0.400 −0.100" in text.replace("▼ ", "")
    assert "“frozen encoder” does not beat the constant answer or the untrained backbone on any measure." in text
    assert "corrected among themselves" in text
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("untrained backbone") > 5
    with (tmp_path / "results.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["recipe"] == "constant answer"]
    assert [(row["measure"], row["seeds"], row["mean"]) for row in rows][-1] == (OVERALL, "0", "0.4")
    with (tmp_path / "tables/controls.csv").open(encoding="utf-8") as file:
        verdicts = {(row["recipe"], row["result"]) for row in csv.DictReader(file)}
    assert ("frozen encoder", "not beaten") in verdicts and ("smart", "better") in verdicts
