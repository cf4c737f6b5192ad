"""The statements about tables, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from anabranch.errors import InvalidQuery
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.expression import Expression
from anabranch.sql.query import Query
from anabranch.sql.stream_statement import GateStatement, LifecycleStatement

Assignments = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Select:
    """Rows of a query."""

    query: Query


@dataclass(frozen=True)
class CreateTable:
    """A new table, either with a schema or with the columns and rows of a query."""

    name: TableName
    schema: Schema | None = None
    query: Query | None = None
    if_not_exists: bool = False

    def __post_init__(self) -> None:
        if (self.schema is None) == (self.query is None):
            raise InvalidQuery(
                f'the table "{self.name}" needs either columns or a query',
                hint="CREATE TABLE name (id BIGINT, …), or CREATE TABLE name AS SELECT ….",
            )


@dataclass(frozen=True)
class DropTable:
    """A table goes."""

    name: TableName
    if_exists: bool = False


@dataclass(frozen=True)
class Insert:
    """The rows of a query go into a table, into its columns by position or into the ones named."""

    name: TableName
    columns: tuple[str, ...] | None
    query: Query

    def __post_init__(self) -> None:
        _check_once(self.columns or ())


@dataclass(frozen=True)
class Update:
    """Columns get new values in the rows where a condition holds (None: in all)."""

    name: TableName
    assignments: Assignments
    where: Expression | None = None
    alias: str | None = None

    def __post_init__(self) -> None:
        _check_assignments(self.assignments)


@dataclass(frozen=True)
class Delete:
    """Rows go where a condition holds (None: all)."""

    name: TableName
    where: Expression | None = None
    alias: str | None = None


@dataclass(frozen=True)
class Truncate:
    """All rows go."""

    name: TableName


class When(Enum):
    """Which rows a clause of MERGE is about."""

    MATCHED = "WHEN MATCHED"
    NOT_MATCHED = "WHEN NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE"


@dataclass(frozen=True)
class UpdateRow:
    """The row gets these values; None: every column that of the same name of the source."""

    assignments: Assignments | None

    def __post_init__(self) -> None:
        if self.assignments is not None:
            _check_assignments(self.assignments)


@dataclass(frozen=True)
class InsertRow:
    """A row comes with these values; None: every column that of the same name of the source."""

    assignments: Assignments | None

    def __post_init__(self) -> None:
        if self.assignments is not None:
            _check_assignments(self.assignments)


@dataclass(frozen=True)
class DeleteRow:
    """The row goes."""


Action = UpdateRow | InsertRow | DeleteRow


@dataclass(frozen=True)
class MergeClause:
    """What happens to the rows that `when` is about and for which `condition` holds."""

    when: When
    condition: Expression | None
    action: Action


@dataclass(frozen=True)
class Merge:
    """Rows of a source meet rows of a table; for each, the first clause that holds decides.

    `source` is a table or a query; `alias` and `source_alias` are what expressions call the two.
    """

    name: TableName
    source: TableName | Query
    on: Expression
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    source_alias: str | None = None

    def __post_init__(self) -> None:
        if not self.clauses:
            raise InvalidQuery("MERGE has no WHEN clause")
        last: set[When] = set()
        for clause in self.clauses:
            if clause.when in last:
                raise InvalidQuery(
                    f"a {clause.when.value} clause comes after one without a condition, so it can never hold"
                )
            if clause.condition is None:
                last.add(clause.when)


TableStatement = Select | CreateTable | DropTable | Insert | Update | Delete | Merge | Truncate
Statement = TableStatement | GateStatement | LifecycleStatement


def _check_assignments(assignments: Assignments) -> None:
    if not assignments:
        raise InvalidQuery("no column gets a value")
    _check_once(tuple(column for column, _ in assignments))


def _check_once(columns: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.lower() in seen:
            raise InvalidQuery(f'the column "{column}" is named twice')
        seen.add(column.lower())
