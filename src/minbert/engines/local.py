"""Cells in processes of this machine: one that dies takes no other with it."""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path

from minbert.cells import Cell, Orphaned, train_cell
from minbert.engines.base import Engine, Going
from minbert.events import Stopped
from minbert.findings import Result

# seconds that a cell has to save itself
TO_SAVE = 120.0


@dataclass
class Worker:
    cell: Cell
    slot: int
    process: BaseProcess
    pipe: Connection


class Local(Engine):
    def run(self, cells: Sequence[Cell]) -> Iterator[Going | Result]:
        # a fresh interpreter: torch's threads do not survive a fork
        context = multiprocessing.get_context("spawn")
        jobs = self.at_once
        waiting, free = list(reversed(cells)), list(range(jobs))
        going: dict[Connection, Worker] = {}
        try:
            while waiting or going:
                while waiting and free:
                    worker = self.start(context, waiting.pop(), free.pop(), jobs)
                    going[worker.pipe] = worker
                for pipe in wait(list(going)):
                    assert isinstance(pipe, Connection)
                    worker = going[pipe]
                    told = self.hear(worker)
                    if isinstance(told, Result):
                        del going[pipe]
                        free.append(worker.slot)
                        stop(worker)
                    yield told
        finally:
            for worker in going.values():
                if worker.process.is_alive():
                    worker.process.terminate()
            for worker in going.values():
                stop(worker)

    def start(self, context: SpawnContext, cell: Cell, slot: int, jobs: int) -> Worker:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(cell, self.comparison, theirs, slot, jobs, self.threads))
        process.start()
        # so that the pipe ends when the process does
        theirs.close()
        return Worker(cell, slot, process, ours)

    def hear(self, worker: Worker) -> Going | Result:
        try:
            told = worker.pipe.recv()
        except (EOFError, ConnectionResetError):
            worker.process.join()
            return self.lost(worker.cell, how_it_died(worker.process.exitcode or 0))
        return told if isinstance(told, Result) else Going(worker.cell, *told)


def work(cell: Cell, comparison: Path, pipe: Connection, slot: int, jobs: int, threads: int) -> None:
    """The process of a cell."""
    # before torch is asked for devices
    if "CUDA_VISIBLE_DEVICES" not in os.environ and jobs > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(slot)
    import torch

    torch.set_num_threads(threads)
    asked = Orphaned()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, asked.note)

    def tell(done: int, total: int) -> None:
        pipe.send((done, total))

    try:
        pipe.send(train_cell(cell, comparison, tell, asked))
    except (Stopped, BrokenPipeError):
        # it has saved itself, or whoever listened is gone
        return


def stop(worker: Worker) -> None:
    worker.process.join(TO_SAVE)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.pipe.close()


def how_it_died(code: int) -> str:
    if code == -signal.SIGKILL:
        return "its process was killed (signal 9), as the system does when memory runs out"
    if code < 0:
        return f"its process was killed ({signal.Signals(-code).name})"
    return f"its process ended with exit code {code} before it had a result"
