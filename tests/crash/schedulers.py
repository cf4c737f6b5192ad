"""Schedulers as processes of their own, on the machine's clock: told what to do by signals.

`python -m tests.crash.schedulers JOB` runs `lake.run()` on the engine for tests and writes a line per event.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from anabranch.clock import ManualClock
from anabranch.failpoints import Failpoints
from tests.engines.lakes import duck_lake

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds after which something that should happen won't."""


@dataclass(frozen=True)
class Job:
    """Where to schedule, and at which failpoint to stop once, as if the machine had gone to sleep."""

    location: str
    catalog: str | None = None
    sleep_at: str | None = None
    settings: dict[str, str] = field(default_factory=dict)


class Scheduler:
    """A scheduler, from outside. Use as a context manager: none is left running."""

    def __init__(self, job: Job) -> None:
        self.seen: list[str] = []
        """The kinds of all events so far."""
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.schedulers", json.dumps(asdict(job))],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def until(self, kind: str) -> None:
        """Wait for the next event of a kind."""
        end = time.monotonic() + PATIENCE
        while (said := self._lines.get(timeout=max(0.0, end - time.monotonic()))) != kind:
            assert said is not None, f"it ended before {kind}; it said {self.seen}"

    def until_asleep(self) -> None:
        """Wait until it has stopped itself."""
        pid, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert pid == self.process.pid
        assert os.WIFSTOPPED(status), f"it ended with {status}; it said {self.seen}"

    def wake(self) -> None:
        """Let it go on as if no time had passed."""
        self.process.send_signal(signal.SIGCONT)

    def ask_to_stop(self) -> int:
        """A SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        assert self.process.wait(PATIENCE) == -signal.SIGKILL

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.seen.append(line.strip())
            self._lines.put(line.strip())
        self._lines.put(None)


def eventually(
    holds: Callable[[], bool], patience: float = PATIENCE, clock: ManualClock | None = None
) -> float:
    """Wait until something holds; the seconds that it took. On a clock given, each look takes a second."""
    start = time.monotonic()
    while not holds():
        assert time.monotonic() < start + patience, "it never came"
        time.sleep(0.02)
        if clock is not None:
            clock.advance(1)
    return time.monotonic() - start


# -- inside the process ---------------------------------------------------------------------------


_lock = threading.Lock()


def _say(kind: str) -> None:
    with _lock:
        print(kind, flush=True)


def _run(job: Job) -> None:
    failpoints = Failpoints()
    if job.sleep_at is not None:
        point = job.sleep_at

        def sleep() -> None:
            failpoints.disarm(point)
            os.kill(os.getpid(), signal.SIGSTOP)

        failpoints.arm(point, sleep)
    warnings.simplefilter("error")
    with duck_lake(job.location, catalog=job.catalog, failpoints=failpoints, **job.settings) as lake:
        _say("opened")
        lake.run(observer=lambda event: _say(event.kind))
    _say("over")


if __name__ == "__main__":
    _run(Job(**json.loads(sys.argv[1])))
