"""Server-sent events: a commit is told, slow clients are dropped, and all streams end with the service."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from anabranch.errors import ServiceBusy
from anabranch.web import events
from anabranch.web.events import MAX_CLIENTS, MAX_WAITING, EventStreams, format_event
from tests.web.conftest import BEARER, TOKEN


def alone(work):
    """What a coroutine returns, in a thread of its own: a browser test may have left a loop in this one."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()


def told(lines, kind: str) -> dict:
    """The data of the next event of that kind."""
    for line in lines:
        if line == f"event: {kind}":
            return json.loads(next(lines).removeprefix("data: "))
    raise AssertionError("the stream ended")


def test_a_commit_is_told_to_all_who_listen(started, shop):
    service = started(shop, scheduler=False)
    with service.stream("GET", "/api/v1/events") as one, service.stream("GET", "/api/v1/events") as other:
        assert one.headers["content-type"].startswith("text/event-stream")
        assert one.headers["cache-control"] == "no-store"
        streams = [one.iter_lines(), other.iter_lines()]
        for lines in streams:
            assert told(lines, "lake") == {"lsn": shop.lsn}
        lsn = shop.insert("orders", [(7, "west", 1)]).lsn
        for lines in streams:
            assert told(lines, "lake") == {"lsn": lsn}


def test_what_has_no_lsn_is_told_too(started, shop):
    service = started(shop, scheduler=False)
    with service.stream("GET", "/api/v1/events") as stream:
        lines = stream.iter_lines()
        lsn = told(lines, "lake")["lsn"]
        shop.suspend_stream_table("large")
        assert told(lines, "lake") == {"lsn": lsn}


def test_steps_of_the_scheduler_and_finished_actions_are_told(started, shop):
    service = started(shop)
    with service.stream("GET", "/api/v1/events") as stream:
        lines = stream.iter_lines()
        action = httpx.post(
            f"{service.base_url}/api/v1/stream-tables/sales.names/refresh",
            headers=BEARER,
            json={"full": True},
        ).json()["action"]
        done = told(lines, "action")
        assert (done["id"], done["state"], done["name"]) == (action, "succeeded", "sales.names")
        shop.insert("orders", [(7, "west", 1)])
        # A tick that the refresh woke may still be under way: its end is told first.
        while told(lines, "step")["kind"] != "tick_started":
            pass


def test_a_silent_stream_shows_that_it_lives(monkeypatch):
    monkeypatch.setattr(events, "KEEP_ALIVE", 0.01)

    async def listen() -> list[str]:
        client = EventStreams().open_stream()
        stream = client.stream_messages("first")
        return [await anext(stream), await anext(stream)]

    assert alone(listen()) == ["first", ": keep-alive\n\n"]


def test_a_client_that_does_not_keep_up_is_dropped_and_nobody_waits_for_it():
    async def listen() -> tuple[int, int]:
        every = EventStreams()
        slow, quick = every.open_stream(), every.open_stream()
        stream = quick.stream_messages("first")
        assert await anext(stream) == "first"
        for number in range(2 * MAX_WAITING):
            every.broadcast("lake", {"lsn": number})
            assert await anext(stream) == format_event("lake", {"lsn": number})
        seen = [text async for text in slow.stream_messages("first")]
        return len(seen), 2 * MAX_WAITING

    seen, sent = alone(listen())
    assert 1 <= seen <= MAX_WAITING + 1 < sent


def test_no_more_clients_are_taken_than_there_is_room_for():
    async def join() -> None:
        every = EventStreams()
        clients = [every.open_stream() for _ in range(MAX_CLIENTS)]
        with pytest.raises(ServiceBusy) as caught:
            every.open_stream()
        assert caught.value.code == "AB932"
        every.close_stream(clients[0])
        every.open_stream()
        assert len(every) == MAX_CLIENTS

    alone(join())


def test_a_client_that_goes_makes_room(started, shop):
    service = started(shop, scheduler=False)

    def streams_open() -> str:
        return re.search(r"^anabranch_event_streams (\S+)$", service.get("/metrics").text, re.MULTILINE)[1]

    for _ in range(5):
        with service.stream("GET", "/api/v1/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            assert float(streams_open()) >= 1
    pause = threading.Event()
    for _ in range(100):
        if float(streams_open()) == 0:
            return
        pause.wait(0.1)
    raise AssertionError("a stream that was closed is still held")


def test_streams_end_when_the_service_stops(shop):
    from anabranch.web import serve

    stop, ready, address = threading.Event(), threading.Event(), []
    thread = threading.Thread(
        target=serve,
        args=(shop,),
        kwargs={
            "port": 0,
            "token": TOKEN,
            "stop": stop,
            "tell": lambda _: None,
            "started": lambda url: (address.append(url), ready.set()),
        },
    )
    thread.start()
    assert ready.wait(20)
    with httpx.stream("GET", f"{address[0]}/api/v1/events", timeout=20) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: lake"
        stop.set()
        for _ in lines:
            pass
    thread.join(20)
    assert not thread.is_alive()
    assert shop.leading_scheduler() is None
