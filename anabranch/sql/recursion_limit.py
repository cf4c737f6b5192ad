"""Room for recursion: the parser descends once per level of nesting, several Python calls each time.

The limit is the interpreter's, shared by all threads, so the room is made once for whoever is inside
and given back by the last to leave. Python calls of Python 3.11 live on the heap, not on the C stack.
"""

from __future__ import annotations

import sys
import threading

DEEP_RECURSION = 20_000


class _RaisedRecursionLimit:
    """A context manager that lets the code inside recurse `DEEP_RECURSION` calls deep."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit_outside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit_outside = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._limit_outside, DEEP_RECURSION))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                sys.setrecursionlimit(self._limit_outside)


deep_recursion = _RaisedRecursionLimit()
"""The room of this interpreter, which has one limit: `with deep_recursion: …`."""
