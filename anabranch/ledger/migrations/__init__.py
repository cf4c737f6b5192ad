"""Numbered steps from an empty database to the newest ledger, each applied once.

A step is a file `NNNN_name.sql` of statements that SQLite and PostgreSQL both take. All that is
missing is applied at connect in one transaction that no other process overlaps; a process that
dies in the middle leaves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from sqlalchemy import Connection, insert, inspect, select, text

from anabranch.clock import Clock
from anabranch.errors import LakeTooNew
from anabranch.failpoints import Failpoints
from anabranch.ledger import tables
from anabranch.ledger.database import Database
from anabranch.ledger.timestamps import to_micros


@dataclass(frozen=True)
class Migration:
    """One step."""

    number: int
    name: str
    statements: tuple[str, ...]


def read_migrations() -> list[Migration]:
    """The steps that ship with this release, in order."""
    files = [item for item in resources.files(__name__).iterdir() if item.name.endswith(".sql")]
    found = []
    for item in sorted(files, key=lambda file: file.name):
        number, _, name = item.name.removesuffix(".sql").partition("_")
        statements = tuple(part.strip() for part in item.read_text("utf-8").split(";") if part.strip())
        found.append(Migration(int(number), name, statements))
    return found


def migrate(database: Database, clock: Clock, failpoints: Failpoints) -> list[Migration]:
    """Apply what is missing; the steps applied. A database from a later release is refused."""
    known = read_migrations()
    with database.begin_read() as connection:
        if _read_applied_numbers(connection) == [step.number for step in known]:
            return []
    failpoints.hit("migrate.before")
    with database.begin_migration() as connection:
        done = _read_applied_numbers(connection)
        if unknown := set(done) - {step.number for step in known}:
            raise LakeTooNew(
                "this lake was written by a later release of anabranch",
                detail=f"its ledger is at step {max(unknown)}; this release knows {known[-1].number}.",
                hint="upgrade anabranch.",
            )
        missing = [step for step in known if step.number not in done]
        tables.migrations.create(connection, checkfirst=True)
        for step in missing:
            for statement in step.statements:
                connection.execute(text(statement))
            failpoints.hit("migrate.inside")
            connection.execute(
                insert(tables.migrations).values(
                    number=step.number, name=step.name, applied_at=to_micros(clock.now())
                )
            )
    failpoints.hit("migrate.after")
    return missing


def _read_applied_numbers(connection: Connection) -> list[int]:
    if not inspect(connection).has_table(tables.migrations.name):
        return []
    return sorted(connection.scalars(select(tables.migrations.c.number)))
