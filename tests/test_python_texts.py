"""Texts as pandas, polars, Arrow, Hugging Face and NumPy hold them: one prediction for each row."""

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import minbert
from tests.test_python import PAIRS, ROWS, train

TEXTS = [row["review"] for row in ROWS]


@pytest.fixture(scope="module")
def run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> minbert.Run:
    """A task of one text, in the column 'review', and a task of pairs, in 'text1' and 'text2'."""
    return train({"mood": ROWS, "closeness": PAIRS}, tmp_path_factory.mktemp("runs") / "run", tiny)


def frames(columns: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        "pandas": pandas.DataFrame(columns),
        "polars": polars.DataFrame(columns),
        "lazy": polars.LazyFrame(columns),
        "arrow": pa.table(columns),
        "dataset": datasets.Dataset.from_dict(columns),
        "formatted dataset": datasets.Dataset.from_dict(columns).with_format("pandas"),
        "dict": columns,
        "dicts": pandas.DataFrame(columns).to_dict("records"),
    }


@pytest.mark.parametrize("library", list(frames({"x": []})))
def test_a_table_is_one_text_per_row(library: str, run: minbert.Run) -> None:
    expected = run.predict("mood", TEXTS)
    # its only column, or the task's own among others
    assert run.predict("mood", frames({"anything": TEXTS})[library]) == expected
    assert run.predict("mood", frames({"id": list(range(40)), "review": TEXTS})[library]) == expected
    vectors = run.model.embed(frames({"anything": TEXTS})[library])
    assert vectors.shape == (40, 32) and np.array_equal(vectors, run.model.embed(TEXTS))
    with pytest.raises(minbert.UserError, match=r"has the columns a, b\.\nPick the column .*: df\[\"a\"\]"):
        run.predict("mood", frames({"a": TEXTS, "b": TEXTS})[library])


@pytest.mark.parametrize("library", list(frames({"x": []})))
def test_a_table_of_two_columns_holds_pairs(library: str, run: minbert.Run) -> None:
    first, second = ([pair[i] for pair in PAIRS] for i in (0, 1))
    expected = run.predict("closeness", [pair[:2] for pair in PAIRS])
    assert run.predict("closeness", frames({"a": first, "b": second})[library]) == expected
    # by their names, whatever their order
    named = {"text2": second, "other": first, "text1": first}
    assert run.predict("closeness", frames(named)[library]) == expected


@pytest.mark.parametrize(
    "given",
    [
        np.array(TEXTS),
        np.array(TEXTS)[:, None],
        pandas.Series(TEXTS, index=range(100, 140)),
        polars.Series(TEXTS),
        pa.array(TEXTS),
        datasets.Dataset.from_dict({"x": TEXTS})["x"],
        (text for text in TEXTS),
        [(text,) for text in TEXTS],
    ],
    ids=["array", "column", "pandas", "polars", "arrow", "dataset", "generator", "tuples"],
)
def test_columns_of_texts(given: Any, run: minbert.Run) -> None:
    assert run.predict("mood", given) == run.predict("mood", TEXTS)


def test_pairs_in_an_array(run: minbert.Run) -> None:
    pairs = [pair[:2] for pair in PAIRS]
    assert run.predict("closeness", np.array(pairs)) == run.predict("closeness", pairs)
    assert run.predict("closeness", []) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("a text", "Put it into a list"),
        (5, "not a int"),
        ([1], "row 0, counting from 0, is 1.\nTexts are strings"),
        (["a", float("nan")], "row 1, counting from 0, is nan.\nLeave out rows without a text"),
        (["a", pandas.NA], "row 1, counting from 0, is <NA>.\nLeave out rows without a text"),
        ([("a", "b")], "reads one text per row, not 2."),
        (np.zeros((2, 2, 2)), "this array has the shape (2, 2, 2)."),
    ],
)
def test_what_holds_no_texts(given: Any, said: str, run: minbert.Run) -> None:
    for ask in (lambda: run.predict("mood", given), lambda: run.model.embed(given)):
        with pytest.raises(minbert.UserError) as caught:
            ask()
        assert said in str(caught.value)


def test_a_model_shows_its_tasks(run: minbert.Run) -> None:
    assert repr(run.model) == "Predictor(tasks: mood, closeness)"
    with pytest.raises(minbert.UserError, match="precision is 'auto', 'fp32' or 'bf16'"):
        minbert.load(run.path, precision="fp8")  # type: ignore[arg-type]


# ---- labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [[1, 0], [True, False], ["1", "0"], ["yes", "no"], [1.0, 2.0], [0, "yes"]])
def test_labels_have_the_type_that_they_have_in_the_data(labels: list[Any], tmp_path: Path, tiny: Path) -> None:
    rows = [{"text": f"a film number {i}", "label": labels[i % 2]} for i in range(40)]
    run = train({"x": rows}, tmp_path / "run", tiny)
    loaded = minbert.load(run.path).predict("x", ["a film"])[0]
    assert loaded.probabilities is not None and loaded.label in loaded.probabilities
    assert {(type(label), label) for label in loaded.probabilities} == {(type(label), label) for label in labels}
    assert run.evaluate() == run.scores


def test_nullable_numbers_of_pandas_are_numbers(tmp_path: Path, tiny: Path) -> None:
    frame = pandas.DataFrame({"text": TEXTS, "label": pandas.array([i % 2 for i in range(40)], dtype="Int64")})
    predicted = [each.label for each in train({"x": frame}, tmp_path / "run", tiny).predict("x", frame)]
    assert {type(label) for label in predicted} == {int} and (frame["label"] == predicted).mean() >= 0.5
    table = pandas.DataFrame(minbert.Run(tmp_path / "run").predict("x", frame))
    assert table["label"].tolist() == predicted


SIZES = ["small", "medium", "large", "huge"]


def declared(library: str, values: list[str]) -> Any:
    """Sizes in an order that is not the alphabet's; no row is huge."""
    columns: dict[str, Any] = {"text": TEXTS, "size": values}
    if library == "pandas":
        return pandas.DataFrame(columns).astype({"size": pandas.CategoricalDtype(SIZES, ordered=True)})
    if library == "polars":
        return polars.DataFrame(columns, schema_overrides={"size": polars.Enum(SIZES)})
    features = datasets.Features({"text": datasets.Value("string"), "size": datasets.ClassLabel(names=SIZES)})
    return datasets.Dataset.from_dict(columns, features)


@pytest.mark.parametrize("library", ["pandas", "polars", "datasets"])
@pytest.mark.filterwarnings("ignore:x. no training row has the label huge")
def test_the_declared_order_of_classes_is_kept(library: str, tmp_path: Path, tiny: Path) -> None:
    run = train({"x": declared(library, [SIZES[i % 3] for i in range(40)])}, tmp_path / "run", tiny, label="size")
    assert run.about["recipe"]["tasks"]["x"]["task"]["labels"] == SIZES
    assert list(run.predict("x", ["a film"])[0].probabilities or ()) == SIZES


def test_categories_in_an_order_are_classes_even_if_they_are_many_numbers(tmp_path: Path, tiny: Path) -> None:
    frame = pandas.DataFrame({"text": TEXTS, "label": [i % 20 * 5 for i in range(40)]})
    assert "range" in train({"x": frame}, tmp_path / "score", tiny).about["recipe"]["tasks"]["x"]["task"]
    frame["label"] = pandas.Categorical(frame["label"], ordered=True)
    with pytest.warns(UserWarning, match="dev"):
        run = train({"x": (frame, frame[:4])}, tmp_path / "classes", tiny)
    assert run.about["recipe"]["tasks"]["x"]["task"]["labels"] == [i * 5 for i in range(20)]


def test_the_places_in_a_tuple_are_final(tmp_path: Path, tiny: Path) -> None:
    """Texts of one word that repeat would otherwise be labels."""
    rows = [("yes", "pos"), ("no", "neg"), ("sure", "pos"), ("nope", "neg")] * 10
    run = train({"x": rows}, tmp_path / "run", tiny)
    assert run.about["recipe"]["tasks"]["x"]["task"]["text"] == ["text"]
    assert train({"x": np.array(rows)}, tmp_path / "array", tiny).scores == run.scores


# ---- the task may be left out -------------------------------------------------------------------------


def test_the_only_task_may_be_left_out(tmp_path: Path, tiny: Path, run: minbert.Run) -> None:
    one = train({"mood": ROWS}, tmp_path / "run", tiny)
    expected = one.predict("mood", ["a film", "a book"])
    assert one.predict(["a film", "a book"]) == one.predict(texts=["a film", "a book"]) == expected
    assert one.predict(pandas.DataFrame({"review": ["a film", "a book"], "other": [1, 2]})) == expected
    assert one.predict(task="mood", texts=["a film", "a book"]) == expected
    for given in ((), ("mood",)):
        with pytest.raises(minbert.UserError, match=r"no texts are given\.\nFor example: predict\(\"mood\", "):
            one.predict(*given)
    with pytest.raises(minbert.UserError, match=r"a list of texts, not one text"):
        one.predict("A fine film.")
    with pytest.raises(minbert.UserError, match=r"name the task; this model has the tasks .*\nFor example: predict\("):
        run.predict(["a film"])


def test_a_table_without_the_column_of_the_texts(tmp_path: Path, tiny: Path) -> None:
    one = train({"mood": ROWS}, tmp_path / "run", tiny)
    with pytest.raises(minbert.UserError) as caught:
        one.predict(pandas.DataFrame({"text": ["a film"], "id": [1]}))
    assert caught.value.problem == (
        "Task 'mood' reads one text per row, from the column review; this table has the columns text, id."
    )
    assert caught.value.next_step == 'Pick the column with the texts, for example: df["text"]'
