"""A transaction that was committed before, under the same attempt: found, not repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from anabranch.connection.lake_context import LakeContext
from anabranch.sql.parse_statement import Select, Statement
from anabranch.sql.query import Query
from anabranch.write.autocommit import find_committed_lsn
from anabranch.write.row_level_writes import RowCounts
from anabranch.write.transaction import Transaction


def begin_transaction(context: LakeContext, attempt: str | None) -> Transaction:
    """A transaction; if the attempt was committed already, one in which nothing is left to do."""
    lsn = None if attempt is None else find_committed_lsn(context, attempt)
    return (
        Transaction(context, attempt=attempt) if lsn is None else RepeatedTransaction(context, attempt, lsn)
    )


class RepeatedTransaction(Transaction):
    """A transaction whose verbs change nothing, since they did before. Its reads see the lake as it is."""

    def __init__(self, context: LakeContext, attempt: str | None, lsn: int) -> None:
        super().__init__(context, attempt=attempt)
        self.lsn = lsn

    def create_table(self, name: str, schema: Any, *, if_not_exists: bool = False) -> None:
        """Does nothing."""
        self._check_open()

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Does nothing."""
        self._check_open()

    def insert(self, name: str, rows: Any) -> RowCounts:
        """Does nothing."""
        return self._skip_verb()

    def insert_query(self, name: str, query: Query, columns: Sequence[str] | None = None) -> RowCounts:
        """Does nothing."""
        return self._skip_verb()

    def update(self, name: str, assignments: Mapping[str, str], where: str | None = None) -> RowCounts:
        """Does nothing."""
        return self._skip_verb()

    def delete(self, name: str, where: str | None = None) -> RowCounts:
        """Does nothing."""
        return self._skip_verb()

    def merge(self, name: str, rows: Any, on: Sequence[str], delete_when: str | None = None) -> RowCounts:
        """Does nothing."""
        return self._skip_verb()

    def truncate(self, name: str) -> RowCounts:
        """Does nothing."""
        return self._skip_verb()

    def compact(self, name: str) -> None:
        """Does nothing."""
        self._check_open()

    def gate_source(self, name: str, auto_ungate_on_watermark: bool = False) -> None:
        """Does nothing."""
        self._check_open()

    def gate_sources(self, names: Sequence[str]) -> None:
        """Does nothing."""
        self._check_open()

    def ungate_source(self, name: str) -> None:
        """Does nothing."""
        self._check_open()

    def ungate_sources(self, names: Sequence[str]) -> None:
        """Does nothing."""
        self._check_open()

    def advance_watermark(self, source: str, timestamp: str | date) -> None:
        """Does nothing."""
        self._check_open()

    def run_statement(self, statement: Statement) -> Any:
        """A SELECT reads; a change does nothing."""
        return super().run_statement(statement) if isinstance(statement, Select) else self._skip_verb()

    def commit(self) -> int | None:
        """The lsn under which it was committed."""
        self._check_open()
        self._over = True
        return self.lsn

    def _skip_verb(self) -> RowCounts:
        self._check_open()
        return RowCounts()
