"""Progress bars with their notes below them, where the lines of a terminal have room for both."""

import time
from collections.abc import Iterable

from rich.console import RenderableType
from rich.progress import Progress, Task, TimeRemainingColumn
from rich.text import Text


class Bars(Progress):
    def get_renderables(self) -> Iterable[RenderableType]:
        shown = [task for task in self.tasks if task.visible]
        yield self.make_tasks_table(shown)
        for task in shown:
            if task.fields["note"]:
                yield Text(f"  {task.fields['note']}")


class RemainingTime(TimeRemainingColumn):
    """What the command estimates, in the field `ends`: a time of time.monotonic(), or None; else from the speed."""

    def render(self, task: Task) -> Text:
        if "ends" not in task.fields:
            return super().render(task)
        ends = task.fields["ends"]
        if ends is None:
            return Text("-:--:--", style="progress.remaining")
        minutes, seconds = divmod(max(0, round(ends - time.monotonic())), 60)
        hours, minutes = divmod(minutes, 60)
        return Text(f"{hours}:{minutes:02}:{seconds:02}", style="progress.remaining")
