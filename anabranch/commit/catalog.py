"""One database transaction moves many tables: the group commit, and reading one lake version.

Readers see a lake version: an lsn and the version of every table at it, read in one transaction. Writers
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
from anabranch.commit.foreign_commits import Adoption, plan_adoption
from anabranch.commit.group_commit import (
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
    SameImmediateTables,
    Step,
    Unchanged,
    Unknown,
)
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
from anabranch.ledger.stream_tables import read_immediate_ids
from anabranch.streams.versions import LakeVersion

if TYPE_CHECKING:
    from anabranch.iceberg.table_reader import TableReader

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

    def lake_version(self, lsn: int | None = None) -> LakeVersion:
        """All tables as of `lsn` (None: now), after noticing what other Iceberg clients did."""
        for _ in range(ADOPTION_TRIES):
            with self.database.begin_read() as connection:
                if not self.find_foreign_commits(connection):
                    return self.lake_version_in_transaction(connection, lsn)
            self.adopt_foreign_commits()
        raise CatalogUnavailable("other Iceberg clients commit faster than they can be followed")

    def lake_version_and_query(self, look: Callable[[Connection], Found]) -> tuple[LakeVersion, Found]:
        """The newest lake version, and what `look` reads in the same transaction."""
        for _ in range(ADOPTION_TRIES):
            with self.database.begin_read() as connection:
                if not self.find_foreign_commits(connection):
                    return self.lake_version_in_transaction(connection, None), look(connection)
            self.adopt_foreign_commits()
        raise CatalogUnavailable("other Iceberg clients commit faster than they can be followed")

    def lake_version_with_pin(self, lsn: int | None, hold: Callable[[Connection, int], None]) -> LakeVersion:
        """The lake version at `lsn` (None: now), pinned in the same transaction by `hold`."""
        for _ in range(ADOPTION_TRIES):
            with self.database.begin_write() as connection:
                if not self.find_foreign_commits(connection):
                    lake_version = self.lake_version_in_transaction(connection, lsn)
                    hold(connection, lake_version.lsn)
                    return lake_version
            self.adopt_foreign_commits()
        raise CatalogUnavailable("other Iceberg clients commit faster than they can be followed")

    def find_foreign_commits(self, connection: Connection) -> list[Adoption]:
        """What other clients committed and has no lsn yet, beside what can't be used."""
        return [item for item in plan_adoption(connection) if item not in self._refused]

    def lake_version_in_transaction(self, connection: Connection, lsn: int | None) -> LakeVersion:
        """The lake version at `lsn` (None: now), inside a transaction; no foreign commit may be pending."""
        if lsn is None:
            lake_version = ledger.newest_lake_version(connection, ledger.read_tables(connection))
            refused = {
                item.name: self._refused[item]
                for item in (plan_adoption(connection) if self._refused else [])
                if item in self._refused and item.name is not None
            }
            return replace(lake_version, refused=refused)
        newest, floor = ledger.read_current_lsn(connection), ledger.read_floor_lsn(connection)
        if not isinstance(lsn, int) or isinstance(lsn, bool) or not 0 <= lsn <= newest:
            raise InvalidLsn(f"there is no lsn {lsn!r} yet", detail=f"the newest is {newest}.")
        if lsn < floor:
            raise VersionExpired(
                f"lsn {lsn} is no longer kept",
                detail=f"the oldest that is kept is {floor}.",
                hint="raise the setting snapshot_retention to keep versions longer.",
            )
        return ledger.lake_version_at(connection, lsn)

    def adopt_foreign_commits(self) -> None:
        """Give commits of other Iceberg clients their lsn; record those that can't be used."""
        with self.database.begin_read() as connection:
            foreign = self.find_foreign_commits(connection)
        if not foreign:
            return
        # Imported lazily: it reads files, and to see that there is nothing to adopt needs none.
        from anabranch.commit.adopt_commits import prepare_adoption, record_adoptions

        prepared = []
        for item in foreign:
            ready = prepare_adoption(self.reader, item)
            if isinstance(ready, AnabranchError):
                self._refused[item] = ready
                if item.name is None:
                    why = "a table can't have that name here"
                    warnings.warn(
                        Notice(f"the Iceberg table {item.table!a} is not visible: {why}"), stacklevel=2
                    )
            else:
                prepared.append(ready)
        adopted = record_adoptions(self.database, self.clock, prepared) if prepared else []
        if adopted:
            self.observer(Event("foreign_commit_adopted", tables=tuple(str(name) for name in adopted)))

    # -- committing ---------------------------------------------------------------------------

    def commit_group(self, commit: GroupCommit) -> Outcome:
        """Do all steps of the commit in one transaction, or none; the outcome is a value."""
        return self.commit_under_lock(commit.attempt, lambda _connection: commit)

    def commit_under_lock(self, attempt: str, prepare: Callable[[Connection], GroupCommit]) -> Outcome:
        """The same for a commit that is prepared while no other writer can get in between.

        Slower for all other writers, but it can't be overtaken: for writes that conflicted repeatedly.
        `prepare` may raise; then nothing happened.
        """
        self.failpoints.hit("commit.before_transaction")
        try:
            with self.database.begin_commit() as connection:
                outcome = self._apply_commit(connection, prepare(connection))
                self.database.notify(connection)
                self.failpoints.hit("commit.before_commit")
            self.committed.set()
            self.failpoints.hit("commit.after_commit")
        except _Rollback as undo:
            return undo.outcome
        except DBAPIError as error:
            return Unknown(attempt, str(error.orig).strip().partition("\n")[0])
        return outcome

    def _apply_commit(self, connection: Connection, commit: GroupCommit) -> Committed:
        found = ledger.read_attempt_lsn(connection, commit.attempt)
        if found is not None:
            return Committed(found)
        if commit.fence is not None and not leases.is_fence_valid(connection, commit.fence):
            raise _Rollback(Fenced(commit.fence))
        if commit.numbered:
            now = self.clock.now()
            lsn = ledger.take_next_lsn(connection, attempt=commit.attempt, kind=commit.kind, now=now)
        else:
            lsn = ledger.read_current_lsn(connection)
        self.failpoints.hit("commit.in_transaction")
        for check in commit.checks:
            _check_precondition(connection, check)
        for step in commit.steps:
            if not _apply_step(connection, step, lsn):
                raise _Rollback(Conflict(step.name))
            self.failpoints.hit("commit.after_pointer")
        for entry in commit.entries:
            entry(connection, lsn)
        return Committed(lsn)

    def settle(self, unknown: Unknown) -> Committed | None:
        """Find out what became of an attempt: its lsn, or None if it will never happen.

        Every commit holds the writers' lock until it is decided. So under that lock the attempt is
        either in the ledger or lost for good.
        """
        for remaining in reversed(range(SETTLE_TRIES)):
            try:
                with self.database.begin_write() as connection:
                    lsn = ledger.read_attempt_lsn(connection, unknown.attempt)
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


class _Rollback(Exception):
    """Rolls the transaction back and carries the outcome out of it."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def _check_precondition(connection: Connection, check: Check) -> None:
    """Roll back if a precondition of the commit no longer holds."""
    match check:
        case Unchanged(table_id, name, seen):
            if ledger.read_head_lsn(connection, table_id) != seen:
                raise _Rollback(Conflict(name))
        case SameImmediateTables(ids):
            if read_immediate_ids(connection) != ids:
                raise _Rollback(Conflict(None))


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
            if not ledger.swap_pointer(connection, step.name, step.expected, location):
                return False
        case DropTable():
            if not ledger.delete_pointer(connection, step.name, step.expected):
                return False
            ledger.drop_table(connection, step.table_id, lsn)
            return True
    if isinstance(step, NewMetadata):
        ledger.update_metadata_location(connection, step.table_id, step.staged.metadata_location)
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
