"""Nothing written anywhere: every file of a lake, and every row of its catalog, before and after."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

CATALOG = ("catalog.db", "catalog.db-wal", "catalog.db-shm")


def photograph(place: Path) -> dict[str, object]:
    """Names, sizes and hashes of all files and folders next to and below a lake, and its catalog's rows.

    The database files themselves change when they are read; what is in them must not.
    """
    found: dict[str, object] = {}
    for path in sorted(place.parent.rglob("*")):
        name = str(path.relative_to(place.parent))
        if path.is_dir():
            if path.name not in ("data", "changes"):  # a table's own rooms
                found[name] = "folder"
        elif path.parent != place or path.name not in CATALOG:
            content = path.read_bytes()
            found[name] = (len(content), hashlib.sha256(content).hexdigest())
    if (place / CATALOG[0]).exists():
        with closing(sqlite3.connect(place / CATALOG[0])) as connection:
            found["catalog"] = sorted(connection.iterdump())
    return found


@contextmanager
def untouched(place: Path) -> Iterator[None]:
    """Whatever happens inside leaves no trace."""
    before = photograph(place)
    yield
    after = photograph(place)
    assert {name: after[name] for name in after if after.get(name) != before.get(name)} == {}
    assert set(before) - set(after) == set()
