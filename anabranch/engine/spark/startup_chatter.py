"""Filters lines that Java and Spark print to standard error at every start, and that say nothing to a user.

Java inherits this process's standard error. While it starts, that is a pipe, whose other lines are written to
the real standard error.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_CHATTER = re.compile(
    rb"WARNING: Using incubator modules|WARNING: package sun\.security\.action not in java\.base"
    rb"|Using Spark's default log4j profile|Setting (?:default|Spark) log level to"
    rb"|To adjust logging level use"
)
_STANDARD_ERROR = 2


@contextmanager
def without_startup_chatter() -> Iterator[None]:
    """While a process is started inside, give it a standard error that leaves those lines out."""
    try:
        real = os.dup(_STANDARD_ERROR)
    except OSError:  # closed: nobody would see them
        yield
        return
    outlet, inlet = os.pipe()
    os.dup2(inlet, _STANDARD_ERROR)
    os.close(inlet)
    # The thread ends with the last process that has the pipe open, and blocks nobody.
    threading.Thread(target=_forward_lines, args=(outlet, real), daemon=True).start()
    try:
        yield
    finally:
        os.dup2(real, _STANDARD_ERROR)


def _forward_lines(outlet: int, real: int) -> None:
    with os.fdopen(outlet, "rb", buffering=0) as lines, os.fdopen(real, "wb", buffering=0) as target:
        rest = b""
        while chunk := lines.read(1 << 16):
            *whole, rest = (rest + chunk).split(b"\n")
            shown = [line + b"\n" for line in whole if not _CHATTER.match(line)]
            # An unfinished line is a prompt or a progress bar, unless it may yet become chatter.
            if rest and not rest.startswith((b"W", b"U", b"S", b"T")):
                shown.append(rest)
                rest = b""
            try:
                target.write(b"".join(shown))
            except OSError:
                return
        if rest and not _CHATTER.match(rest):
            target.write(rest)
