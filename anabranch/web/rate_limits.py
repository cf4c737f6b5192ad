"""How often something may be done: a bucket per client that fills up again as time passes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MAX_CLIENTS = 4096
"""Clients that are remembered; of more, the one that was not seen for longest is forgotten."""


@dataclass(frozen=True)
class Rate:
    """So many at once, and from then on so many a second."""

    burst: int
    per_second: float


class RateLimiter:
    """One rate, for each client by itself."""

    def __init__(self, rate: Rate, seconds: Callable[[], float]) -> None:
        self._rate = rate
        self._seconds = seconds
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> bool:
        """Take one; False if there is none left."""
        with self._lock:
            left = self._tokens_left(client)
            taken = left >= 1
            self._left[client] = (left - 1 if taken else left, self._seconds())
            self._left.move_to_end(client)
            while len(self._left) > MAX_CLIENTS:
                self._left.popitem(last=False)
            return taken

    def is_exhausted(self, client: str) -> bool:
        """Whether there is none left; takes none."""
        with self._lock:
            return self._tokens_left(client) < 1

    def _tokens_left(self, client: str) -> float:
        now = self._seconds()
        left, since = self._left.get(client, (float(self._rate.burst), now))
        return min(self._rate.burst, left + (now - since) * self._rate.per_second)
