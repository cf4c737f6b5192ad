"""Statements that SQLAlchemy compiled for one test's lake serve the lakes of all others.

It keeps them per engine, and every test opens a lake of its own: some eighty statements were compiled
again for each of thousands. What they become doesn't depend on the file.
"""

from __future__ import annotations

from sqlalchemy import Engine

from anabranch.ledger.database import Database


def share_compiled_statements() -> None:
    """Give every SQLite engine of this process the dialect and the compiled statements of the first one."""
    create = Database._sqlite_engine
    first: list[Engine] = []

    def create_sharing(database: Database) -> Engine:
        engine = create(database)
        if first:
            engine.dialect = first[0].dialect
            engine._compiled_cache = first[0]._compiled_cache
        else:
            first.append(engine)
        return engine

    Database._sqlite_engine = create_sharing
