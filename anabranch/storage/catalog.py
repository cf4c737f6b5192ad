"""One database transaction moves many tables: the group commit, and reading one moment.

Readers see a moment: an lsn and the version of every table at it, read in one transaction. Writers
swing all their pointers, take the next lsn and write their ledger entries in one transaction, which
no other writer overlaps. That transaction is the only visible effect of a write.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from anabranch.clock import Clock
from anabranch.errors import (
    AnabranchError,
    CatalogUnavailable,
    CommitUnknown,
    InvalidLsn,
    Notice,
    VersionExpired,
)
from anabranch.events import Event, Observer
from anabranch.failpoints import Failpoints
from anabranch.ledger import leases, ledger
from anabranch.ledger.database import Database
from anabranch.ledger.records import Moment
from anabranch.ledger.streams import immediate_ids
from anabranch.storage.commit import (
    Check,
    Committed,
    Conflict,
    CreateTable,
    DropTable,
    Fenced,
    GroupCommit,
    NewMetadata,
    NewVersion,
    Outcome,
    SameFollowers,
    Step,
    Unchanged,
    Unknown,
)
from anabranch.storage.foreign import Adoption, plan_adoption

if TYPE_CHECKING:
    from anabranch.storage.tables import TableReader

Found = TypeVar("Found")

SETTLE_TRIES = 5
ADOPTION_TRIES = 10


class Catalog:
    """The tables of one lake, in one database."""

    def __init__(
        self,
        database: Database,
        reader: TableReader,
        clock: Clock,
        failpoints: Failpoints,
        observer: Observer,
    ) -> None:
        self.database = database
        self.reader = reader
        self.clock = clock
        self.failpoints = failpoints
        self.observer = observer
        self._refused: dict[Adoption, AnabranchError] = {}
        self.committed = threading.Event()
        """Set by every commit; whoever waits for one clears it."""

    # -- reading ------------------------------------------------------------------------------

    def moment(self, lsn: int | None = None) -> Moment:
        """All tables as of `lsn` (None: now), after noticing what other Iceberg clients did."""
        for _ in range(ADOPTION_TRIES):
            with self.database.reading() as connection:
                if not self.foreign(connection):
                    return self.moment_within(connection, lsn)
            self.adopt()
        raise CatalogUnavailable("other Iceberg clients commit faster than they can be followed")

    def moment_and(self, look: Callable[[Connection], Found]) -> tuple[Moment, Found]:
        """The newest moment, and what `look` finds in the same transaction."""
        for _ in range(ADOPTION_TRIES):
            with self.database.reading() as connection:
                if not self.foreign(connection):
                    return self.moment_within(connection, None), look(connection)
            self.adopt()
        raise CatalogUnavailable("other Iceberg clients commit faster than they can be followed")

    def moment_pinned(self, lsn: int | None, hold: Callable[[Connection, int], None]) -> Moment:
        """The same, held by a pin that is written in the same transaction."""
        for _ in range(ADOPTION_TRIES):
            with self.database.writing() as connection:
                if not self.foreign(connection):
                    moment = self.moment_within(connection, lsn)
                    hold(connection, moment.lsn)
                    return moment
            self.adopt()
        raise CatalogUnavailable("other Iceberg clients commit faster than they can be followed")

    def foreign(self, connection: Connection) -> list[Adoption]:
        """What other clients committed and has no lsn yet, beside what can't be used."""
        return [item for item in plan_adoption(connection) if item not in self._refused]

    def moment_within(self, connection: Connection, lsn: int | None) -> Moment:
        """The same, inside a transaction, given that nothing foreign is pending."""
        if lsn is None:
            moment = ledger.newest_moment(connection, ledger.read_tables(connection))
            refused = {
                item.name: self._refused[item]
                for item in (plan_adoption(connection) if self._refused else [])
                if item in self._refused and item.name is not None
            }
            return replace(moment, refused=refused)
        newest, floor = ledger.current_lsn(connection), ledger.floor_lsn(connection)
        if not isinstance(lsn, int) or isinstance(lsn, bool) or not 0 <= lsn <= newest:
            raise InvalidLsn(f"there is no lsn {lsn!r} yet", detail=f"the newest is {newest}.")
        if lsn < floor:
            raise VersionExpired(
                f"lsn {lsn} is no longer kept",
                detail=f"the oldest that is kept is {floor}.",
                hint="raise the setting snapshot_retention to keep versions longer.",
            )
        return ledger.moment_at(connection, lsn)

    def adopt(self) -> None:
        """Give commits of other Iceberg clients their lsn; keep apart what can't be used."""
        with self.database.reading() as connection:
            foreign = self.foreign(connection)
        if not foreign:
            return
        # Here, because it reads files: to see that there is nothing to adopt needs the catalog alone.
        from anabranch.storage.adopt import adopt, prepare

        prepared = []
        for item in foreign:
            ready = prepare(self.reader, item)
            if isinstance(ready, AnabranchError):
                self._refused[item] = ready
                if item.name is None:
                    why = "a table can't have that name here"
                    warnings.warn(
                        Notice(f"the Iceberg table {item.table!a} is not visible: {why}"), stacklevel=2
                    )
            else:
                prepared.append(ready)
        adopted = adopt(self.database, self.clock, prepared) if prepared else []
        if adopted:
            self.observer(Event("foreign_commit_adopted", tables=tuple(str(name) for name in adopted)))

    # -- committing ---------------------------------------------------------------------------

    def commit_group(self, commit: GroupCommit) -> Outcome:
        """All steps of the commit in one transaction, or none; what became of it is a value."""
        return self.commit_locked(commit.attempt, lambda _connection: commit)

    def commit_locked(self, attempt: str, prepare: Callable[[Connection], GroupCommit]) -> Outcome:
        """The same for a commit that is prepared while no other writer can get in between.

        Slower for everybody else, but it can't be overtaken: for writes that were, again and again.
        `prepare` may raise; then nothing happened.
        """
        self.failpoints.hit("commit.before_transaction")
        try:
            with self.database.committing() as connection:
                outcome = self._apply(connection, prepare(connection))
                self.database.notify(connection)
                self.failpoints.hit("commit.before_commit")
            self.committed.set()
            self.failpoints.hit("commit.after_commit")
        except _Undo as undo:
            return undo.outcome
        except DBAPIError as error:
            return Unknown(attempt, str(error.orig).strip().partition("\n")[0])
        return outcome

    def _apply(self, connection: Connection, commit: GroupCommit) -> Committed:
        found = ledger.lsn_of_attempt(connection, commit.attempt)
        if found is not None:
            return Committed(found)
        if commit.fence is not None and not leases.holds(connection, commit.fence):
            raise _Undo(Fenced(commit.fence))
        if commit.numbered:
            now = self.clock.now()
            lsn = ledger.next_lsn(connection, attempt=commit.attempt, kind=commit.kind, now=now)
        else:
            lsn = ledger.current_lsn(connection)
        self.failpoints.hit("commit.in_transaction")
        for check in commit.checks:
            _hold_on_to(connection, check)
        for step in commit.steps:
            if not _apply_step(connection, step, lsn):
                raise _Undo(Conflict(step.name))
            self.failpoints.hit("commit.after_pointer")
        for entry in commit.entries:
            entry(connection, lsn)
        return Committed(lsn)

    def settle(self, unknown: Unknown) -> Committed | None:
        """Find out what became of an attempt: its lsn, or None if it will never happen.

        Every commit holds the writers' lock until it is decided. So once we hold that lock
        ourselves, the attempt is either in the ledger or lost for good.
        """
        for remaining in reversed(range(SETTLE_TRIES)):
            try:
                with self.database.writing() as connection:
                    lsn = ledger.lsn_of_attempt(connection, unknown.attempt)
                return None if lsn is None else Committed(lsn)
            except (DBAPIError, CatalogUnavailable) as error:
                if remaining == 0:
                    raise CommitUnknown(
                        "the catalog database can't say whether the commit happened",
                        detail=f"{unknown.why}; attempt {unknown.attempt}.",
                        hint="ask lake.committed(attempt) once the database answers again.",
                    ) from error
                self.clock.sleep(0.2)
        raise AssertionError("unreachable")


class _Undo(Exception):
    """Rolls the transaction back and carries the outcome out of it."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def _hold_on_to(connection: Connection, check: Check) -> None:
    """Undo everything if what the commit rests on is no longer so."""
    match check:
        case Unchanged(table_id, name, seen):
            if ledger.head_lsn(connection, table_id) != seen:
                raise _Undo(Conflict(name))
        case SameFollowers(ids):
            if immediate_ids(connection) != ids:
                raise _Undo(Conflict(None))


def _apply_step(connection: Connection, step: Step, lsn: int) -> bool:
    """One table's part; False if it isn't in the expected state any more."""
    match step:
        case CreateTable():
            if not ledger.create_pointer(connection, step.name, step.staged.metadata_location):
                return False
            ledger.add_table(
                connection,
                table_id=step.table_id,
                name=step.name,
                kind=step.kind,
                schema=step.schema,
                lsn=lsn,
                metadata_location=step.staged.metadata_location,
            )
        case NewVersion() | NewMetadata():
            location = step.staged.metadata_location
            if not ledger.swing_pointer(connection, step.name, step.expected, location):
                return False
        case DropTable():
            if not ledger.delete_pointer(connection, step.name, step.expected):
                return False
            ledger.drop_table(connection, step.table_id, lsn)
            return True
    if isinstance(step, NewMetadata):
        ledger.move_head(connection, step.table_id, step.staged.metadata_location)
    else:
        ledger.add_version(
            connection,
            table_id=step.table_id,
            lsn=lsn,
            snapshot_id=step.staged.snapshot_id,
            rows=step.staged.rows,
            schema_id=step.staged.schema_id,
            schema=step.schema,
            metadata_location=step.staged.metadata_location,
        )
    return True
