"""A wheel of the package, installed by itself; and a cluster with a driver on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import pytest

from tests.cluster.standalone import Cluster
from tests.cluster.wheel import install_wheel
from tests.spark_session import SMALL_SESSION, session_options

ROOT = Path(__file__).parents[2]
LONGEST = 3000
"""So many seconds a scenario may take."""
WORKERS = 2
Session = Literal["started", "given", "connect"]
"""Started by the lake, started by the driver and given to the lake, or a Connect server's."""
SMALL_PROCESSES = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.sql.shuffle.partitions": "3",
}
QUICK_START = {
    # Few rows: compiling costs more than running.
    "spark.driver.extraJavaOptions": SMALL_SESSION["spark.driver.extraJavaOptions"],
    "spark.executor.extraJavaOptions": SMALL_SESSION["spark.driver.extraJavaOptions"],
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Unless the tests are to run in production settings."""


class Drivers:
    """Runs scenarios in processes of their own."""

    def __init__(self, folder: Path, wheel: Path, cluster: Cluster) -> None:
        self._folder, self._wheel, self._cluster = folder, wheel, cluster
        self._started = 0

    def run(
        self,
        scenario: str,
        session: Session,
        options: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Run a scenario to its end; its error is raised here."""
        options = {**SMALL_PROCESSES, **(QUICK_START if session_options() else {}), **options}
        self._cluster.start_workers(WORKERS)
        self._cluster.wait_until_idle()
        server = self._cluster.start_connect_server(options) if session == "connect" else None
        try:
            self._run(scenario, session, None if server is None else server.url, options)
        finally:
            if server is not None:
                server.stop()

    def _run(self, scenario: str, session: Session, connect: str | None, options: Mapping[str, str]) -> None:
        self._started += 1
        place = self._folder / f"driver-{self._started}"
        place.mkdir(parents=True)
        job = {
            "scenario": scenario,
            "wheel": str(self._wheel),
            "master": self._cluster.url,
            "workers": self._cluster.worker_pids,
            "connect": connect,
            "options": dict(options),
            "given": session == "given",
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.cluster.driver", json.dumps(job)],
            cwd=place,
            env={**os.environ, "PYTHONPATH": f"{self._wheel}{os.pathsep}{ROOT}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-8000:]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where a wheel of the package is installed."""
    return install_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Iterator[Drivers]:
    """A cluster, and drivers for it."""
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(folder / "processes", WORKERS) as cluster:
        yield Drivers(folder, wheel, cluster)
