"""The first minutes with a project, as a new user types them: installed, in real processes, on real Spark."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> tuple[list[str], dict[str, str]]:
    """What `pip install .` leaves behind: only that is on the path, and the folder of the sources isn't."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(target), str(ROOT)]
    subprocess.run(command, check=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ANABRANCH_")}
    return [str(target / "bin" / "anabranch")], {**kept, "PYTHONPATH": str(target), "COLUMNS": "200"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home") / "shop"


def said(program, folder: Path, *words: str, code: int = 0) -> str:
    """Run a command in a folder; what it printed."""
    command, environment = program
    done = subprocess.run(
        [*command, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def started(program, folder: Path, *words: str) -> subprocess.Popen[str]:
    command, environment = program
    return subprocess.Popen(
        [*command, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def line_with(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The first line that matches; what came before it, if none does."""
    before = []
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(pattern, line):
            return found
        before.append(line)
    raise AssertionError("".join(before))


def stopped(process: subprocess.Popen[str], number: int) -> int:
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    return process.returncode


@pytest.mark.timeout(1800)
def test_from_nothing_to_fresh_tables(program, shop):
    assert "anabranch apply" in said(program, shop.parent, "init", "--example", "shop")
    planned = said(program, shop, "plan", "--check", code=4)
    assert "+ stream table   revenue_check  schedule calculated, incremental" in planned
    assert not (shop / "lake").exists()
    assert "applied, at lsn 1" in said(program, shop, "apply", "--yes")
    said(program, shop, "sql", "-f", "load.sql")
    ticked = json.loads(said(program, shop, "-o", "json", "tick"))
    assert len(ticked["refreshed"]) == 4
    assert rows(program, shop) == {"by_product": 3, "by_region": 3, "revenue_check": 1, "top_customers": 3}
    assert "nothing to change" in said(program, shop, "plan", "--check")


@pytest.mark.timeout(900)
def test_a_scheduler_runs_until_it_is_told_to_stop(program, shop):
    said(program, shop, "sql", "-f", "more.sql")
    scheduler = started(program, shop, "run")
    line_with(scheduler, "by_product|by_region")
    assert stopped(scheduler, signal.SIGINT) in (0, 130)
    assert "ACTIVE" in said(program, shop, "status")


@pytest.mark.timeout(900)
def test_the_service_answers_and_shows_its_page(program, shop):
    service = started(program, shop, "serve", "--port", "0")
    address = line_with(service, r"http://127\.0\.0\.1:\d+").group()
    deadline = time.monotonic() + PATIENCE
    while b"ok" not in fetched(f"{address}/healthz"):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert b"Anabranch" in fetched(address + "/")
    assert len(json.loads(fetched(f"{address}/api/v1/stream-tables"))) == 4
    assert stopped(service, signal.SIGTERM) == 0


def rows(program, shop: Path) -> dict[str, int]:
    status = json.loads(said(program, shop, "-o", "json", "status"))
    assert {each["status"] for each in status} == {"ACTIVE"}
    return {each["name"]: each["rows"] for each in status}


def fetched(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bytes(answer.read())
    except OSError:
        return b""
