"""Where the time of a training step goes: a table to read and a trace to look at."""

from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, schedule

# the first steps set up memory and threads: they tell nothing about the others
SKIPPED = 5
STEPS = 10
LINES = 25


class Profile:
    """Watches some steps of a training, from the call of `step` at the end of one to that of another."""

    def __init__(self, out: Path) -> None:
        self.out = out
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        self.steps = 0
        self.profiler = profile(
            activities=activities,
            schedule=schedule(wait=0, warmup=SKIPPED, active=STEPS, repeat=1),
            on_trace_ready=self.write,
        )
        self.profiler.start()

    def step(self) -> None:
        self.steps += 1
        if self.steps <= SKIPPED + STEPS:
            self.profiler.step()
        if self.steps == SKIPPED + STEPS:
            self.profiler.stop()

    def close(self) -> None:
        """Write what there is, where a run was too short for all."""
        if SKIPPED < self.steps < SKIPPED + STEPS:
            self.profiler.stop()

    def write(self, profiler: Any) -> None:
        """profile.txt, and profile.json for chrome://tracing or https://ui.perfetto.dev."""
        profiler.export_chrome_trace(str(self.out / "profile.json"))
        steps = min(self.steps, SKIPPED + STEPS) - SKIPPED
        found = [event for event in profiler.key_averages() if not event.key.startswith("ProfilerStep")]
        found.sort(key=lambda event: -event.self_cpu_time_total)
        total = sum(event.self_cpu_time_total for event in found)
        lines = [f"{'operation':<52} {'calls/step':>10} {'ms/step':>9} {'share':>6}"]
        for event in found[:LINES]:
            spent = event.self_cpu_time_total
            lines.append(
                f"{event.key[:52]:<52} {event.count / steps:10.1f} {spent / steps / 1000:9.2f} {spent / total:6.1%}"
            )
        lines.append(f"{'all operations':<52} {'':>10} {total / steps / 1000:9.2f} {1:6.1%}")
        (self.out / "profile.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
