"""minbert tasks: the tasks that need no task file."""

from minbert.cli.console import console, text_table


def tasks() -> None:
    """List the tasks that ship with minbert."""
    from minbert.config.task import read_task, standard_tasks

    made = text_table("task", "input", "output", "metric", "about")
    for name in standard_tasks():
        task = read_task(name)
        texts = "two texts" if task.paired else "one text"
        output = f"{len(task.labels)} labels" if task.kind == "classify" else "{:g} to {:g}".format(*task.range)
        file = task.files.train or ""
        data = "data in the package" if file.startswith("..") else f"data: {file}"
        made.add_row(f"[bold]{name}[/]", texts, output, task.metric, f"{task.about}\n[dim]{data}[/]")
    console.print(made)
    console.print("\nYour own task is a small TOML file: see docs/tasks.md", style="dim")
