"""A transaction that was committed before, under the same attempt: found, not repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from anabranch.parts import Parts
from anabranch.sql.query import Query
from anabranch.sql.statements import Select, Statement
from anabranch.write.autocommit import committed
from anabranch.write.rewrite import RowCounts
from anabranch.write.transaction import Transaction


def begin(parts: Parts, attempt: str | None) -> Transaction:
    """A transaction; if the attempt was committed already, one in which nothing is left to do."""
    lsn = None if attempt is None else committed(parts, attempt)
    return Transaction(parts, attempt=attempt) if lsn is None else Repeated(parts, attempt, lsn)


class Repeated(Transaction):
    """Its verbs change nothing, for they did before; its reads see the lake as it is."""

    def __init__(self, parts: Parts, attempt: str | None, lsn: int) -> None:
        super().__init__(parts, attempt=attempt)
        self.lsn = lsn

    def create_table(self, name: str, schema: Any, *, if_not_exists: bool = False) -> None:
        """Nothing."""
        self._check_open()

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Nothing."""
        self._check_open()

    def insert(self, name: str, rows: Any) -> RowCounts:
        """Nothing."""
        return self._nothing()

    def insert_query(self, name: str, query: Query, columns: Sequence[str] | None = None) -> RowCounts:
        """Nothing."""
        return self._nothing()

    def update(self, name: str, assignments: Mapping[str, str], where: str | None = None) -> RowCounts:
        """Nothing."""
        return self._nothing()

    def delete(self, name: str, where: str | None = None) -> RowCounts:
        """Nothing."""
        return self._nothing()

    def merge(self, name: str, rows: Any, on: Sequence[str], delete_when: str | None = None) -> RowCounts:
        """Nothing."""
        return self._nothing()

    def truncate(self, name: str) -> RowCounts:
        """Nothing."""
        return self._nothing()

    def compact(self, name: str) -> None:
        """Nothing."""
        self._check_open()

    def gate_source(self, name: str, auto_ungate_on_watermark: bool = False) -> None:
        """Nothing."""
        self._check_open()

    def gate_sources(self, names: Sequence[str]) -> None:
        """Nothing."""
        self._check_open()

    def ungate_source(self, name: str) -> None:
        """Nothing."""
        self._check_open()

    def ungate_sources(self, names: Sequence[str]) -> None:
        """Nothing."""
        self._check_open()

    def advance_watermark(self, source: str, timestamp: str | date) -> None:
        """Nothing."""
        self._check_open()

    def run_statement(self, statement: Statement) -> Any:
        """A SELECT reads; a change does nothing."""
        return super().run_statement(statement) if isinstance(statement, Select) else self._nothing()

    def commit(self) -> int | None:
        """The lsn under which it was committed."""
        self._check_open()
        self._over = True
        return self.lsn

    def _nothing(self) -> RowCounts:
        self._check_open()
        return RowCounts()
