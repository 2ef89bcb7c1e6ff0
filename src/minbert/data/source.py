"""(a data folder, a task) -> the task's datasets: train, dev and test."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from minbert.config.task import Task
from minbert.data.column_request import MissingColumn
from minbert.data.dataset import Dataset, read_dataset
from minbert.data.dev_split import split_off_dev
from minbert.data.infer_labels import infer_labels
from minbert.data.rejects import read_all
from minbert.errors import UserError

SplitName = Literal["train", "dev", "test"]


@dataclass(frozen=True)
class DataSource:
    """Where the files of tasks are, and whether their bad rows are skipped."""

    # files are looked up below it first, then beside the task's own file
    root: Path | None = None
    skip_bad_rows: bool = False

    def locate(self, task: Task, split: SplitName) -> Path:
        """The task's file of a split."""
        name: str | None = getattr(task.files, split)
        if name is None:
            raise UserError(
                f"Task '{task.name}' names no {split} file.",
                f"Add '{split} = \"...\"' under [files] in its task file.",
            )
        for place in self.places(task, name):
            if place.is_file():
                # messages and run.json name it: without a detour through the folder of the task file
                return place.resolve() if ".." in place.parts else place
        looked = " nor ".join(str(place) for place in self.places(task, name))
        what = f"Name the folder that holds {Path(name).name}," if Path(name).is_absolute() else "Set the data folder"
        or_without = ", or remove 'test' from [files] of the task" if split == "test" else ""
        raise UserError(
            f"Task '{task.name}': its {split} file is missing: there is no {looked}.",
            f"{what} with --data-root FOLDER or the variable MINBERT_DATA{or_without}.",
        )

    def places(self, task: Task, name: str) -> list[Path]:
        """Where a task's file may be, the first that is there counts."""
        found = [place for place in (self.below_root(name), task.folder / name) if place is not None]
        if self.root is not None and Path(name).is_absolute():
            # a file that has been moved
            found.append(self.root / Path(name).name)
        return list(dict.fromkeys(found))

    def below_root(self, name: str) -> Path | None:
        """Where a task's file would be below the data root."""
        # a path out of the task's folder, as ../data/x.csv, means nothing below another folder
        return None if self.root is None or ".." in Path(name).parts else self.root / name

    def read_file(self, path: Path, task: Task) -> Dataset:
        """The labeled rows of any file in the task's columns."""
        return read_dataset(path, task, skip_bad_rows=self.skip_bad_rows)

    def read(self, task: Task, split: SplitName) -> Dataset:
        """The labeled rows of a split. Without a dev file, train and dev are both from the training file."""
        if task.files.dev is None and split != "test":
            _, train, dev = self.read_splits(task)
            return train if split == "train" else dev
        return self.read_file(self.locate(task, split), task)

    def read_test(self, task: Task) -> Dataset | None:
        """The labeled rows of the test file; None if the task names none, or if it has no column of labels."""
        if task.files.test is None:
            return None
        try:
            return self.read(task, "test")
        except MissingColumn as missing:
            if missing.column != task.label:
                raise
            return None

    def read_splits(self, task: Task) -> tuple[Task, Dataset, Dataset]:
        """The task, with its labels known, its training rows and its dev rows."""
        path = self.locate(task, "train")
        if task.kind == "classify" and not task.labels:
            task = task.with_labels(infer_labels(path, task))
        if task.files.dev is None:
            return task, *split_off_dev(self.read_file(path, task), task)
        paths = (path, self.locate(task, "dev"))
        train, dev = read_all(lambda path: self.read_file(path, task), paths)
        return task, train, dev


# files beside the tasks' own; bad rows are errors
DEFAULT_SOURCE = DataSource()
