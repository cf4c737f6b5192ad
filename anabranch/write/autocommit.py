"""One verb, one commit: tried again after a conflict with another writer, until it succeeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from anabranch.commit.group_commit import Committed, GroupCommit, Unknown
from anabranch.connection.lake_context import LakeContext
from anabranch.errors import InputError, WriteConflict
from anabranch.events import Event
from anabranch.ledger.database import Connection
from anabranch.write.readiness_changes import NothingToDo
from anabranch.write.row_level_writes import RowCounts
from anabranch.write.transaction import Transaction, check_attempt

Verb = Callable[[Transaction], RowCounts | None]
OVERTAKEN_BEFORE_LOCKING = 3
"""After so many conflicts the verb runs while no other writer can get in between."""


@dataclass(frozen=True)
class Written:
    """What a verb did: its lsn (None: there was nothing to do) and how many rows came and went."""

    lsn: int | None
    inserted: int = 0
    deleted: int = 0


def autocommit(context: LakeContext, verb: Verb, *, attempt: str | None = None) -> Written:
    """Run a verb in a transaction of its own. A given `attempt` that was committed is not repeated."""
    if attempt is not None and (lsn := find_committed_lsn(context, attempt)) is not None:
        return Written(lsn)
    tries: int = context.settings["commit_retries"]
    for number in range(tries + 1):
        try:
            if number < OVERTAKEN_BEFORE_LOCKING:
                return _run_once(context, verb, attempt)
            return _run_locked(context, verb, attempt)
        except WriteConflict:
            if number == tries:
                raise
            context.clock.sleep(0.02 * 2 ** min(number, 5))
    raise AssertionError("unreachable")


def find_committed_lsn(context: LakeContext, attempt: str) -> int | None:
    """The lsn under which an attempt was committed, or None if it wasn't."""
    if check_attempt(attempt) is None:
        raise InputError("an attempt needs a name")
    settled = context.catalog.settle(Unknown(attempt, "asked by the user"))
    return None if settled is None else settled.lsn


def _run_once(context: LakeContext, verb: Verb, attempt: str | None) -> Written:
    transaction = Transaction(context, attempt=attempt)
    counts = verb(transaction) or RowCounts()
    return Written(transaction.commit(), counts.inserted, counts.deleted)


def _run_locked(context: LakeContext, verb: Verb, attempt: str | None) -> Written:
    context.catalog.lake_version()
    name = attempt or context.clock.new_id()
    counts = RowCounts()
    tables: tuple[str, ...] = ()

    def prepare(connection: Connection) -> GroupCommit:
        nonlocal counts, tables
        lake_version = context.catalog.lake_version_in_transaction(connection, None)
        transaction = Transaction(context, attempt=name, lake_version=lake_version)
        counts = verb(transaction) or RowCounts()
        commit = transaction.commit_within(connection)
        if not commit.steps and not commit.entries:
            raise NothingToDo
        tables = tuple(str(step.name) for step in commit.steps)
        return commit

    try:
        outcome = context.catalog.commit_under_lock(name, prepare)
    except NothingToDo:
        return Written(None)
    if isinstance(outcome, Unknown):
        outcome = context.catalog.settle(outcome) or outcome
    if not isinstance(outcome, Committed):
        raise WriteConflict("another writer was faster again and again", hint="run it again.")
    context.observer(Event("write_committed", tables=tables, detail={"lsn": outcome.lsn}))
    return Written(outcome.lsn, counts.inserted, counts.deleted)
