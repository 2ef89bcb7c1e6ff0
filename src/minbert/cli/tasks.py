"""minbert tasks: the tasks that need no task file."""

from minbert.cli.screen import console, table


def tasks() -> None:
    """List the standard tasks that ship with minbert."""
    from minbert.task import read_task, standard_tasks

    shown = table("task", "kind", "texts", "metric", "training file", "about")
    for name in standard_tasks():
        task = read_task(name)
        file = task.files.train or ""
        where = "in the package" if file.startswith("..") else file
        shown.add_row(f"[bold]{name}[/]", task.kind, str(len(task.text)), task.metric, where, task.about)
    console.print(shown)
