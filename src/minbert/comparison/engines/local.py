"""Trials in processes of this machine: one that dies does not affect the others."""

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

from minbert.comparison.engines.base import Engine, Returned, TrialProgress
from minbert.comparison.results import TrialResult
from minbert.comparison.trial import StopWhenOrphaned, Trial, failed_trial
from minbert.runs.events import Stopped

# seconds that a trial has to save itself
SAVE_TIMEOUT = 120.0


@dataclass
class Worker:
    trial: Trial
    slot: int
    process: BaseProcess
    pipe: Connection


class LocalEngine(Engine):
    def run(self, trials: Sequence[Trial]) -> Generator[TrialProgress | TrialResult, None, None]:
        # a fresh interpreter: torch's threads do not survive a fork
        context = multiprocessing.get_context("spawn")
        waiting, free = list(reversed(trials)), list(range(self.at_once))
        running: dict[Connection, Worker] = {}
        try:
            while waiting or running:
                while waiting and free:
                    worker = self.start(context, waiting.pop(), free.pop())
                    running[worker.pipe] = worker
                    yield TrialProgress(worker.trial, 0, 0)
                for pipe in wait(list(running)):
                    # on Windows it is a PipeConnection, with the same methods
                    pipe = cast(Connection, pipe)
                    worker = running[pipe]
                    event = self.receive(worker)
                    if isinstance(event, TrialResult):
                        del running[pipe]
                        free.append(worker.slot)
                        stop_worker(worker)
                    yield event
        finally:
            for worker in running.values():
                if worker.process.is_alive():
                    worker.process.terminate()
            for worker in running.values():
                stop_worker(worker)

    def call(
        self, function: Callable[..., Returned], arguments: Mapping[str, tuple[Any, ...]]
    ) -> Iterator[tuple[str, Returned | BaseException]]:
        # each of those that run at once has its own slot, and so its own accelerator
        slots: SimpleQueue[int] = SimpleQueue()
        for number in range(self.at_once):
            slots.put(number)

        def call_in_slot(each: tuple[Any, ...]) -> Returned | BaseException:
            slot = slots.get()
            try:
                return call_in_child(function, each, slot, self.threads)
            finally:
                slots.put(slot)

        with ThreadPoolExecutor(self.at_once) as pool:
            running = {pool.submit(call_in_slot, each): name for name, each in arguments.items()}
            try:
                for future in as_completed(running):
                    yield running[future], future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def start(self, context: SpawnContext, trial: Trial, slot: int) -> Worker:
        ours, theirs = context.Pipe()
        arguments = (trial, self.comparison, theirs, os.getpid(), slot, self.threads)
        process = context.Process(target=run_worker, args=arguments)
        process.start()
        # so that the pipe ends when the process does
        theirs.close()
        return Worker(trial, slot, process, ours)

    def receive(self, worker: Worker) -> TrialProgress | TrialResult:
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join()
            return failed_trial(worker.trial, self.comparison, death_reason(worker.process.exitcode or 0))
        return message if isinstance(message, TrialResult) else TrialProgress(worker.trial, *message)


def use_slot(slot: int, threads: int) -> None:
    """Give a process its part of the machine: one of the accelerators, and some threads."""
    import torch

    # before anything asks for a device
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    devices = visible.split(",") if visible else [str(number) for number in range(torch.cuda.device_count())]
    if len(devices) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[slot % len(devices)]
    torch.set_num_threads(threads)


def run_worker(trial: Trial, comparison: Path, pipe: Connection, driver: int, slot: int, threads: int) -> None:
    """The process of a trial."""
    use_slot(slot, threads)
    stop_requested = StopWhenOrphaned(driver)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop_requested.note)

    def report_progress(done: int, total: int, remaining: float | None) -> None:
        # if the driver has ended, the trial is asked to stop, and saves itself
        with suppress(OSError):
            pipe.send((done, total, remaining))

    with suppress(Stopped, OSError):
        pipe.send(trial.train(comparison, report_progress, stop_requested))


def call_in_child(
    function: Callable[..., Returned], arguments: tuple[Any, ...], slot: int, threads: int
) -> Returned | BaseException:
    """Call it in a process like those of the trials, which may die without harm."""
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, context, use_slot, (slot, threads)) as pool:
            return pool.submit(function, *arguments).result()
    except Exception as wrong:
        return wrong


def stop_worker(worker: Worker) -> None:
    worker.process.join(SAVE_TIMEOUT)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.pipe.close()


def death_reason(code: int) -> str:
    # by its number: Windows has no SIGKILL
    if code == -9:
        return "its process was killed (signal 9), as the system does when memory runs out"
    if code < 0:
        return f"its process was killed ({signal.Signals(-code).name})"
    if code == 0:
        return "its process was stopped, and has saved itself"
    return f"its process ended with exit code {code} before it had a result"
