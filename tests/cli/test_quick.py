"""To look at a lake is quick: its catalog is read, and nothing imported that reads files or parses SQL."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.lakes import duck_lake
from tests.streams.many import enter_many

ROOT = Path(__file__).parents[2]
HEAVY = frozenset({"pyiceberg", "pyarrow", "pandas", "sqlglot", "numpy", "pyspark"})
IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\w+)", re.MULTILINE)
PROJECT = """
name: shop
lake: {lake}
environments:
  prod:
    settings: {{default_schedule: 5m}}
"""


@pytest.fixture
def few(place: Path) -> Path:
    """A lake with a chain of stream tables, closed again."""
    with duck_lake(place) as lake:
        enter_many(lake, 5)
    return place


def python(*arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ANABRANCH_")}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**kept, "PYTHONPATH": path},
        cwd=folder,
        timeout=120,
        check=True,
    )


def imported(*words: object, folder: Path | None = None) -> set[str]:
    """The packages that a call of the command line imports, whatever it needs them for."""
    done = python("-X", "importtime", "-m", "anabranch", *words, folder=folder)
    assert done.stdout
    return set(IMPORTED.findall(done.stderr))


@pytest.mark.parametrize(
    "words",
    ["status", "status --output json", "status s00001+", "history", "graph", "gates", "settings"],
)
def test_a_look_imports_nothing_that_reads_files_or_parses_sql(few, words):
    found = imported("--lake", few, *words.split())
    assert "sqlalchemy" in found
    assert not found & HEAVY


def test_nor_does_one_at_the_lake_of_a_project(few, tmp_path):
    (tmp_path / "anabranch.yml").write_text(PROJECT.format(lake=few))
    (tmp_path / "broken.sql").write_text("CREATE")
    found = imported("--env", "prod", "status", folder=tmp_path)
    assert "yaml" in found
    assert not found & HEAVY


def test_what_reads_files_is_seen_to_import_it(few):
    assert {"pyiceberg", "pyarrow"} <= imported("--lake", few, "preview", "events")


def test_nor_does_python_until_rows_are_asked_for(few):
    program = (
        "import sys, anabranch as ab\n"
        f"with ab.connect({str(few)!r}) as lake:\n"
        "    lake.status(), lake.graph(), lake.refresh_history(), lake.tables(), lake.lsn\n"
        f"    assert not {set(HEAVY)!r} & sys.modules.keys()\n"
        "    assert lake.arrow('events').num_rows == 0\n"
    )
    python("-c", program)


def seconds(*arguments: object) -> float:
    """What the quickest of three calls takes of a processor: others at work count as little as can be."""
    return min(_seconds(arguments) for _ in range(3))


def _seconds(arguments: tuple[object, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    python(*arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.fixture
def thousand(place: Path) -> Path:
    with duck_lake(place) as lake:
        enter_many(lake, 1_000)
    return place


def test_the_status_of_a_thousand_takes_little_longer_than_the_libraries_it_needs(thousand):
    said = python("-m", "anabranch", "--lake", thousand, "status", "-o", "json").stdout
    assert [each["status"] for each in json.loads(said)] == ["ACTIVE"] * 1_000
    bare = seconds("-c", "import sqlalchemy, typer, rich")
    assert seconds("-m", "anabranch", "--lake", thousand, "status") <= 3 * bare + 1
