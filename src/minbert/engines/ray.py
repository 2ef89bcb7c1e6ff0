"""Cells on a Ray cluster, whose nodes see the comparison's folder and the data under the same paths."""

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from minbert.cells import Cell, Orphaned, read_notes, train_cell
from minbert.engines.base import Engine, Going
from minbert.errors import UserError
from minbert.findings import Result

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

    def run(self, cells: Sequence[Cell]) -> Iterator[Going | Result]:
        ray = connected()
        task = ray.remote(max_calls=1, max_retries=RETRIES, **self.wants(ray))(train_on_a_node)
        # absolute: a node's own working directory is another
        folder = self.comparison.resolve()
        going = {task.remote(cell, folder): cell for cell in cells}
        try:
            while going:
                done, _ = ray.wait(list(going), timeout=LOOK_EVERY)
                for reference in done:
                    yield self.outcome(ray, reference, going.pop(reference))
                for cell in going.values():
                    notes = read_notes(cell.folder(folder))
                    if notes:
                        yield Going(cell, int(notes["step"]), int(notes["steps"]))
        finally:
            for reference in going:
                ray.cancel(reference, force=True)

    def wants(self, ray: ModuleType) -> dict[str, float]:
        """An accelerator a cell if the cluster has any."""
        return {"num_gpus": 1} if ray.cluster_resources().get("GPU") else {"num_cpus": self.threads}

    def outcome(self, ray: ModuleType, reference: Any, cell: Cell) -> Result:
        try:
            result = ray.get(reference)
        except ray.exceptions.RayError as wrong:
            return self.lost(cell, f"Ray: {str(wrong).strip().splitlines()[-1]}")
        assert isinstance(result, Result)
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


def train_on_a_node(cell: Cell, comparison: Path) -> Result:
    return train_cell(cell, comparison, lambda done, total: None, Orphaned())
