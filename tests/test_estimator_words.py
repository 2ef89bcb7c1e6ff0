"""What users of an estimator read and write: its own parameters and labels, and warnings that matter to them."""

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import minbert
from minbert.python.wording import for_estimators
from tests.test_estimators import MOODS, SCORES, TEXTS, made


def warned(estimator: Any, X: Any, y: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    return [str(each.message) for each in caught]


# ---- warnings -----------------------------------------------------------------------------------------


def test_a_fit_says_nothing_about_its_dev_rows(tiny: Path) -> None:
    said = warned(made(minbert.Classifier, tiny), TEXTS, MOODS)
    assert not [each for each in said if "dev" in each or "label" in each.replace("labeled", "")], said


def test_long_and_empty_texts_are_warned_about_in_the_words_of_the_estimator(tiny: Path) -> None:
    long = [text + " word" * 60 for text in TEXTS]
    said = warned(made(minbert.Classifier, tiny, max_length=16), [*long, ""], [*MOODS, "bad"])
    assert "1 of 41 rows of X has an empty text and is not learned from" in said
    (cut,) = [each for each in said if "truncated" in each]
    assert re.fullmatch(r"100% of the training rows are truncated at 16 tokens; to read more: max_length=\d+", cut)


def test_a_model_that_does_not_beat_a_control_is_one_warning_of_a_search(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # of whatever tests have warned before
    monkeypatch.setattr("minbert.python.user_warning.SHOWN", set())
    noise = [i * 7 % 10 < 3 for i in range(40)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        cross_val_score(made(minbert.Classifier, tiny), [f"film {i}" for i in range(40)], noise, cv=4)
    said = [str(each.message) for each in caught]
    assert said and len(said) == len(set(said)), said
    assert all(each.startswith("This Classifier does not beat ") for each in said)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y: to read more: --set tasks.y.max_length=512", "to read more: max_length=512"),
        ("(--set tasks.TASK.batch_size=..., tasks.TASK.head=...)",
         '(batch_size=..., settings={"tasks.y.head": ...})'),
        ("rate 1e-4 (--set optimizer.learning_rate=...)", "rate 1e-4 (learning_rate=...)"),
        ("such as --set backbone=bert-multilingual (`minbert models`)",
         'such as backbone="bert-multilingual" (`minbert models`)'),
        ("For example: --set seed=1", "For example: random_state=1"),
        ("Fix these rows, or skip them with --skip-bad-rows.", "Fix these rows."),
    ],
)  # fmt: skip
def test_settings_are_parameters(before: str, after: str) -> None:
    assert for_estimators(before) == after


def test_a_text_that_cannot_be_read(tiny: Path) -> None:
    with pytest.raises(minbert.UserError, match=r"^X and y, row 3: 'text' has a NUL character\nFix these rows\. Rows"):
        made(minbert.Classifier, tiny).fit([*TEXTS[:3], "a\x00b", *TEXTS[4:]], MOODS)


# ---- parameters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "parameters", "said"),
    [
        (minbert.Classifier, {"learning_rate": 0}, "learning_rate is a number above 0, not 0."),
        (minbert.Classifier, {"learning_rate": "fast"}, "learning_rate is a number above 0, not 'fast'."),
        (minbert.Classifier, {"batch_size": 0}, "batch_size is a whole number of at least 1, not 0."),
        (minbert.Classifier, {"batch_size": 1.5}, "batch_size is a whole number of at least 1, not 1.5."),
        (minbert.Classifier, {"max_length": 4}, "max_length is at least 8 (tokens), not 4."),
        (minbert.Classifier, {"random_state": -1}, "random_state is a whole number of at least 0, not -1."),
        (minbert.Classifier, {"metric": "f2"}, "metric is one of accuracy, macro_f1, f1, log_loss, not 'f2'."),
        (minbert.Classifier, {"metric": 1}, "metric is one of accuracy, macro_f1, f1, log_loss, not 1."),
        (minbert.Regressor, {"metric": "f1"}, "not 'f1'; that is a metric of Classifier."),
        (minbert.Classifier, {"learning_rate": 1e-4, "settings": {"optimizer.learning_rate": 5e-5}},
         "learning_rate is given twice: as a parameter, and by settings['optimizer.learning_rate']."),
        (minbert.Classifier, {"learning_rate": 1e-4, "settings": {"optimizer": {"learning_rate": 5e-5}}},
         "learning_rate is given twice"),
        (minbert.Classifier, {"max_length": 32, "settings": {"tasks.y.max_length": 16}},
         "max_length is given twice"),
        (minbert.Classifier, {"random_state": 1, "settings": {"seed": 2}}, "random_state is given twice"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_answered_with_the_next_step(kind: Any, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(minbert.UserError, match=re.escape(said)) as caught:
        kind(**parameters).fit(TEXTS, MOODS if kind is minbert.Classifier else SCORES)
    assert caught.value.next_step
    assert "optimizer'" not in caught.value.problem.replace("settings['optimizer']", "")


def test_a_regressor_has_its_own_parameters() -> None:
    with pytest.raises(TypeError, match=r"^Regressor\.__init__\(\)"):
        minbert.Regressor(class_weight="balanced")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "metric", "y"), [(minbert.Classifier, "macro_f1", MOODS), (minbert.Regressor, "mae", SCORES)]
)
def test_the_metric_chooses_the_model(kind: Any, metric: str, y: Any, tiny: Path) -> None:
    assert made(kind, tiny, metric=metric).fit(TEXTS, y).run_.outcomes["y"].metric == metric


# ---- labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [["neg", "pos"], [False, True], [-1, 3], [2.0, 5.0], ["1", "01"]])
def test_the_run_has_the_labels_of_y(classes: list[Any], tiny: Path) -> None:
    y = [classes[i % 2] for i in range(40)]
    run = made(minbert.Classifier, tiny).fit(TEXTS, y).run_
    assert isinstance(run, minbert.Run)
    (found,) = run.predict("y", TEXTS[:1])
    assert found.probabilities is not None and sorted(found.probabilities) == sorted(classes)
    assert {type(each) for each in found.probabilities} == {type(classes[0])}
    answer = run.outcomes["y"].constant_answer
    assert (
        isinstance(answer, dict) and sorted(answer) == sorted(classes) and type(next(iter(answer))) is type(classes[0])
    )
    rows = [{"text": text, "y": label} for text, label in zip(TEXTS, y, strict=True)]
    assert 0 <= run.evaluate(rows)["y"]["accuracy"] <= 1


def test_classes_that_files_cannot_tell_apart(tiny: Path) -> None:
    y = np.array(["True", "true"] * 20)
    classifier = made(minbert.Classifier, tiny).fit(TEXTS, y)
    assert set(classifier.predict(TEXTS)) <= {"True", "true"}
    assert set(classifier.run_.outcomes["y"].constant_answer) == {"True", "true"}


# ---- files --------------------------------------------------------------------------------------------


def test_a_run_that_is_thrown_away_has_no_curves(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        for name in ("matplotlib.figure", "matplotlib.backends.backend_agg", "tensorboardX"):
            without.setitem(sys.modules, name, None)
        path = made(minbert.Classifier, tiny).fit(TEXTS, MOODS).run_.path
    assert not (path / "curves.png").exists() and not (path / "events").exists()
    kept = made(minbert.Classifier, tiny, out=tmp_path / "run").fit(TEXTS, MOODS).run_.path
    assert (kept / "curves.png").is_file() and (kept / "events").is_dir()
