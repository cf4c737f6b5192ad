"""Services that run beside a test."""

from __future__ import annotations

import threading
from typing import Any

import anabranch as ab
from anabranch.web import serve
from anabranch.web.guard import Limits
from anabranch.web.rate_limits import Rate

TOKEN = "a-token-that-only-tests-know"
UNLIMITED = Limits(changes=Rate(10**9, 10**9), guesses=Rate(10**9, 10**9))
PATIENCE = 30.0


class Services:
    """Real services on free ports, each in a thread."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[threading.Event, threading.Thread]] = {}

    def __call__(self, lake: ab.Lake, **options: Any) -> str:
        """Serve a lake; the address at which a browser finds the page."""
        stop, ready, address = threading.Event(), threading.Event(), []

        def listening(url: str) -> None:
            address.append(url)
            ready.set()

        settled = {"token": TOKEN, "port": 0, "limits": UNLIMITED, "tell": lambda _line: None} | options
        thread = threading.Thread(
            target=serve, args=(lake,), kwargs={**settled, "stop": stop, "started": listening}
        )
        thread.start()
        assert ready.wait(PATIENCE)
        self._running[address[0]] = (stop, thread)
        return address[0]

    def halt(self, address: str) -> None:
        """Stop one of them."""
        stop, thread = self._running.pop(address)
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()

    def close(self) -> None:
        """Stop all."""
        for address in list(self._running):
            self.halt(address)
