"""minbert tasks: the tasks that need no task file, and which of their files are here."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from minbert.cli.console import console, escape_markup, show_hint, show_json, text_table
from minbert.cli.options import DataRootOption, JsonOption

if TYPE_CHECKING:
    from minbert.config.task import Task


def tasks(data_root: DataRootOption = None, as_json: JsonOption = False) -> None:
    """List the tasks that ship with minbert, and which of their files are found below the data root.

    Example: minbert tasks --data-root data
    """
    from minbert.config.task import read_task, standard_tasks

    listed = [task_entry(read_task(name), data_root) for name in standard_tasks()]
    if as_json:
        show_json(listed)
        return
    made = text_table("task", "input", "output", "metric", "about", wrap=("about",))
    for entry in listed:
        texts = "two texts" if len(entry["text"]) == 2 else "one text"
        output = f"{len(entry['labels'])} labels" if entry["labels"] else "{:g} to {:g}".format(*entry["range"])
        about = f"{escape_markup(entry['about'])}\n{data_line(entry['files'])}"
        made.add_row(f"[bold]{entry['task']}[/]", texts, output, entry["metric"], about)
    console.print(made)
    where = "\nFiles in another directory:   minbert tasks --data-root DIR" if data_root is None else ""
    show_hint(f"{where}\nYour own file needs no task:  minbert train FILE --out RUN")


def task_entry(task: "Task", data_root: Path | None) -> dict[str, Any]:
    """The task with its files: where each is, or None."""
    from minbert.data.source import DataSource

    source = DataSource(data_root)
    files = {}
    for split, name in vars(task.files).items():
        if name is not None:
            below, beside = source.below_root(name), task.folder / name
            found = next((path for path in (below, beside) if path is not None and path.is_file()), None)
            files[split] = {"name": Path(name).name, "found": found and str(found.resolve())}
    about = {"task": task.name, "kind": task.kind, "text": task.text, "labels": task.display_labels}
    return about | {"range": task.range, "metric": task.metric, "about": task.about, "files": files}


def data_line(files: dict[str, dict[str, str | None]]) -> str:
    """Which files are here."""
    found = [str(each["name"]) for each in files.values() if each["found"]]
    missing = [str(each["name"]) for each in files.values() if not each["found"]]
    parts = [f"[green]found[/] {', '.join(found)}"] if found else []
    return "; ".join([*parts, f"[dim]not found {', '.join(missing)}[/]"] if missing else parts)
