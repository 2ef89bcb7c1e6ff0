"""tasks/x.toml -> Task."""

import tomllib
from pathlib import Path

import pytest
import tomli_w

from minbert.config.task import Task, label_key, read_task, standard_tasks, task_from
from minbert.errors import UserError

CLASSIFY = 'kind = "classify"\ntext = ["review"]\nlabel = "stars"\n'
SCORE = 'kind = "score"\ntext = ["a", "b"]\nlabel = "alike"\nrange = [0, 5]\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    path = write(folder, text)
    with pytest.raises(UserError) as caught:
        read_task("mine", str(path))
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


# ---- shipped tasks ------------------------------------------------------------------------------------


def test_the_course_tasks_and_the_demo_tasks_are_shipped() -> None:
    assert {"sst", "quora", "sts", "cfimdb", "demo/sentiment", "demo/paraphrase", "demo/similarity"} <= set(
        standard_tasks()
    )


@pytest.mark.parametrize("name", standard_tasks())
def test_every_shipped_task_reads_and_says_what_it_is(name: str) -> None:
    task = read_task(name.split("/")[-1], name)
    assert task.about and task.files.train
    assert task.kind == "score" or len(task.display_labels) == len(task.labels) >= 2


@pytest.mark.parametrize("name", standard_tasks())
def test_every_shipped_task_survives_being_written_down(name: str) -> None:
    task = read_task(name)
    settings = task.as_settings()
    assert task_from(task.name, task.folder, settings, "run") == task
    written = tomllib.loads(tomli_w.dumps(settings))
    assert task_from(task.name, task.folder, written, "run") == task


def test_the_course_tasks_are_as_the_course_has_them() -> None:
    sst, quora, sts = (read_task(name) for name in ("sst", "quora", "sts"))
    assert (sst.kind, sst.label_keys, sst.metric) == ("classify", ("0", "1", "2", "3", "4"), "accuracy")
    assert (quora.kind, quora.label_keys, quora.metric) == ("classify", ("0", "1"), "accuracy")
    assert (sts.kind, sts.range, sts.metric) == ("score", (0.0, 5.0), "pearson")
    assert not sst.paired and quora.paired and sts.paired


# ---- tasks of a user ----------------------------------------------------------------------------------


def test_a_users_task_file_needs_three_lines(tmp_path: Path) -> None:
    task = read_task("mine", str(write(tmp_path, CLASSIFY)))
    assert task == Task("mine", tmp_path, kind="classify", text=("review",), label="stars", metric="accuracy")


def test_a_users_task_file_may_set_everything(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        CLASSIFY
        + """
        labels = ["bad", "good"]
        label_names = ["a bad one", "a good one"]
        metric = "f1"
        id = "key"
        dev_split = 0.2
        max_length = 64
        class_weights = [1, 2.5]
        missing = "skip"
        delimiter = ";"
        about = "mine"
        [files]
        train = "train.csv"
        """,
    )
    task = read_task("mine", str(path))
    assert task.display_labels == ("a bad one", "a good one") and task.label_keys == ("bad", "good")
    assert (task.metric, task.id, task.dev_split, task.max_length) == ("f1", "key", 0.2, 64)
    assert (task.class_weights, task.missing, task.delimiter) == ((1.0, 2.5), "skip", ";")
    assert (task.files.train, task.files.dev, task.folder) == ("train.csv", None, tmp_path)
    written = tomllib.loads(tomli_w.dumps(task.as_settings()))
    assert task_from("mine", tmp_path, written, "run") == task


def test_a_task_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(CLASSIFY, encoding="utf-8-sig")
    assert read_task("mine", str(tmp_path / "mine.toml")).label == "stars"


def test_a_task_file_is_found_beside_the_recipe_that_names_it(tmp_path: Path) -> None:
    write(tmp_path, CLASSIFY)
    assert read_task("mine", "mine.toml", beside=tmp_path).folder == tmp_path


def test_labels_found_later_are_added(tmp_path: Path) -> None:
    task = read_task("mine", str(write(tmp_path, CLASSIFY))).with_labels(("a", "b"))
    assert task.display_labels == ("a", "b")
    assert task.with_class_weights((1.0, 3.0)).class_weights == (1.0, 3.0)


# ---- mistakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CLASSIFY + "labls = [0, 1]", "unknown setting 'labls' of task 'mine'. Did you mean 'labels'?"),
        ('text = ["a"]\nlabel = "b"', "task 'mine' needs the setting 'kind'."),
        (
            'kind = "clasify"\ntext = ["a"]\nlabel = "b"',
            "setting 'kind' of task 'mine' should be 'classify' or 'score', not 'clasify'.",
        ),
        (
            'kind = "classify"\ntext = "review"\nlabel = "b"',
            "setting 'text' of task 'mine' should be a list of strings, not 'review'.",
        ),
        ('kind = "classify"\ntext = []\nlabel = "b"', "task 'mine': 'text' names one or two columns"),
        (
            'kind = "classify"\ntext = ["a", "b", "c"]\nlabel = "d"',
            "task 'mine': 'text' names one or two columns",
        ),
        (
            'kind = "classify"\ntext = ["a"]\nlabel = "a"',
            "task 'mine': the column 'a' cannot be both text and label",
        ),
        (
            'kind = "score"\ntext = ["a"]\nlabel = "b"',
            "task 'mine': a score needs 'range = [lowest, highest]'",
        ),
        (
            'kind = "score"\ntext = ["a"]\nlabel = "b"\nrange = [5, 0]',
            "task 'mine': a score needs 'range = [lowest, highest]'",
        ),
        (
            SCORE.replace("5]", "inf]"),
            "setting 'range' of task 'mine' should be a list of numbers, not [0, inf].",
        ),
        (
            SCORE + "labels = [0, 1]",
            "task 'mine': 'labels', 'label_names' and 'class_weights' are for kind = \"classify\"",
        ),
        (CLASSIFY + "range = [0, 1]", "task 'mine': 'range' is for kind = \"score\""),
        (CLASSIFY + "labels = [1]", "task 'mine': 'labels' needs at least two different values"),
        (
            CLASSIFY + 'labels = [0, 1, "1.0"]',
            "task 'mine': 'labels' needs at least two different values",
        ),
        (
            CLASSIFY + 'labels = [0, 1]\nlabel_names = ["no"]',
            "task 'mine': 'label_names' needs a different name for each of the 2 'labels'",
        ),
        (
            CLASSIFY + "labels = [0, 1]\nclass_weights = [1, 2, 3]",
            "task 'mine': 3 class weights for 2 labels",
        ),
        (
            CLASSIFY + "labels = [0, 1]\nclass_weights = [1, -2]",
            "task 'mine': 'class_weights' are at least 0",
        ),
        (
            CLASSIFY + 'class_weights = "equal"',
            "setting 'class_weights' of task 'mine' should be a list of numbers or 'balanced', not 'equal'.",
        ),
        (CLASSIFY + "dev_split = 1", "task 'mine': 'dev_split' is a fraction between 0 and 1"),
        (CLASSIFY + "max_length = 4", "task 'mine': 'max_length' is at least 8 tokens"),
        (CLASSIFY + 'delimiter = "||"', "task 'mine': 'delimiter' is one character"),
        (
            CLASSIFY + 'metric = "acuracy"',
            "task 'mine': unknown metric 'acuracy'. Did you mean 'accuracy'?",
        ),
        (
            SCORE + 'metric = "accuracy"',
            "task 'mine': unknown metric 'accuracy'. Known: mae, mse, pearson, spearman.",
        ),
        (
            CLASSIFY + '[files]\ntrian = "x.csv"',
            "unknown setting 'trian' of 'files'. Did you mean 'train'?",
        ),
    ],
)
def test_a_mistake_in_a_task_file_names_the_file_and_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    assert refusal(tmp_path, text) == reason


def test_a_task_file_that_is_no_toml_is_named_with_the_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, CLASSIFY + "labels = [0, 1\n").startswith("not TOML: ")
    assert "line 2" in refusal(tmp_path, "kind = 'classify'\ntext [\n")


def test_a_task_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"kind = \xff\xfe")
    with pytest.raises(UserError, match=r"mine\.toml: not TOML: "):
        read_task("mine", str(path))


def test_an_unknown_task_suggests_a_standard_one() -> None:
    with pytest.raises(UserError) as caught:
        read_task("qoura")
    assert caught.value.problem == "There is no task 'qoura'. Did you mean 'quora'?"
    assert "minbert tasks" in caught.value.next_step


def test_a_task_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no task 'tasks/nowhere\.toml'"):
        read_task("nowhere", "tasks/nowhere.toml", beside=tmp_path)


# ---- labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "spellings"),
    [
        ("1", [1, 1.0, "1", "1.0", " 1.0 "]),
        ("0", [0, 0.0, -0.0, "0", "-0.0"]),
        ("-1", [-1, "-1.0"]),
        ("0.5", [0.5, "0.5"]),
        ("true", [True, "true", "True", "TRUE", " true "]),
        ("false", [False, "False"]),
        ("good", ["good", " good "]),
    ],
)
def test_one_label_has_one_key_however_it_is_spelt(key: str, spellings: list[object]) -> None:
    assert {label_key(spelling) for spelling in spellings} == {key}


def test_labels_are_shown_as_they_are_written() -> None:
    settings = {"kind": "classify", "text": ["a"], "label": "b", "labels": ["01", "2.0", 3, True, "False"]}
    task = task_from("mine", Path(), settings, "here")
    assert task.display_labels == ("01", "2.0", "3", "true", "False")
    assert task.label_keys == ("01", "2", "3", "true", "false")


def test_different_labels_keep_different_keys() -> None:
    labels = [0, 1, 0.5, True, False, "a", "A", "a b", "1a", "nan", "inf", "", 2**53, 2**53 + 2]
    # codes and versions
    labels += ["01", "001", "1.10", "1.1", "1_1", 11, "1e1", 10]
    assert len({label_key(label) for label in labels}) == len(labels)
