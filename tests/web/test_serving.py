"""The service as a process: it schedules, logs, stops when told to, and gives its lease back."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import httpx
import pytest

import anabranch as ab
from anabranch.web.logs import JsonFormatter, log_as_json
from tests.engines.lakes import duck_lake
from tests.web.conftest import BEARER, PATIENCE, TOKEN, stocked

SCRIPT = """
import sys
from anabranch.web import serve
from tests.engines.lakes import duck_lake
with duck_lake(sys.argv[1]) as lake:
    serve(lake, port=0, token=sys.argv[2] or None, started=lambda url: print(url, flush=True), grace=20)
print("stopped", flush=True)
"""


class Process:
    """A service in a process of its own."""

    def __init__(self, place, token: str = TOKEN) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(place), token],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if line.startswith("http://"):
                break
        self.url = self.lines[-1]

    def stop(self, number: signal.Signals) -> tuple[int, str, list[dict]]:
        """Send a signal; its exit status, what it printed from then on, what it logged."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, [json.loads(line) for line in err.splitlines()]


@pytest.fixture
def process():
    """Starts services in processes of their own, and leaves none behind."""
    begun: list[Process] = []

    def start(*arguments) -> Process:
        begun.append(Process(*arguments))
        return begun[-1]

    yield start
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@pytest.fixture
def stock(place):
    with duck_lake(place) as lake:
        stocked(lake)
        lake.alter_stream_table("by_region", schedule="1s")
    return place


@pytest.mark.rotating(2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_stops_it_cleanly(stock, process, number):
    service = process(stock)
    with duck_lake(stock) as lake:
        listening = httpx.stream("GET", f"{service.url}/api/v1/events", timeout=PATIENCE)
        with listening as stream:
            lines = stream.iter_lines()
            next(lines)
            lake.insert("orders", [(9, "east", 7)])
            assert any("refresh_finished" in line for line in lines)
            assert lake.leading_scheduler() is not None
            assert httpx.get(f"{service.url}/readyz").json()["checks"]["scheduler"] == "leading"
            code, out, log = service.stop(number)
            assert list(lines) is not None  # the stream ended
        assert (code, out) == (0, "stopped\n")
        assert lake.leading_scheduler() is None
        assert {"region": "east", "total": 7} in lake.arrow("by_region").to_pylist()
    refreshes = [line for line in log if line.get("event") == "refresh"]
    assert ("by_region", "DIFFERENTIAL", "SUCCEEDED") in [
        (line["stream_table"], line["action"], line["status"]) for line in refreshes
    ]


def test_a_second_scheduler_waits_and_takes_over(stock, started):
    with duck_lake(stock, scheduler_lease="2s") as lake:
        first = started(lake)
        assert until(lambda: first.get("/readyz").json()["checks"]["scheduler"] == "leading")
        with duck_lake(stock, scheduler_lease="2s") as other:
            second = started(other)
            assert until(lambda: second.get("/api/v1/lake").json()["scheduler"] == "waiting")
            assert second.get("/readyz").status_code == 200
            action = second.post("/api/v1/tick").json()["action"]
            assert until(lambda: second.get(f"/api/v1/actions/{action}").json()["state"] == "succeeded")
            assert second.get(f"/api/v1/actions/{action}").json()["result"]["leads"] is False


def until(look, patience: float = PATIENCE) -> bool:
    pause = threading.Event()
    for _ in range(int(patience / 0.05)):
        if look():
            return True
        pause.wait(0.05)
    return False


def test_a_token_that_is_made_is_told_once_and_never_logged(stock, process):
    service = process(stock, "")
    told = [line for line in service.lines if "token" in line]
    assert len(told) == 1
    token = told[0].rpartition(" ")[2]
    answer = httpx.post(
        f"{service.url}/api/v1/sources/orders/gate", headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 200
    assert httpx.post(f"{service.url}/api/v1/sources/orders/gate", headers=BEARER).status_code == 401
    history = f"{service.url}/api/v1/history"
    assert until(lambda: "SKIP" in httpx.get(history, timeout=PATIENCE).text)
    _, out, log = service.stop(signal.SIGTERM)
    assert token not in out
    assert token not in json.dumps(log)
    assert TOKEN not in json.dumps(log)
    requests = [line for line in log if line.get("event") == "request"]
    assert [(line["method"], line["path"], line["status"]) for line in requests] == [
        ("POST", "/api/v1/sources/orders/gate", 200),
        ("POST", "/api/v1/sources/orders/gate", 401),
    ]
    skips = [line for line in log if line.get("action") == "SKIP"]
    assert skips
    assert "gated" in skips[0]["reason"]


def test_a_port_that_is_taken_is_said_to_be(stock, started):
    from anabranch.errors import InvalidServiceOption
    from anabranch.web import serve

    with duck_lake(stock) as lake:
        port = started(lake).base_url.port
        with pytest.raises(InvalidServiceOption, match="can't listen"):
            serve(lake, port=port, token=TOKEN)


def test_a_line_of_the_log_is_one_line_of_json(capsys):
    import io
    import logging
    import warnings

    stream = io.StringIO()
    with log_as_json(ab.ManualClock(), stream):
        logging.getLogger("anabranch.web").info("a\nb", extra={"fields": {"n": float("nan"), "o": object}})
        warnings.warn(ab.Notice("look here"), stacklevel=1)
    logging.getLogger("anabranch.web").error("not there any more")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(lines) == 2
    assert lines[0]["message"] == "a\nb"
    assert lines[0]["time"] == "2030-01-01T00:00:00+00:00"
    assert "look here" in lines[1]["message"]
    assert JsonFormatter(ab.ManualClock())
