"""Trials on a Ray cluster whose nodes see the comparison's folder and the data under the same paths."""

import logging
import os
import socket
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from minbert.comparison.engines.base import CORES_PER_TRIAL, Engine, Returned, TrialProgress
from minbert.comparison.results import TrialResult
from minbert.comparison.trial import StopWhenOrphaned, Trial, failed_trial, read_progress
from minbert.errors import UserError

# how often a trial whose worker or node died is started again; it resumes from its checkpoint
TRIAL_RETRIES = 3
# seconds between two looks at the running trials
POLL_SECONDS = 1.0


NO_CLUSTER = UserError(
    "There is no Ray cluster to connect to.",
    "Start one with `ray start --head`, or name one: RAY_ADDRESS=host:6379 minbert compare ...",
)


class RayEngine(Engine):
    """A trial is a Ray Core task. Its result is what it wrote into its folder, so it may run twice."""

    def run(self, trials: Sequence[Trial]) -> Generator[TrialProgress | TrialResult, None, None]:
        ray = connect_to_ray()
        task = ray.remote(max_calls=1, max_retries=TRIAL_RETRIES, **self.resources(ray))(train_on_node)
        # absolute: a node has its own working directory
        folder = self.comparison.resolve()
        waiting, running = list(reversed(trials)), dict[Any, Trial]()
        try:
            while waiting or running:
                while waiting and (self.jobs is None or len(running) < self.jobs):
                    trial = waiting.pop()
                    running[task.remote(trial, folder)] = trial
                done, _ = ray.wait(list(running), timeout=POLL_SECONDS)
                for reference in done:
                    yield self.outcome(ray, reference, running.pop(reference))
                for trial in running.values():
                    # from the trial's own files: a task on another node has no pipe to this process
                    progress = read_progress(folder, trial.key)
                    if progress is not None:
                        yield TrialProgress(trial, *progress)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def call(
        self, function: Callable[..., Returned], arguments: Mapping[str, tuple[Any, ...]]
    ) -> Iterator[tuple[str, Returned | BaseException]]:
        ray = connect_to_ray()
        task = ray.remote(max_calls=1, **self.resources(ray))(function)
        running = {task.remote(*each): name for name, each in arguments.items()}
        while running:
            (reference, *_), _ = ray.wait(list(running))
            name = running.pop(reference)
            try:
                yield name, ray.get(reference)
            except ray.exceptions.RayError as wrong:
                # the function's own exception is the cause of Ray's
                yield name, getattr(wrong, "cause", None) or wrong

    def resources(self, ray: ModuleType) -> dict[str, float]:
        """One accelerator per trial if the cluster has any; otherwise cores, not more than a node has."""
        if ray.cluster_resources().get("GPU"):
            return {"num_gpus": 1}
        most = max((node["Resources"].get("CPU", 1.0) for node in ray.nodes() if node["Alive"]), default=1.0)
        return {"num_cpus": min(self.threads if self.jobs else CORES_PER_TRIAL, most)}

    def outcome(self, ray: ModuleType, reference: Any, trial: Trial) -> TrialResult:
        try:
            result = ray.get(reference)
        except ray.exceptions.RayError as wrong:
            reason = " ".join(["Ray:", *str(wrong).strip().splitlines()[-1:]])
            return failed_trial(trial, self.comparison, reason)
        assert isinstance(result, TrialResult)
        return result


def connect_to_ray() -> ModuleType:
    """Ray, connected to the cluster that RAY_ADDRESS names, or to the one on this machine."""
    try:
        import ray
    except ImportError:
        raise UserError("--engine ray needs Ray.", "pip install 'minbert[ray]'") from None
    if not ray.is_initialized():
        check_reachable(os.environ.get("RAY_ADDRESS", ""))
        try:
            ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        except ConnectionError:
            raise NO_CLUSTER from None
    return cast(ModuleType, ray)


def check_reachable(address: str) -> None:
    """Fail at once: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError:
            raise NO_CLUSTER from None


def train_on_node(trial: Trial, comparison: Path) -> TrialResult:
    return trial.train(comparison, lambda done, total, remaining: None, StopWhenOrphaned(os.getppid()))
