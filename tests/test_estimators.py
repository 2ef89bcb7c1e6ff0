"""minbert.Classifier and minbert.Regressor do what scikit-learn expects of an estimator.

scikit-learn's own checks run in test_sklearn_checks.py, with numbers written as texts. Here are the same contracts with
texts and pairs, what the checks cannot know (run directories, messages), and what users combine estimators with.
"""

import copy
import gc
import pickle
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

import minbert

TEXTS = [f"{'a great' if i % 2 else 'an awful'} film number {i}" for i in range(40)]
MOODS = ["good" if i % 2 else "bad" for i in range(40)]
SCORES = [float(i % 2) * 10 - 3 for i in range(40)]
SHORT = {"stages": [{"epochs": 1, "steps_per_epoch": 2}]}
BOTH = [minbert.Classifier, minbert.Regressor]

both = pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.__name__)


def made(kind: type[Any], tiny: Path, **more: Any) -> Any:
    return kind(backbone=tiny, settings=SHORT, **more)


def target(kind: type[Any]) -> list[Any]:
    return MOODS if kind is minbert.Classifier else SCORES


def outputs(estimator: Any, texts: Any) -> np.ndarray[Any, Any]:
    """The numbers behind the predictions."""
    found = estimator.predict_proba(texts) if is_classifier(estimator) else estimator.predict(texts)
    return np.asarray(found)


@pytest.fixture(scope="module")
def fitted(tiny: Path) -> dict[type[Any], Any]:
    return {kind: made(kind, tiny).fit(TEXTS, target(kind)) for kind in BOTH}


# ---- scikit-learn's own checks ------------------------------------------------------------------------


@estimator_checks.parametrize_with_checks([kind() for kind in BOTH])
def test_the_checks_that_scikit_learn_chooses(estimator: Any, check: Any) -> None:
    check(estimator)


# ---- and what they check, with texts ------------------------------------------------------------------


@both
def test_fit_and_predict_change_no_parameters(kind: type[Any], tiny: Path) -> None:
    estimator = made(kind, tiny)
    before = dict(estimator.get_params())
    assert estimator.fit(TEXTS, target(kind)) is estimator
    assert estimator.get_params() == before and all(estimator.get_params()[name] is before[name] for name in before)
    state = dict(vars(estimator))
    estimator.predict(TEXTS[:3])
    assert vars(estimator) == state
    public = {name for name in state if not name.startswith("_")} - set(before)
    assert all(name.endswith("_") for name in public)


@both
def test_an_unfitted_estimator_says_so(kind: type[Any], tiny: Path, fitted: dict[type[Any], Any]) -> None:
    estimator = made(kind, tiny)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    with pytest.raises(NotFittedError, match="call fit"):
        estimator.predict(TEXTS)
    check_is_fitted(fitted[kind])
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(fitted[kind]))


@both
def test_the_same_seed_gives_the_same_model(kind: type[Any], tiny: Path, fitted: dict[type[Any], Any]) -> None:
    again = clone(fitted[kind]).fit(np.array(TEXTS), np.array(target(kind)))
    assert np.array_equal(outputs(again, TEXTS), outputs(fitted[kind], TEXTS))
    again.fit(TEXTS, target(kind))
    assert np.array_equal(outputs(again, TEXTS), outputs(fitted[kind], TEXTS))
    other = clone(again).set_params(random_state=1).fit(TEXTS, target(kind))
    assert not np.array_equal(outputs(other, TEXTS), outputs(again, TEXTS))


@both
def test_a_prediction_does_not_depend_on_the_other_rows(kind: type[Any], fitted: dict[type[Any], Any]) -> None:
    whole = outputs(fitted[kind], TEXTS)
    assert np.allclose(outputs(fitted[kind], TEXTS[::-1])[::-1], whole, atol=1e-6)
    assert np.allclose(np.concatenate([outputs(fitted[kind], [text]) for text in TEXTS]), whole, atol=1e-6)


def test_classes_probabilities_and_score(fitted: dict[type[Any], Any]) -> None:
    classifier = fitted[minbert.Classifier]
    assert is_classifier(classifier) and not is_regressor(classifier)
    assert classifier.classes_.tolist() == ["bad", "good"]
    found = classifier.predict_proba(TEXTS)
    assert found.shape == (40, 2) and found.dtype == np.float64
    # without a warning that they do not sum to one
    log_loss(MOODS, found)
    assert classifier.predict(TEXTS).tolist() == classifier.classes_[found.argmax(1)].tolist()
    assert classifier.score(TEXTS, MOODS) == accuracy_score(MOODS, classifier.predict(TEXTS))


@pytest.mark.parametrize("classes", [[True, False], [3, -1], [2.0, 5.0], ["a", "b"], ["1", "01"]])
def test_classes_come_back_as_they_were(classes: list[Any], tiny: Path) -> None:
    y = np.array([classes[i % 2] for i in range(40)])
    classifier = made(minbert.Classifier, tiny).fit(TEXTS, y)
    assert classifier.classes_.tolist() == sorted(set(classes))
    found = classifier.predict(TEXTS)
    assert found.dtype == y.dtype and set(found.tolist()) <= set(classes)


def test_a_regressor_predicts_within_the_range_it_has_seen(fitted: dict[type[Any], Any]) -> None:
    regressor = fitted[minbert.Regressor]
    assert is_regressor(regressor)
    found = regressor.predict(TEXTS)
    assert found.shape == (40,) and found.min() >= -3 and found.max() <= 7
    assert regressor.score(TEXTS, SCORES) == pytest.approx(r2_score(SCORES, found))


@both
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ("one text", ["a"]),
        ([1.5, 2.5], [0, 1]),
        (np.zeros((4, 3)), [0, 1, 0, 1]),
        (np.zeros((2, 2)), [0, 1]),
        ([["a", "b"], ["c"]], [0, 1]),
        (["a", None], [0, 1]),
        (["a", "b"], None),
        (["a", "b"], [0, 1, 2]),
        (["a", "b"], [[0, 1], [1, 0]]),
        (["a", "b"], [0, float("nan")]),
        ([], []),
        (5, [1]),
    ],
)
def test_wrong_input_is_a_value_error(kind: type[Any], X: Any, y: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(ValueError):
        kind(out=out).fit(X, y)
    assert not out.exists()


def test_targets_that_are_no_classes(fitted: dict[type[Any], Any]) -> None:
    with pytest.raises(ValueError, match="Unknown label type"):
        minbert.Classifier().fit(["a", "b"], [0.5, 1.5])
    with pytest.raises(ValueError, match="at least two classes"):
        minbert.Classifier().fit(["a", "b"], ["x", "x"])
    with pytest.raises(
        ValueError, match=r"X has a pair of texts per row; this model was fitted on one text\.\nGive one text per row\."
    ):
        fitted[minbert.Classifier].predict([("a", "b")])
    assert fitted[minbert.Classifier].predict([]).shape == (0,)


def test_they_learn_with_the_settings_that_are_chosen_for_the_data(tiny: Path) -> None:
    classifier = minbert.Classifier(backbone=str(tiny)).fit(TEXTS, MOODS)
    assert classifier.score(TEXTS, MOODS) > 0.9
    regressor = minbert.Regressor(backbone=str(tiny)).fit(TEXTS, SCORES)
    assert regressor.score(TEXTS, SCORES) > 0.5
    assert "Classifier" in classifier._repr_html_()


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (["a", "b"] * 20, ["x", "y"] * 20, "X has too few different texts"),
        ([""] * 20, ["x", "y"] * 10, "All texts in X are empty"),
        (["a", "b"], ["x", "x"], "y has 1 class: 'x'.\nAdd rows of other classes."),
        (["a", np.nan], ["x", "y"], "row 1, counting from 0, is nan.\nLeave out rows without a text"),
        (["a", "b"], pandas.Series([pandas.NA, "y"], dtype="string"), "y contains NaN: row 0, counting from 0."),
        (["a", "b"], np.array([1, "y"], dtype=object), "y mixes values of the types int, str"),
        # NumPy alone makes strings of these
        (["a", "b"], [1, "y"], "y mixes values of the types int, str"),
        (["a", "b"], ["y", np.nan], "y contains NaN: row 1, counting from 0."),
        (["a", "b"], ("y", None), "y contains NaN: row 1, counting from 0."),
        (["a", "b"], "xy", "y should be a 1d array, got a value of type str instead."),
        (["a", "b"], [["x", "y"]] * 2, "y should be a 1d array, got an array of shape (2, 2) instead."),
        (["a", "b"], ["x"], "X has 2 rows and y has 1."),
        (np.zeros((4, 0)), ["x", "y"] * 2, "this array has the shape (4, 0)."),
        (pandas.DataFrame([["a", "b", "c"]] * 2), ["x", "y"], "this table has the columns 0, 1, 2."),
    ],
)
def test_wrong_input_is_answered_with_the_next_step(X: Any, y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        minbert.Classifier().fit(X, y)
    assert isinstance(caught.value, minbert.UserError) and caught.value.next_step
    assert "jsonl" not in str(caught.value)


def test_a_regressor_needs_numbers() -> None:
    with pytest.raises(ValueError, match=r"y holds 'good', not a number\.\nminbert\.Classifier learns classes"):
        minbert.Regressor().fit(["a", "b"], ["good", "bad"])


@pytest.mark.parametrize("y", [np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), np.array([1j, 2.0])])
def test_a_regressor_makes_no_numbers_of_other_values(y: Any) -> None:
    with pytest.raises(ValueError, match=r"y holds values of type (datetime64\[D\]|complex128), not numbers"):
        minbert.Regressor().fit(["a", "b"], y)


def test_a_target_of_one_column_is_read_with_a_warning(tiny: Path) -> None:
    with pytest.warns(DataConversionWarning, match="column-vector"):
        classifier = made(minbert.Classifier, tiny).fit(TEXTS, pandas.DataFrame({"mood": MOODS}))
    assert classifier.classes_.tolist() == ["bad", "good"]


def test_scores_that_are_all_equal_are_learned_without_a_word_of_matplotlib(tiny: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "This Regressor does not beat")
        assert set(made(minbert.Regressor, tiny).fit(TEXTS, [3.0] * 40).predict(TEXTS[:3])) <= {3.0}


@pytest.mark.parametrize(
    "y",
    [
        pandas.Series([i % 2 for i in range(40)], dtype=object),
        pandas.Series([i % 2 for i in range(40)], dtype="Int64"),
        pandas.Series([i % 2 == 1 for i in range(40)], dtype=object),
        pandas.Series(MOODS, dtype="category"),
        pandas.Series(MOODS, dtype="string"),
        polars.Series(MOODS),
    ],
    ids=["objects", "nullable", "booleans", "categories", "strings", "polars"],
)
def test_targets_of_data_frames_are_scored(y: Any, tiny: Path) -> None:
    classifier = made(minbert.Classifier, tiny).fit(polars.Series(TEXTS), y)
    assert 0 <= classifier.score(TEXTS, y.to_numpy().tolist()) <= 1
    assert set(classifier.classes_) == set(y)


# ---- parameters ---------------------------------------------------------------------------------------


def test_parameters_are_settings_of_the_recipe(tiny: Path) -> None:
    chosen = {"learning_rate": 0.002, "batch_size": 7, "max_length": 24}
    recipe = made(minbert.Classifier, tiny, **chosen).fit(TEXTS, MOODS).run_.about["recipe"]
    plan = recipe["tasks"]["y"]
    assert (recipe["optimizer"]["learning_rate"], plan["batch_size"], plan["max_length"]) == (0.002, 7, 24)


def test_class_weights_are_those_of_scikit_learn(tiny: Path) -> None:
    def weights_of(given: Any) -> Any:
        run = made(minbert.Classifier, tiny, class_weight=given).fit(TEXTS, MOODS).run_
        return run.about["recipe"]["tasks"]["y"]["task"].get("class_weights")

    assert weights_of({"good": 3}) == [1.0, 3.0] and weights_of(None) is None
    # as many rows of each
    assert weights_of("balanced") == [1.0, 1.0]
    with pytest.raises(ValueError, match="The classes are 'bad', 'good'"):
        minbert.Classifier(class_weight={"ugly": 2}).fit(TEXTS, MOODS)
    for wrong in (-1, "x", None, float("inf")):
        with pytest.raises(minbert.UserError, match="class_weight of 'good' is a number of at least 0, not"):
            minbert.Classifier(class_weight={"good": wrong}).fit(TEXTS, MOODS)  # type: ignore[dict-item]
    with pytest.raises(minbert.UserError, match="0 for each class"):
        minbert.Classifier(class_weight={"good": 0, "bad": 0}).fit(TEXTS, MOODS)
    # batches without any weight teach nothing, and stop nothing
    assert made(minbert.Classifier, tiny, class_weight={"good": 0}, batch_size=1).fit(TEXTS, MOODS).run_.scores


def test_a_random_state_is_a_number_a_generator_or_none(tiny: Path) -> None:
    def seed_with(random_state: Any) -> int:
        return int(made(minbert.Classifier, tiny, random_state=random_state).fit(TEXTS, MOODS).run_.about["seed"])

    assert seed_with(np.int64(3)) == 3
    assert seed_with(np.random.RandomState(1)) == np.random.RandomState(1).randint(2**31 - 1)
    assert seed_with(np.random.default_rng(1)) == np.random.default_rng(1).integers(2**31)
    assert seed_with(None) != seed_with(None)
    with pytest.raises(ValueError, match="random_state is a number"):
        minbert.Classifier(random_state="0").fit(TEXTS, MOODS)


def test_verbose_shows_progress_and_scores(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(minbert.Classifier, tiny).fit(TEXTS, MOODS)
    quiet = capsys.readouterr()
    assert not quiet.out and not quiet.err
    made(minbert.Classifier, tiny, verbose=True).fit(TEXTS, MOODS)
    said = capsys.readouterr()
    assert "y: 36 training rows" in said.err and "loss y 0." in said.err
    assert re.search(r"^y +accuracy", said.out, re.MULTILINE) and "label" not in said.out + said.err


def test_the_run_of_an_estimator_is_a_run(fitted: dict[type[Any], Any]) -> None:
    run = fitted[minbert.Classifier].run_
    assert isinstance(run, minbert.Run) and run.evaluate() == run.scores


# ---- pairs, pickles, pipelines ------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["tuples", "array", "frame"])
def test_pairs_of_texts(form: str, tiny: Path) -> None:
    pairs: Any = [(text, f"a book {i}") for i, text in enumerate(TEXTS)]
    if form == "array":
        pairs = np.array(pairs)
    elif form == "frame":
        pairs = pandas.DataFrame(pairs)
    regressor = made(minbert.Regressor, tiny).fit(pairs, SCORES)
    assert regressor.predict(pairs[:5]).shape == (5,)


@both
def test_a_pickle_has_the_model_in_it(kind: type[Any], tiny: Path, tmp_path: Path) -> None:
    estimator = made(kind, tiny).fit(TEXTS, target(kind))
    expected, run = outputs(estimator, TEXTS), estimator.run_.path
    stored = pickle.dumps(estimator)
    assert run.is_dir()
    del estimator
    gc.collect()
    assert not run.exists()
    back = pickle.loads(stored)
    assert np.array_equal(outputs(back, TEXTS), expected) and back.run_.path != run
    assert back.run_.scores
    assert np.array_equal(outputs(pickle.loads(pickle.dumps(back)), TEXTS), expected)
    assert pickle.loads(pickle.dumps(made(kind, tiny))).get_params() == made(kind, tiny).get_params()


def test_the_run_stays_where_it_was_asked_for(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    classifier = made(minbert.Classifier, tiny, out=out).fit(TEXTS, MOODS)
    expected = classifier.predict_proba(["a film"])[0]
    assert classifier.run_.path == out
    del classifier
    gc.collect()
    probabilities = minbert.load(out).predict("y", ["a film"])[0].probabilities
    assert probabilities is not None and list(probabilities) == ["bad", "good"]
    assert list(probabilities.values()) == pytest.approx(expected)
    made(minbert.Classifier, tiny, out=out).fit(TEXTS[:20], MOODS[:20])
    (file,) = (out / "data").iterdir()
    assert len(file.read_text().splitlines()) == 20


def test_a_failed_fit_leaves_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(minbert.UserError, match="backbone"):
        minbert.Classifier(backbone="/nowhere").fit(TEXTS, MOODS)
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_deleted_cannot_be_pickled(tiny: Path, tmp_path: Path) -> None:
    classifier = made(minbert.Classifier, tiny, out=tmp_path / "run").fit(TEXTS, MOODS)
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(minbert.UserError, match="was deleted"):
        pickle.dumps(classifier)
    assert classifier.predict(TEXTS).shape == (40,)
    (tmp_path / "run").write_text("mine")
    with pytest.raises(ValueError, match="a run is a directory"):
        classifier.fit(TEXTS, MOODS)


def test_pipelines_and_searches(tiny: Path) -> None:
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(lower, "passthrough", made(minbert.Classifier, tiny))
    grid = {"classifier__learning_rate": [1e-4, 0.01], "classifier__random_state": [1]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(TEXTS, MOODS)
    best = search.best_params_
    assert best["classifier__random_state"] == 1 and not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.best_estimator_[-1].get_params()["learning_rate"] == best["classifier__learning_rate"]
    assert set(search.predict(TEXTS)) <= {"bad", "good"}
    assert len(cross_val_score(made(minbert.Regressor, tiny), TEXTS, SCORES, cv=2)) == 2


def test_scorers_need_columns_with_any_index_and_probabilities(tiny: Path) -> None:
    frame = pandas.DataFrame({"text": TEXTS, "mood": MOODS}, index=range(100, 140))
    classifier = made(minbert.Classifier, tiny)
    found = cross_validate(classifier, frame["text"], frame["mood"], cv=2, scoring=["accuracy", "roc_auc"])
    assert not np.isnan([*found["test_accuracy"], *found["test_roc_auc"]]).any()
    calibrated = CalibratedClassifierCV(classifier, cv=2).fit(frame[["text"]], frame["mood"])
    assert calibrated.predict_proba(frame[["text"]]).shape == (40, 2)
    voting = VotingClassifier([("a", classifier), ("b", clone(classifier))], voting="soft").fit(TEXTS, MOODS)
    assert set(voting.predict(TEXTS)) <= {"bad", "good"}


@both
def test_joblib_and_copies(kind: type[Any], fitted: dict[type[Any], Any], tmp_path: Path) -> None:
    joblib.dump(fitted[kind], tmp_path / "model.joblib")
    for again in (joblib.load(tmp_path / "model.joblib"), copy.deepcopy(fitted[kind])):
        assert np.array_equal(outputs(again, TEXTS), outputs(fitted[kind], TEXTS))
        assert again.run_.path != fitted[kind].run_.path


@both
def test_what_is_not_offered_is_refused(kind: type[Any]) -> None:
    with pytest.raises(TypeError, match="sample_weight"):
        kind().fit(TEXTS, target(kind), sample_weight=np.ones(40))
    with pytest.raises(TypeError, match=f"{kind.__name__}.__init__.. got an unexpected keyword argument 'lr'"):
        kind(lr=1)


def test_a_budget_for_each_fit(tiny: Path) -> None:
    classifier = made(minbert.Classifier, tiny, budget=30).fit(TEXTS, MOODS)
    assert classifier.run_.about["budget"]["seconds"] == 30


def test_rows_with_empty_texts_are_not_learned_from(tiny: Path) -> None:
    classifier = made(minbert.Classifier, tiny).fit([*TEXTS, ""], [*MOODS, "bad"])
    assert classifier.predict(["", "a film"]).shape == (2,)


# ---- without scikit-learn -----------------------------------------------------------------------------


def test_estimators_work_without_scikit_learn(tiny: Path, fitted: dict[type[Any], Any]) -> None:
    code = f"""
import sys
sys.modules["sklearn"] = None
import pickle, minbert
for kind, y in ((minbert.Classifier, {MOODS!r}), (minbert.Regressor, {SCORES!r})):
    estimator = kind(backbone={str(tiny)!r}).set_params(settings={SHORT!r})
    try:
        estimator.predict(["a"])
    except ValueError as wrong:
        assert "not fitted" in str(wrong)
    estimator.fit({TEXTS!r}, y)
    back = pickle.loads(pickle.dumps(estimator))
    assert back.get_params() == estimator.get_params() and back.run_.path != estimator.run_.path
    print(back.score({TEXTS!r}, y))
print(minbert.Classifier(random_state=3))
try:
    estimator.set_params(sead=1)
except ValueError as wrong:
    print(wrong)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second, shown, wrong = done.stdout.splitlines()
    assert float(first) == fitted[minbert.Classifier].score(TEXTS, MOODS)
    assert float(second) == pytest.approx(fitted[minbert.Regressor].score(TEXTS, SCORES))
    assert shown == "Classifier(random_state=3)" and "no parameter 'sead'" in wrong
