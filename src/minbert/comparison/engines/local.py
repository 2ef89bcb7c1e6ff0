"""Cells in processes of this machine: one that dies takes no other with it."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from minbert.comparison.engines.base import Engine, Going, Out
from minbert.comparison.results import TrialResult
from minbert.comparison.trial import Orphaned, Trial, train_trial
from minbert.runs.events import Stopped

# seconds that a cell has to save itself
TO_SAVE = 120.0


@dataclass
class Worker:
    trial: Trial
    slot: int
    process: BaseProcess
    pipe: Connection


class Local(Engine):
    def run(self, trials: Sequence[Trial]) -> Generator[Going | TrialResult, None, None]:
        # a fresh interpreter: torch's threads do not survive a fork
        context = multiprocessing.get_context("spawn")
        waiting, free = list(reversed(trials)), list(range(self.at_once))
        going: dict[Connection, Worker] = {}
        try:
            while waiting or going:
                while waiting and free:
                    worker = self.start(context, waiting.pop(), free.pop())
                    going[worker.pipe] = worker
                for pipe in wait(list(going)):
                    # on Windows it is a PipeConnection, of the same methods
                    pipe = cast(Connection, pipe)
                    worker = going[pipe]
                    told = self.hear(worker)
                    if isinstance(told, TrialResult):
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

    def call(
        self, function: Callable[..., Out], work: Mapping[str, tuple[Any, ...]]
    ) -> Iterator[tuple[str, Out | BaseException]]:
        # of as many as work at once, each has a slot, and so an accelerator, of its own
        slots: SimpleQueue[int] = SimpleQueue()
        for number in range(self.at_once):
            slots.put(number)

        def with_slot(arguments: tuple[Any, ...]) -> Out | BaseException:
            slot = slots.get()
            try:
                return apart(function, arguments, slot, self.threads)
            finally:
                slots.put(slot)

        with ThreadPoolExecutor(self.at_once) as pool:
            going = {pool.submit(with_slot, arguments): label for label, arguments in work.items()}
            try:
                for future in as_completed(going):
                    yield going[future], future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def start(self, context: SpawnContext, trial: Trial, slot: int) -> Worker:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(trial, self.comparison, theirs, os.getpid(), slot, self.threads))
        process.start()
        # so that the pipe ends when the process does
        theirs.close()
        return Worker(trial, slot, process, ours)

    def hear(self, worker: Worker) -> Going | TrialResult:
        try:
            told = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            return self.lost(worker.trial, how_it_died(worker.process.exitcode or 0))
        return told if isinstance(told, TrialResult) else Going(worker.trial, *told)


def settle(slot: int, threads: int) -> None:
    """A process's own share of the machine: an accelerator by turns, and threads."""
    import torch

    # before anybody asks for a device
    given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    devices = given.split(",") if given else [str(number) for number in range(torch.cuda.device_count())]
    if len(devices) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[slot % len(devices)]
    torch.set_num_threads(threads)


def work(trial: Trial, comparison: Path, pipe: Connection, driver: int, slot: int, threads: int) -> None:
    """The process of a cell."""
    settle(slot, threads)
    stop_requested = Orphaned(driver)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop_requested.note)

    def tell(done: int, total: int) -> None:
        # whoever listened may be gone: then the training is asked to stop, and saves itself
        with suppress(OSError):
            pipe.send((done, total))

    with suppress(Stopped, OSError):
        pipe.send(train_trial(trial, comparison, tell, stop_requested))


def apart(function: Callable[..., Out], arguments: tuple[Any, ...], slot: int, threads: int) -> Out | BaseException:
    """In a process like those of the cells; whatever goes wrong there is its own."""
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, context, settle, (slot, threads)) as pool:
            return pool.submit(function, *arguments).result()
    except Exception as wrong:
        return wrong


def stop(worker: Worker) -> None:
    worker.process.join(TO_SAVE)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.pipe.close()


def how_it_died(code: int) -> str:
    # by its number: Windows has no SIGKILL
    if code == -9:
        return "its process was killed (signal 9), as the system does when memory runs out"
    if code < 0:
        return f"its process was killed ({signal.Signals(-code).name})"
    if code == 0:
        return "its process was stopped, and has saved itself"
    return f"its process ended with exit code {code} before it had a result"
