"""A standalone Spark cluster on this machine: master, workers and Connect servers are processes of their own.

Every process has a working directory of its own, and listens on loopback only. All of it comes with pyspark.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType

import pyspark

LOOPBACK = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
DAEMON_MEMORY = "512m"
WORKER_MEMORY = "2g"
PATIENCE = 300.0
"""So many seconds a process may take to start, or to notice that another one is gone."""
STOPPING = 20.0
"""So many seconds a process has to end when it is asked to, before it is killed."""
EXECUTOR = "CoarseGrainedExecutorBackend"
_TASK_ENDED = re.compile(r"Executor: (?:Finished task|Exception in task|Executor (?:killed|interrupted))")
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class Daemon:
    """A process of Spark's in a folder of its own, which ends with all that it has started."""

    def __init__(self, folder: Path, command: Sequence[str], environment: Mapping[str, str]) -> None:
        folder.mkdir(parents=True)
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it hasn't ended yet."""
        return self._process.poll() is None

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait until it is ready; that it ended before, or that it takes too long, is an error."""
        wait_until(lambda: not self.is_running or ready(), f"{self.log.parent.name} is ready")
        assert self.is_running, self.log.read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        """End it at once, as a machine that loses power would."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ask it to end; then end what is left of the processes it started."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOPPING)
        # The group is this process's own: nobody else's can be in it.
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


class Cluster:
    """A master and its workers, each of one core."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._started = 0
        port, page = find_free_port(), find_free_port()
        self.url = f"spark://{LOOPBACK}:{port}"
        self._page = f"http://{LOOPBACK}:{page}/json/"
        self._connect_servers: list[Daemon] = []
        self.workers: list[Daemon] = []
        command = [MASTER, "--host", LOOPBACK, "--port", str(port), "--webui-port", str(page)]
        self._master = self._start("master", [str(SPARK_HOME / "bin" / "spark-class"), *command])
        try:
            self._master.wait_until(lambda: self._read_status() is not None)
            self.start_workers(workers)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def worker_pids(self) -> list[int]:
        """The processes of the workers that run."""
        return [worker.pid for worker in self.workers if worker.is_running]

    def start_workers(self, count: int) -> None:
        """Start workers until there are so many, and wait until the master knows them and no others."""
        for worker in self.workers:
            if not worker.is_running:
                worker.stop()
        self.workers = [worker for worker in self.workers if worker.is_running]
        for _ in range(count - len(self.workers)):
            # Unless told otherwise, a worker starts its executors in pyspark's own folder.
            work = self._folder / f"executors-{self._started}"
            options = ["--host", LOOPBACK, "--webui-port", "0", "--cores", "1", "--memory", WORKER_MEMORY]
            command = [str(SPARK_HOME / "bin" / "spark-class"), WORKER, *options, "--work-dir", str(work)]
            command.append(self.url)
            self.workers.append(self._start("worker", command))
        for worker in self.workers:
            worker.wait_until(lambda: self._count_alive_workers() == count)

    def wait_until_idle(self) -> None:
        """Wait until no application holds a core."""
        wait_until(lambda: (self._read_status() or {}).get("coresused") == 0, "all cores are free")

    def start_connect_server(self, options: Mapping[str, str] = MappingProxyType({})) -> ConnectServer:
        """Start a Connect server whose executors are this cluster's."""
        port = find_free_port()
        settings = {
            **application_options(self.url),
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": str(port),
            **options,
        }
        given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        command = [str(SPARK_HOME / "bin" / "spark-submit"), "--class", CONNECT_SERVER, *given]
        server = ConnectServer(self._start("connect", command), f"sc://{LOOPBACK}:{port}")
        self._connect_servers.append(server.daemon)
        server.daemon.wait_until(lambda: _accepts_connections(port))
        return server

    def stop(self) -> None:
        """Stop every process that was started here."""
        for daemon in (*self._connect_servers, *self.workers, self._master):
            daemon.stop()

    def _start(self, kind: str, command: Sequence[str]) -> Daemon:
        self._started += 1
        environment = {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": DAEMON_MEMORY,
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }
        return Daemon(self._folder / f"{kind}-{self._started}", command, environment)

    def _count_alive_workers(self) -> int | None:
        status = self._read_status()
        return None if status is None else int(status["aliveworkers"])

    def _read_status(self) -> dict[str, object] | None:
        """What the master says of itself; None while it says nothing."""
        try:
            with urllib.request.urlopen(self._page, timeout=10) as page:
                found: dict[str, object] = json.load(page)
                return found
        except OSError:
            return None


class ConnectServer:
    """A Connect server, and where it is reached."""

    def __init__(self, daemon: Daemon, url: str) -> None:
        self.daemon, self.url = daemon, url

    def stop(self) -> None:
        """Stop the process; its executors end with it."""
        self.daemon.stop()


def application_options(master: str) -> dict[str, str]:
    """How an application uses the cluster: an executor on each worker, as large as the worker."""
    return {
        "spark.master": master,
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.executor.cores": "1",
        "spark.executor.memory": WORKER_MEMORY,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


# -- executors ------------------------------------------------------------------------------------


def list_executors(workers: Sequence[int]) -> list[int]:
    """The processes of the executors that these workers have started, in order."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "stat=", "-o", "args="],
        check=True,
        capture_output=True,
        text=True,
    )
    found = []
    for line in listed.stdout.splitlines():
        pid, parent, state, *arguments = line.split(maxsplit=3)
        if int(parent) in workers and not state.startswith("Z") and EXECUTOR in "".join(arguments):
            found.append(int(pid))
    return sorted(found)


def wait_for_executors(workers: Sequence[int], count: int) -> list[int]:
    """The executors of these workers, once there are so many."""
    wait_until(lambda: len(list_executors(workers)) >= count, f"there are {count} executors")
    return list_executors(workers)


def find_busy_executors(workers: Sequence[int]) -> list[int]:
    """Those on which a task runs, as they say in their own logs."""
    return [pid for pid in list_executors(workers) if _count_running_tasks(pid)]


def _count_running_tasks(executor: int) -> int:
    try:
        said = (Path("/proc") / str(executor) / "cwd" / "stderr").read_text(errors="replace")
    except OSError:  # gone, or not there yet
        return 0
    return said.count("Executor: Running task") - len(_TASK_ENDED.findall(said))


def kill_and_wait(pid: int) -> None:
    """End a process as a machine that loses power would, and wait until it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not _exists(pid), f"process {pid} is gone")


def _exists(pid: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] not in ("", "Z")


# -- waiting --------------------------------------------------------------------------------------


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds; an error if it takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE:.0f} s until {what}")
        time.sleep(0.1)


def find_free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        return int(free.getsockname()[1])


def _accepts_connections(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0
