"""One verb, one commit: tried again when another writer was faster, until it gets through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anabranch.errors import InputError, WriteConflict
from anabranch.events import Event
from anabranch.ledger.database import Connection
from anabranch.parts import Parts
from anabranch.storage.commit import Committed, GroupCommit, Unknown
from anabranch.write.readiness import NothingToDo
from anabranch.write.rewrite import RowCounts
from anabranch.write.transaction import Transaction, checked_attempt

Verb = Callable[[Transaction], RowCounts | None]
OVERTAKEN_BEFORE_LOCKING = 3
"""After so many conflicts the verb runs while no other writer can get in between."""


@dataclass(frozen=True)
class Written:
    """What a verb did: its lsn (None: there was nothing to do) and how many rows came and went."""

    lsn: int | None
    inserted: int = 0
    deleted: int = 0


def autocommit(parts: Parts, verb: Verb, *, attempt: str | None = None) -> Written:
    """Run a verb in a transaction of its own. A given `attempt` that was committed is not repeated."""
    if attempt is not None and (lsn := committed(parts, attempt)) is not None:
        return Written(lsn)
    tries: int = parts.settings["commit_retries"]
    for number in range(tries + 1):
        try:
            if number < OVERTAKEN_BEFORE_LOCKING:
                return _once(parts, verb, attempt)
            return _locked(parts, verb, attempt)
        except WriteConflict:
            if number == tries:
                raise
            parts.clock.sleep(0.02 * 2 ** min(number, 5))
    raise AssertionError("unreachable")


def committed(parts: Parts, attempt: str) -> int | None:
    """The lsn under which an attempt was committed, or None if it wasn't."""
    if checked_attempt(attempt) is None:
        raise InputError("an attempt needs a name")
    settled = parts.catalog.settle(Unknown(attempt, "asked by the user"))
    return None if settled is None else settled.lsn


def _once(parts: Parts, verb: Verb, attempt: str | None) -> Written:
    transaction = Transaction(parts, attempt=attempt)
    counts = verb(transaction) or RowCounts()
    return Written(transaction.commit(), counts.inserted, counts.deleted)


def _locked(parts: Parts, verb: Verb, attempt: str | None) -> Written:
    parts.catalog.moment()
    name = attempt or parts.clock.new_id()
    counts = RowCounts()
    tables: tuple[str, ...] = ()

    def prepare(connection: Connection) -> GroupCommit:
        nonlocal counts, tables
        moment = parts.catalog.moment_within(connection, None)
        transaction = Transaction(parts, attempt=name, moment=moment)
        counts = verb(transaction) or RowCounts()
        commit = transaction.commit_within(connection)
        if not commit.steps and not commit.entries:
            raise NothingToDo
        tables = tuple(str(step.name) for step in commit.steps)
        return commit

    try:
        outcome = parts.catalog.commit_locked(name, prepare)
    except NothingToDo:
        return Written(None)
    if isinstance(outcome, Unknown):
        outcome = parts.catalog.settle(outcome) or outcome
    if not isinstance(outcome, Committed):
        raise WriteConflict("another writer was faster again and again", hint="run it again.")
    parts.observer(Event("write_committed", tables=tables, detail={"lsn": outcome.lsn}))
    return Written(outcome.lsn, counts.inserted, counts.deleted)
