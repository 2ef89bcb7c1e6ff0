"""Cells on a Ray cluster, whose nodes see the comparison's folder and the data under the same paths."""

import logging
import os
import socket
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from minbert.comparison.engines.base import CORES_A_CELL, Engine, Going, Out
from minbert.comparison.results import TrialResult
from minbert.comparison.trial import Orphaned, Trial, read_notes, train_trial
from minbert.errors import UserError

# how often a cell whose worker or node died is begun again; it goes on from its checkpoint
RETRIES = 3
# seconds between two looks at what is going
LOOK_EVERY = 1.0


NOBODY = UserError(
    "There is no Ray cluster to connect to.",
    "Start one with `ray start --head`, or name one: RAY_ADDRESS=host:6379 minbert compare ...",
)


class Ray(Engine):
    """A cell is a Ray Core task. Its result is what it wrote into its folder, so it may run twice."""

    def run(self, trials: Sequence[Trial]) -> Generator[Going | TrialResult, None, None]:
        ray = connected()
        task = ray.remote(max_calls=1, max_retries=RETRIES, **self.wants(ray))(train_on_a_node)
        # absolute: a node's own working directory is another
        folder = self.comparison.resolve()
        waiting, going = list(reversed(trials)), dict[Any, Trial]()
        try:
            while waiting or going:
                while waiting and (self.jobs is None or len(going) < self.jobs):
                    trial = waiting.pop()
                    going[task.remote(trial, folder)] = trial
                done, _ = ray.wait(list(going), timeout=LOOK_EVERY)
                for reference in done:
                    yield self.outcome(ray, reference, going.pop(reference))
                for trial in going.values():
                    notes = read_notes(trial.folder(folder))
                    if notes:
                        yield Going(trial, int(notes["step"]), int(notes["steps"]))
        finally:
            for reference in going:
                ray.cancel(reference, force=True)

    def call(
        self, function: Callable[..., Out], work: Mapping[str, tuple[Any, ...]]
    ) -> Iterator[tuple[str, Out | BaseException]]:
        ray = connected()
        task = ray.remote(max_calls=1, **self.wants(ray))(function)
        going = {task.remote(*arguments): label for label, arguments in work.items()}
        while going:
            (reference, *_), _ = ray.wait(list(going))
            label = going.pop(reference)
            try:
                yield label, ray.get(reference)
            except ray.exceptions.RayError as wrong:
                # what the function raised is the cause of what Ray says
                yield label, getattr(wrong, "cause", None) or wrong

    def wants(self, ray: ModuleType) -> dict[str, float]:
        """An accelerator a cell if the cluster has any; otherwise cores, not more than a node has."""
        if ray.cluster_resources().get("GPU"):
            return {"num_gpus": 1}
        most = max((node["Resources"].get("CPU", 1.0) for node in ray.nodes() if node["Alive"]), default=1.0)
        return {"num_cpus": min(self.threads if self.jobs else CORES_A_CELL, most)}

    def outcome(self, ray: ModuleType, reference: Any, trial: Trial) -> TrialResult:
        try:
            result = ray.get(reference)
        except ray.exceptions.RayError as wrong:
            return self.lost(trial, " ".join(["Ray:", *str(wrong).strip().splitlines()[-1:]]))
        assert isinstance(result, TrialResult)
        return result


def connected() -> ModuleType:
    """Ray, connected to the cluster that RAY_ADDRESS names, or the one that runs here."""
    try:
        import ray
    except ImportError:
        raise UserError("--engine ray needs Ray.", "pip install 'minbert[ray]'") from None
    if not ray.is_initialized():
        check_reachable(os.environ.get("RAY_ADDRESS", ""))
        try:
            ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        except ConnectionError:
            raise NOBODY from None
    return cast(ModuleType, ray)


def check_reachable(address: str) -> None:
    """Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError:
            raise NOBODY from None


def train_on_a_node(trial: Trial, comparison: Path) -> TrialResult:
    return train_trial(trial, comparison, lambda done, total: None, Orphaned(os.getppid()))
