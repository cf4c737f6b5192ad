"""Worker processes of a test: started together, held at a line, let go at once, and heard out.

A worker runs one role of `worker.py`. It opens its lake, waits until all are ready, works, and sends
back what it found. It runs without Spark, and with warnings as errors. Importing takes more than a
second, so all are forked from a server that has done nothing but import.
"""

from __future__ import annotations

import multiprocessing
import traceback
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from pyspark import SparkContext

from tests.consistency import worker

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["pytest", __name__])
START_SECONDS = 120


@dataclass(frozen=True)
class Role:
    """A function of `worker.py`, by name, and its arguments."""

    name: str
    arguments: dict[str, Any]


def role(name: str, **arguments: Any) -> Role:
    return Role(name, arguments)


def run_together(*roles: Role, timeout: float = 400) -> list[Any]:
    """Play all roles at once, each in a process of its own; what each found, in the order given."""
    barrier = _CONTEXT.Barrier(len(roles))
    pipes = [_CONTEXT.Pipe(duplex=False) for _ in roles]
    processes = [
        _CONTEXT.Process(target=_play, args=(part, barrier, sender), daemon=True)
        for part, (_, sender) in zip(roles, pipes, strict=True)
    ]
    try:
        for process in processes:
            process.start()
        return [_heard(part, pipe, timeout) for part, (pipe, _) in zip(roles, pipes, strict=True)]
    finally:
        for process, (receiver, sender) in zip(processes, pipes, strict=True):
            process.kill()
            process.join()
            process.close()
            receiver.close()
            sender.close()


def _heard(part: Role, pipe: Connection, timeout: float) -> Any:
    if not pipe.poll(timeout):
        raise AssertionError(f"{part} is not done after {timeout} s")
    fine, said = pipe.recv()
    if not fine:
        raise AssertionError(f"{part} failed:\n{said}")
    return said


def _play(part: Role, barrier: Any, answer: Connection) -> None:
    warnings.simplefilter("error")
    try:
        found = getattr(worker, part.name)(lambda: barrier.wait(START_SECONDS), **part.arguments)
        assert SparkContext._gateway is None, "this worker started Java"
        answer.send((True, found))
    except BaseException:  # noqa: BLE001 (whatever it is, the test shows it)
        barrier.abort()
        answer.send((False, traceback.format_exc()))
