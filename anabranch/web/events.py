"""Server-sent events: what happened goes to every client that listens, and nobody waits for a slow one."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from anabranch.errors import ServiceBusy
from anabranch.jsonable import to_jsonable

MAX_CLIENTS = 64
MAX_WAITING = 256
"""Events that wait for a client; one that is further behind is dropped, and connects again."""
KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment is sent, so that nobody takes the stream for dead."""


class Client:
    """One listener's queue, which belongs to the loop that serves it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue(MAX_WAITING + 1)
        self._over = False

    def put(self, message: str) -> None:
        """Hand over a message, from any thread."""
        self._put_from_any_thread(message)

    def end(self) -> None:
        """End the stream, from any thread."""
        self._put_from_any_thread(None)

    def _put_from_any_thread(self, message: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed, and the client gone with it
            self._loop.call_soon_threadsafe(self._put, message)

    def _put(self, message: str | None) -> None:
        if self._over:
            return
        if message is None or self._waiting.qsize() >= MAX_WAITING:
            self._over = True
            while self._waiting.full():
                self._waiting.get_nowait()
            message = None
        self._waiting.put_nowait(message)

    async def stream_messages(self, first: str) -> AsyncIterator[str]:
        """The stream: what is to be told at the start, then what happens, and a sign of life."""
        yield first
        while True:
            try:
                message = await asyncio.wait_for(self._waiting.get(), KEEP_ALIVE)
            except TimeoutError:
                yield ": keep-alive\n\n"
                continue
            if message is None:
                return
            yield message


class EventStreams:
    """All clients of a service."""

    def __init__(self) -> None:
        self._clients: set[Client] = set()
        self._lock = threading.Lock()
        self._closed = False

    def open_stream(self) -> Client:
        """A new client, if there is room for one. Called on the loop that serves it."""
        with self._lock:
            if self._closed or len(self._clients) >= MAX_CLIENTS:
                raise ServiceBusy(
                    "no more event streams can be opened", detail=f"{MAX_CLIENTS} may be open at a time."
                )
            client = Client()
            self._clients.add(client)
            return client

    def close_stream(self, client: Client) -> None:
        """A client that has gone."""
        with self._lock:
            self._clients.discard(client)

    def broadcast(self, kind: str, data: object) -> None:
        """Tell every client, from any thread."""
        text = format_event(kind, data)
        for client in self._current_clients():
            client.put(text)

    def close(self) -> None:
        """End all streams, and open no more."""
        with self._lock:
            self._closed = True
        for client in self._current_clients():
            client.end()

    def __len__(self) -> int:
        return len(self._current_clients())

    def _current_clients(self) -> list[Client]:
        with self._lock:
            return list(self._clients)


def format_event(kind: str, data: Any) -> str:
    """One event as it is sent."""
    return f"event: {kind}\ndata: {json.dumps(to_jsonable(data), separators=(',', ':'))}\n\n"
