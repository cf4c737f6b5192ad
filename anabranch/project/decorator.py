"""`@stream_table`: a Python function whose result is the query of a stream table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from anabranch.errors import InputError

QueryFunction = TypeVar("QueryFunction", bound=Callable[[], str])


@dataclass(frozen=True)
class StreamTableDeclaration:
    """A function that was decorated, and what was said of its stream table."""

    function: Callable[[], str]
    name: str
    options: Mapping[str, Any]


_collected: ContextVar[list[StreamTableDeclaration] | None] = ContextVar(
    "stream tables being declared", default=None
)


def stream_table(*, name: str | None = None, **options: Any) -> Callable[[QueryFunction], QueryFunction]:
    """Declare a stream table in a file of a project: the function gives its query, as SQL text.

    The stream table is called as the function is, unless `name` says otherwise. The options are those of
    `create_stream_table`.

    >>> @stream_table(schedule="1m")
    ... def totals() -> str:
    ...     return "SELECT SUM(amount) AS total FROM orders"
    """

    def declare(function: QueryFunction) -> QueryFunction:
        if not callable(function) or not hasattr(function, "__name__"):
            raise InputError("@stream_table stands before a function that gives a query")
        collected = _collected.get()
        if collected is not None:
            collected.append(
                StreamTableDeclaration(function, function.__name__ if name is None else name, dict(options))
            )
        return function

    if callable(name):
        raise InputError("@stream_table needs brackets", hint='write @stream_table(schedule="1m").')
    return declare


@contextmanager
def collect_declarations() -> Iterator[list[StreamTableDeclaration]]:
    """What is declared meanwhile."""
    found: list[StreamTableDeclaration] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)
