"""Processes that may die: a server with everything imported, which forks a child per job.

Starting Python and importing takes more than a second, forking takes milliseconds. The server itself
never opens a lake: no connection and no thread crosses a fork. `python -m tests.crash.children JOB`
runs one job in a process of its own instead, with what the environment asks for.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.failpoints import Failpoints
from tests.crash.scripts import SCRIPTS
from tests.crash.stream_scripts import STREAM_SCRIPTS
from tests.engines.lakes import duck_lake
from tests.project.upheaval import apply_project

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.crash.children"]
OPENERS: dict[str, Callable[..., ab.Lake]] = {"spark": ab.connect, "duck": duck_lake}


@dataclass(frozen=True)
class Job:
    """A script to run on a lake, and where it is to be killed."""

    script: str
    location: str
    catalog: str | None = None
    failpoints: str = ""
    attempt: str | None = None
    now: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    engine: str = "spark"

    def run(self) -> Any:
        """Do it, here and now."""
        with OPENERS[self.engine](
            self.location,
            catalog=self.catalog,
            clock=ab.ManualClock(datetime.fromisoformat(self.now) if self.now else None),
            failpoints=Failpoints.from_text(self.failpoints) if self.failpoints else None,
            **self.settings,
        ) as lake:
            return {**SCRIPTS, **STREAM_SCRIPTS, "apply_project": apply_project}[self.script](
                lake, self.attempt
            )


@dataclass(frozen=True)
class End:
    """How a child ended: the signal that killed it, or what its script gave, or its error."""

    killed_by: int | None
    result: Any = None
    error: str | None = None

    @property
    def killed(self) -> bool:
        """Whether it died by `kill -9`."""
        return self.killed_by == signal.SIGKILL


class Children:
    """The server, from outside."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [*COMMAND, "serve"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *jobs: Job) -> list[End]:
        """Run jobs at the same moment, each in a child of its own, and wait for all."""
        stdin, stdout = self._server.stdin, self._server.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps([asdict(job) for job in jobs]) + "\n")
        stdin.flush()
        return [End(**end) for end in json.loads(stdout.readline())]

    def close(self) -> None:
        """No more children."""
        self._server.communicate(timeout=30)


def alone(job: Job, failpoints: str) -> int:
    """Run a job in a fresh Python, killed where the environment says; its return code."""
    environment = {**os.environ, "ANABRANCH_FAILPOINTS": failpoints}
    return subprocess.run(
        [*COMMAND, json.dumps(asdict(job))], cwd=ROOT, env=environment, check=False
    ).returncode


# -- inside the server ----------------------------------------------------------------------------


def _serve() -> None:
    for line in sys.stdin:
        ends = _run_together([Job(**item) for item in json.loads(line)])
        print(json.dumps([asdict(end) for end in ends]), flush=True)


def _run_together(jobs: list[Job]) -> list[End]:
    gate, opener = os.pipe()
    children = [_fork(job, gate, opener) for job in jobs]
    os.close(gate)
    os.close(opener)  # every child waits for the end of this pipe
    return [_wait(pid, answer) for pid, answer in children]


def _fork(job: Job, gate: int, opener: int) -> tuple[int, int]:
    answer, giving = os.pipe()
    pid = os.fork()
    if pid:
        os.close(giving)
        return pid, answer
    os.close(opener)
    os.read(gate, 1)
    warnings.simplefilter("error")
    try:
        said = {"result": job.run()}
    except BaseException:  # noqa: BLE001  the child must not go on as a second server
        said = {"error": traceback.format_exc()}
    os.write(giving, json.dumps(said).encode())
    os._exit(0)


def _wait(pid: int, answer: int) -> End:
    with os.fdopen(answer, "rb") as stream:
        said = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return End(killed_by=-code if code < 0 else None, **(json.loads(said) if said else {}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve()
    else:
        Job(**json.loads(sys.argv[1])).run()
