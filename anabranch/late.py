"""Things that are made when something is first asked of them.

To look at a lake needs its catalog alone. What reads and writes files, parses SQL or computes rows takes
longer to import than most looks take, so it is imported by the first who needs it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

Made = TypeVar("Made")


class Late(Generic[Made]):
    """Stands for what `make` gives: whatever is asked of the one is asked of the other."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Made | None = None

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return getattr(self._made, name)


def if_made(thing: Made) -> Made | None:
    """What was made late, if it was made by now; anything else is itself."""
    if not isinstance(thing, Late):
        return thing
    made: Made | None = thing._made
    return made


def late(make: Callable[[], Made]) -> Made:
    """What `make` gives, made when something is first asked of it.

    >>> greeting = late(lambda: print("made") or "hello")
    >>> greeting.upper()
    made
    'HELLO'
    """
    return cast(Made, Late(make))


def late_names(module: str, origins: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are imported, each from its origin, when first asked for."""

    def found(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(origins[name]), name)
        setattr(import_module(module), name, value)
        return value

    return found
