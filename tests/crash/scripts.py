"""What the processes of these tests do: each a small program that somebody might run again.

`write_*` scripts take a lake and the name of their attempt; the `…_rows` functions beside them do
the same to a model.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import anabranch as ab
from anabranch.iceberg.change_files import MAX_INLINE_CHANGE_FILES
from tests.crash.model import Model

SCHEMA = "id BIGINT, note STRING"
FIVE = ("orders", "lines", "stock", "old", "fresh")


def prepare(lake: ab.Lake) -> Model:
    """Four tables with a little history: creates, inserts, a truncate, two tables in one commit."""
    model = Model()
    for name in ("orders", "lines", "stock", "old"):
        model.together(lake, lambda tx, name=name: tx.create_table(name, SCHEMA))
    model.together(lake, lambda tx: tx.insert("orders", [(1, "a"), (1, "a"), (2, None)]))
    model.together(lake, _insert_both)
    model.together(lake, lambda tx: tx.truncate("stock"))
    model.together(lake, lambda tx: tx.insert("stock", [(9, "nine"), (8, "eight")]))
    return model


def _insert_both(tx: Any) -> None:
    tx.insert("stock", [(7, "seven")])
    tx.insert("old", [(3, "c")])


# -- writes ---------------------------------------------------------------------------------------


def one_table(verbs: Any) -> None:
    """A single insert."""
    verbs.insert("orders", [(10, "x"), (11, "y")])


def five_tables(verbs: Any) -> None:
    """Insert, insert twice, replace, drop and create, all together."""
    verbs.insert("orders", [(10, "x"), (11, "y")])
    verbs.insert("lines", [(20, "p")])
    verbs.insert("lines", [(21, "q"), (20, "p")])
    verbs.truncate("stock")
    verbs.insert("stock", [(9, "nine")])
    verbs.drop_table("old")
    verbs.create_table("fresh", SCHEMA)
    verbs.insert("fresh", [(30, None)])


def many_change_files(verbs: Any) -> None:
    """A change of more files than stand in a table's metadata: they go to a file of their own."""
    verbs.truncate("orders")
    for number in range(MAX_INLINE_CHANGE_FILES):
        verbs.insert("orders", [(number, "x")])


def insert_once(lake: ab.Lake, attempt: str | None) -> int | None:
    """The single insert as a verb of the lake."""
    return lake.insert("orders", [(10, "x"), (11, "y")], attempt=attempt).lsn


def commit_five(lake: ab.Lake, attempt: str | None) -> int | None:
    """The five tables in one transaction."""
    with lake.transaction(attempt=attempt) as tx:
        five_tables(tx)
    return tx.lsn


def rewrite_rows(lake: ab.Lake, attempt: str | None) -> int | None:
    """Update, merge and delete in one transaction. Needs Spark."""
    with lake.transaction(attempt=attempt) as tx:
        tx.update("orders", {"note": "concat(note, '!')"}, where="id = 1")
        tx.merge("stock", [(9, "neun"), (6, "six")], on=["id"])
        tx.delete("old", where="id > 0")
    return tx.lsn


def rewritten_rows(model: Model) -> None:
    """What `rewrite_rows` leaves of what `prepare` made."""
    model.replace("orders", [(1, "a!"), (1, "a!"), (2, None)])
    model.replace("stock", [(9, "neun"), (8, "eight"), (6, "six")])
    model.replace("old", [])


# -- the rest -------------------------------------------------------------------------------------


def look(lake: ab.Lake, _attempt: str | None) -> str:
    """Just connect; which lake is it?"""
    from sqlalchemy import select

    from anabranch.ledger import tables

    with lake._context.catalog.database.begin_read() as connection:
        return str(connection.execute(select(tables.lake.c.lake_id)).scalar_one())


def maintain(lake: ab.Lake, _attempt: str | None) -> int:
    """One round of maintenance; how many files it deleted."""
    return lake.maintain().files_deleted


def compact(lake: ab.Lake, _attempt: str | None) -> int | None:
    """Merge the small files of one table."""
    return lake.compact("orders").lsn


def hold_and_die(lake: ab.Lake, _attempt: str | None) -> None:
    """A reader that pins the newest lsn and never lets go of it."""
    lake.snapshot()
    os.kill(os.getpid(), signal.SIGKILL)


Script = Callable[[ab.Lake, str | None], Any]
SCRIPTS: dict[str, Script] = {
    script.__name__: script
    for script in (insert_once, commit_five, rewrite_rows, look, maintain, compact, hold_and_die)
}
