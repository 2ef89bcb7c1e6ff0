"""minbert tasks: the tasks that need no task file."""

from minbert.cli.console import console, table


def tasks() -> None:
    """List the standard tasks that ship with minbert."""
    from minbert.config.task import read_task, standard_tasks

    shown = table("task", "reads", "answers", "metric", "about")
    for name in standard_tasks():
        task = read_task(name)
        reads = "two texts" if task.paired else "one text"
        answers = f"{len(task.labels)} labels" if task.kind == "classify" else "{:g} to {:g}".format(*task.range)
        file = task.files.train or ""
        where = "data in the package" if file.startswith("..") else f"data: {file}"
        shown.add_row(f"[bold]{name}[/]", reads, answers, task.metric, f"{task.about}\n[dim]{where}[/]")
    console.print(shown)
    console.print("\nA task of your own is a small TOML file: docs/tasks.md", style="dim")
