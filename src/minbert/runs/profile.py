"""Some training steps -> where their time goes: profile.txt (a table) and profile.json (a trace)."""

from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, schedule

# the first steps set up memory and threads, so they are not typical
UNPROFILED_STEPS = 5
PROFILED_STEPS = 10
PROFILE_LINES = 25


class StepProfiler:
    """Profiles a few steps of a run; `step` is called at the end of each."""

    def __init__(self, out: Path) -> None:
        self.out = out
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
        self.steps = 0
        self.profiler = profile(
            activities=activities,
            schedule=schedule(wait=0, warmup=UNPROFILED_STEPS, active=PROFILED_STEPS, repeat=1),
            on_trace_ready=self.write,
        )
        self.profiler.start()

    def step(self) -> None:
        self.steps += 1
        if self.steps <= UNPROFILED_STEPS + PROFILED_STEPS:
            self.profiler.step()
        if self.steps == UNPROFILED_STEPS + PROFILED_STEPS:
            self.profiler.stop()

    def close(self) -> None:
        """Write what was recorded if the run had fewer steps than planned."""
        if UNPROFILED_STEPS < self.steps < UNPROFILED_STEPS + PROFILED_STEPS:
            self.profiler.stop()

    def write(self, profiler: Any) -> None:
        """profile.txt, and profile.json for chrome://tracing or https://ui.perfetto.dev."""
        profiler.export_chrome_trace(str(self.out / "profile.json"))
        steps = min(self.steps, UNPROFILED_STEPS + PROFILED_STEPS) - UNPROFILED_STEPS
        found = [event for event in profiler.key_averages() if not event.key.startswith("ProfilerStep")]
        found.sort(key=lambda event: -event.self_cpu_time_total)
        total = sum(event.self_cpu_time_total for event in found)
        lines = [f"{'operation':<52} {'calls/step':>10} {'ms/step':>9} {'time %':>6}"]
        for event in found[:PROFILE_LINES]:
            spent = event.self_cpu_time_total
            lines.append(
                f"{event.key[:52]:<52} {event.count / steps:10.1f} {spent / steps / 1000:9.2f} {spent / total:6.1%}"
            )
        lines.append(f"{'all operations':<52} {'':>10} {total / steps / 1000:9.2f} {1:6.1%}")
        (self.out / "profile.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
