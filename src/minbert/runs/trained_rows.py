"""(a run, labeled rows of other files) -> how many of these rows it was trained on."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from minbert.config.loading import read_recipe
from minbert.config.task import Files, Task
from minbert.data.dataset import Dataset
from minbert.data.source import DataSource
from minbert.data.text_keys import example_keys
from minbert.errors import UserError
from minbert.files import sha256
from minbert.runs.directory import read_run
from minbert.training.prepare import read_data


def count_trained_rows(
    run: Path, tasks: Mapping[str, Task], rows: Mapping[str, Dataset], source: DataSource
) -> dict[str, int]:
    """By task: the rows with the same texts as a training row. Tasks without such rows are left out."""
    if not rows or not (run / "recipe.toml").is_file():
        return {}
    about = read_run(run)
    source = replace(source, skip_bad_rows=source.skip_bad_rows or bool(about.get("skip_bad_rows")))
    try:
        train = read_data(read_recipe(str(run / "recipe.toml")), source).train
    except UserError:
        # the training files have been moved; one of these may be a copy
        hashes = about["sha256"]["data"]
        copies = [name for name, each in rows.items() if sha256(each.path) == hashes.get(f"{name} train")]
        train = {name: training_rows_of(tasks[name], rows[name].path, source) for name in copies}
    counts = {}
    for name in rows.keys() & train.keys():
        seen = set(example_keys(train[name].texts))
        counts[name] = sum(key in seen for key in example_keys(rows[name].texts))
    return {name: counts[name] for name in rows if counts.get(name)}


def training_rows_of(task: Task, path: Path, source: DataSource) -> Dataset:
    """The rows of a training file that were not held out as dev rows."""
    if task.files.dev is not None:
        return source.read_file(path, task)
    return source.read(replace(task, files=Files(train=str(path.resolve()))), "train")
