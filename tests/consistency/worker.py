"""What the worker processes do, one function per role. See `processes.py`; no role needs Spark."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog

import anabranch as ab

Ready = Callable[[], None]
Rows = list[int]


# -- five tables that must agree ------------------------------------------------------------------

FIVE = ("latest", "twice", "pair", "recent", "older")
SHORT, LONG = 7, 20
GLANCES = 5


def expected(table: str, marker: int) -> Rows:
    """What each of the five tables holds after the transaction number `marker`."""
    match table:
        case "latest":
            return [marker]
        case "twice":
            return [marker, marker]
        case "pair":
            return [-marker, marker]
        case "recent":
            return list(range(marker - marker % SHORT, marker + 1))
        case _:
            return list(range(marker - marker % LONG, marker + 1))


def create_five(lake: ab.Lake) -> None:
    """All five at marker 0."""
    with lake.transaction() as tx:
        for table in FIVE:
            tx.create_table(table, "n BIGINT")
            tx.insert(table, [(n,) for n in expected(table, 0)])


def mark(tx: ab.Transaction, marker: int) -> None:
    """One more transaction: some tables grow, some are emptied and filled again."""
    for table in FIVE:
        before, after = expected(table, marker - 1), expected(table, marker)
        grows = after[: len(before)] == before
        if not grows:
            tx.truncate(table)
        for n in after[len(before) :] if grows else after:
            tx.insert(table, [(n,)])


def transact(
    ready: Ready, *, place: str, catalog: str | None, count: int, looks: str, enough: int
) -> dict[str, Any]:
    """Commit `count` transactions, each over all five tables.

    On a busy machine readers may get no turn: the writer waits for them, so that they look `enough`
    times in all while it writes. Each of their looks is a byte in a file of the folder `looks`.
    """
    lsns = []
    with ab.connect(place, catalog=catalog) as lake:
        ready()
        for marker in range(1, count + 1):
            while sum(file.stat().st_size for file in Path(looks).iterdir()) < enough * marker // count:
                time.sleep(0.01)
            with lake.transaction() as tx:
                mark(tx, marker)
            lsns.append(tx.lsn)
    return {"lsns": lsns}


def watch(ready: Ready, *, place: str, catalog: str | None, last: int, looks: str) -> dict[str, Any]:
    """Read all five at one moment, again and again until the last marker is there."""
    seen = Seen()
    os.nice(4)  # the writer sets the pace
    with (
        ab.connect(place, catalog=catalog) as lake,
        Path(looks, str(os.getpid())).open("wb", buffering=0) as counted,
    ):
        ready()
        while seen.newest < last and not seen.problems:
            if seen.polls % 2:
                with lake.snapshot() as snapshot:
                    seen.see(snapshot.lsn, {table: _values(snapshot.arrow(table)) for table in FIVE})
            else:
                lsn = lake.lsn
                seen.see(lsn, {table: _values(lake.arrow(table, as_of=lsn)) for table in FIVE})
            for _ in range(GLANCES):
                seen.glance({info.name: info.lsn for info in lake.tables()})
            counted.write(b".")
    return {
        "polls": seen.polls,
        "glances": seen.glances,
        "markers": len(seen.markers),
        "problems": seen.problems,
    }


class Seen:
    """What one reader has seen so far, and what it should not have."""

    def __init__(self) -> None:
        self.polls = 0
        self.glances = 0
        self.newest = -1
        self.lsn = 0
        self.markers: set[int] = set()
        self.problems: list[str] = []

    def see(self, lsn: int, tables: dict[str, Rows]) -> None:
        marker = max(tables["latest"], default=-1)
        self.polls += 1
        self.markers.add(marker)
        for table, rows in tables.items():
            if rows != expected(table, marker):
                self.problems.append(f"at lsn {lsn}, marker {marker}: {table} holds {rows}")
        if marker < self.newest:
            self.problems.append(f"the marker went back from {self.newest} to {marker}")
        if lsn < self.lsn or (lsn == self.lsn and marker != self.newest):
            self.problems.append(f"lsn {self.lsn} had marker {self.newest}, then lsn {lsn} marker {marker}")
        self.newest, self.lsn = marker, lsn

    def glance(self, lsns: dict[str, int]) -> None:
        """Every transaction writes all five, so at every moment they stand at the same lsn."""
        self.glances += 1
        if sorted(lsns) != sorted(FIVE) or len(set(lsns.values())) != 1:
            self.problems.append(f"the tables stand at {lsns}")


def watch_foreign(
    ready: Ready, *, place: str, uri: str, last: int, tables: Iterable[str] = FIVE
) -> dict[str, Any]:
    """Read one table at a time with nothing but pyiceberg: each must be in a committed state."""
    newest = dict.fromkeys(tables, -1)
    polls, problems = 0, []
    os.nice(4)
    catalog = foreign_catalog(place, uri)
    ready()
    while min(newest.values()) < last and not problems:
        for table, before in newest.items():
            rows = _values(catalog.load_table(("main", table)).scan().to_arrow())
            polls += 1
            marker = max(rows, default=-1)
            if rows != expected(table, marker):
                problems.append(f"{table} holds {rows}")
            if marker < before:
                problems.append(f"{table} went back from {before} to {marker}")
            newest[table] = marker
    catalog.close()
    return {"polls": polls, "problems": problems}


def _values(table: Any) -> Rows:
    return sorted(table.column("n").to_pylist())


# -- many writers ---------------------------------------------------------------------------------


def append(
    ready: Ready, *, place: str, catalog: str | None, writer: int, count: int, threads: int = 1
) -> dict[str, Any]:
    """Append to the shared table, every other time to a table of this writer's own as well."""
    events: Counter[str] = Counter()
    lsns: list[int | None] = []
    with ab.connect(place, catalog=catalog, observer=lambda event: events.update([event.kind])) as lake:
        ready()

        def run(numbers: Iterable[int]) -> None:
            for number in numbers:
                row = {"writer": writer, "number": number}
                if number % 2:
                    lsns.append(lake.insert("shared", [row]).lsn)
                else:
                    with lake.transaction() as tx:
                        tx.insert("shared", [row])
                        tx.insert(f"own_{writer}", [row])
                    lsns.append(tx.lsn)

        errors = in_threads([lambda part=part: run(range(part, count, threads)) for part in range(threads)])
    return {"lsns": lsns, "retries": events["write_retried"], "errors": errors}


def in_threads(tasks: list[Callable[[], None]]) -> list[str]:
    """Run tasks side by side; the errors they ended with."""
    errors: list[str] = []

    def guarded(task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as error:  # noqa: BLE001 (whatever it is, the test shows it)
            errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def create_and_insert(ready: Ready, *, place: str, catalog: str | None, number: int) -> dict[str, Any]:
    """Create a table that others create too, and put a row into it."""
    with ab.connect(place, catalog=catalog) as lake:
        ready()
        lake.create_table("shared", "n BIGINT", if_not_exists=True)
        return {"lsn": lake.insert("shared", [(number,)]).lsn}


def append_foreign(ready: Ready, *, place: str, uri: str, table: str, numbers: list[int]) -> dict[str, Any]:
    """Append rows with nothing but pyiceberg, which tries again by itself when it was overtaken."""
    import pyarrow as pa

    catalog = foreign_catalog(place, uri)
    ready()
    for number in numbers:
        target = catalog.load_table(("main", table))
        target.append(pa.table({"n": pa.array([number], pa.int64())}))
    catalog.close()
    return {"written": len(numbers)}


def append_numbers(
    ready: Ready, *, place: str, catalog: str | None, table: str, numbers: list[int]
) -> dict[str, Any]:
    """Append rows through the lake."""
    with ab.connect(place, catalog=catalog) as lake:
        ready()
        lsns = [lake.insert(table, [(number,)]).lsn for number in numbers]
    return {"lsns": lsns}


def foreign_catalog(place: str, uri: str) -> SqlCatalog:
    """The same catalog, as a client that knows nothing of anabranch opens it."""
    return SqlCatalog("anabranch", uri=uri, warehouse=f"file://{place}/foreign")
