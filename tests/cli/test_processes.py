"""The command line as a process of its own: what only shows there."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import anabranch as ab
from anabranch.clock import read_stopwatch
from tests.engines.lakes import duck_lake
from tests.streams.shop import diamond, sell, stock

ROOT = Path(__file__).parents[2]
ON_DUCKDB = """
import signal
import sys
from anabranch.cli.main import main
from anabranch.cli.session import Session
from tests.engines.lakes import duck_lake

def connect(location, *, catalog, observer):
    return duck_lake(location, catalog=catalog, observer=observer)

# What a shell starts in the background ignores interrupts, and so would this.
signal.signal(signal.SIGINT, signal.default_int_handler)
main(sys.argv[1:], session=Session(connect=connect))
"""
PATIENCE = 120.0


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ANABRANCH_")}
    return {**kept, "PYTHONPATH": path, **more}


def anabranch(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anabranch", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=PATIENCE, check=False
    )


def on_duckdb(*words: object) -> list[str]:
    return [sys.executable, "-c", ON_DUCKDB, *map(str, words)]


def test_it_runs_as_a_module(place):
    with ab.connect(place) as lake:
        lake.create_table("sales", "id BIGINT")
        lake.insert("sales", [(1,), (2,)])
    done = anabranch("--lake", place, "tables", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["rows"] == 2
    assert anabranch("--lake", place, "preview", "nope").returncode == 3
    assert anabranch("status", "--lake", place / "nowhere").returncode == 2


def test_to_look_never_imports_spark(place):
    with duck_lake(place) as lake:
        stock(lake)
        lake.create_stream_table("kept", "SELECT id FROM sales")
    words = [
        ["status"],
        ["history"],
        ["graph"],
        ["tables"],
        ["preview", "kept"],
        ["gates"],
        ["doctor"],
        ["settings"],
    ]
    program = (
        "import sys\nfrom anabranch.cli.main import main\n"
        f"for words in {words!r}:\n"
        "    try:\n        main(words)\n    except SystemExit as end:\n        assert end.code == 0, words\n"
        "    assert 'pyspark' not in sys.modules, words\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(ANABRANCH_LAKE=str(place)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_reader_that_goes_away_is_no_error(place):
    with duck_lake(place) as lake:
        stock(lake)
    pipe = subprocess.Popen(
        [sys.executable, "-m", "anabranch", "--lake", str(place), "settings"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert pipe.stdout is not None
    pipe.stdout.close()
    _, said = pipe.communicate(timeout=PATIENCE)
    assert b"Traceback" not in said


def test_running_finishes_what_is_under_way_when_interrupted(place):
    with duck_lake(place) as lake:
        stock(lake)
        with_notices_ignored(lake)
        sell(lake, 9, amount=7)
    process = subprocess.Popen(
        on_duckdb("--lake", place, "run", "-o", "json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    try:
        assert process.stdout is not None
        told = [json.loads(process.stdout.readline()) for _ in range(3)]
        assert {each["event"] for each in told} <= {"refresh_finished", "group_committed"}
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    with duck_lake(place) as lake:
        assert all(lake.verify(each.name).ok for each in lake.status())
        assert lake.leading_scheduler() is None


def with_notices_ignored(lake: ab.Lake) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        diamond(lake, schedule="1s")


def test_an_interrupt_elsewhere_has_exit_code_130(place):
    with duck_lake(place) as lake:
        stock(lake)
    process = subprocess.Popen(
        on_duckdb("--lake", place, "status", "--watch", "--interval", "0.2", "-o", "json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "[]\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert "Traceback" not in said
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, *words: object) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            on_duckdb(*words),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(TERM="dumb", COLUMNS="100", NO_COLOR="1"),
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def wait_for(self, text: str) -> None:
        """Read on until a text has come, which is then behind."""
        end = read_stopwatch() + PATIENCE
        while text not in self.seen:
            assert read_stopwatch() < end, self.seen
            if select.select([self._ours], [], [], 1.0)[0]:
                try:
                    self.seen += os.read(self._ours, 65536).decode(errors="replace").replace("\r", "")
                except OSError:
                    break
        assert text in self.seen, self.seen
        self.seen = self.seen.partition(text)[2]

    def close(self) -> int:
        try:
            return self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            os.close(self._ours)


def test_on_a_terminal_a_prompt_asks_for_statements(place):
    terminal = Terminal("--lake", place, "sql")
    terminal.wait_for("anabranch> ")
    terminal.type("CREATE TABLE t (id BIGINT,\n")
    terminal.wait_for("...> ")
    terminal.type("note STRING);\n")
    terminal.wait_for("done")
    terminal.wait_for("anabranch> ")
    terminal.type("INSERT INTO t VALUES (1, 'a;\n")
    terminal.wait_for("...> ")
    terminal.type("b'); SELECT id + 41 AS answer FROM t;\n")
    terminal.wait_for("1 row inserted")
    terminal.wait_for("42")
    terminal.wait_for("anabranch> ")
    terminal.type("SELECT nope FROM t;\n")
    terminal.wait_for("AB206 ")
    terminal.wait_for("anabranch> ")
    terminal.type("SELECT 'never closed;\n\n")
    terminal.wait_for("AB201 ")
    terminal.wait_for("anabranch> ")
    terminal.type("exit\n")
    assert terminal.close() == 0


def test_dropping_asks_first_on_a_terminal(place):
    with duck_lake(place) as lake:
        stock(lake)
        lake.create_stream_table("kept", "SELECT id FROM sales")
    for answer, code, left in (("n\n", 1, ["kept"]), ("y\n", 0, [])):
        terminal = Terminal("--lake", place, "drop", "kept")
        terminal.wait_for("Drop kept?")
        terminal.type(answer)
        assert terminal.close() == code
        with ab.connect(place) as lake:
            assert [each.name for each in lake.status()] == left
