"""A drawn text on DuckDB: as it was written, and as the plan it is lowered to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal

import duckdb

from anabranch.algebra.evaluate import ZSet, minus, net
from anabranch.algebra.plan import Delta, Plan, Scan
from anabranch.engine.render.dialect import DUCKDB
from anabranch.engine.render.statement import Leaf, render
from anabranch.names import WEIGHT, TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import LoweredQuery, lower
from tests.equivalence.sql import Contents


def lowered(text: str, tables: Mapping[str, str]) -> LoweredQuery:
    """The plan of a text over tables with these columns."""
    return lower(text, {TableName.parse(name): parse_schema(ddl) for name, ddl in tables.items()})


class DuckTexts:
    """Tables at both ends of an interval, and their change; a table's own name means its end."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        # Over a handful of rows, improving a statement costs more than running it.
        self._connection.execute("PRAGMA disable_optimizer")
        self._texts: dict[Plan, str] = {}
        self._tables: Mapping[str, str] = {}

    def close(self) -> None:
        self._connection.close()

    def create(self, tables: Mapping[str, str]) -> None:
        """Tables with these columns, in place of those before."""
        self._texts, self._tables = {}, tables
        statements = []
        for name, ddl in tables.items():
            for end in ("since", "until"):
                statements.append(f"CREATE OR REPLACE TABLE {name}_{end} ({ddl})")
            statements.append(f"CREATE OR REPLACE TABLE {name}_change ({ddl}, __weight BIGINT)")
            statements.append(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {name}_until")
        self._connection.execute(";".join(statements))

    def load(self, before: Contents, after: Contents) -> None:
        """Both ends of an interval."""
        statements = []
        for name in self._tables:
            change = minus(Counter(after[name]), Counter(before[name]))
            weighted = [(*row, weight) for row, weight in change.items()]
            for end, rows in (("since", before[name]), ("until", after[name]), ("change", weighted)):
                statements.append(f"TRUNCATE {name}_{end}")
                if rows:
                    listed = ", ".join(f"({', '.join(map(_shown, row))})" for row in rows)
                    statements.append(f"INSERT INTO {name}_{end} VALUES {listed}")
        self._connection.execute(";".join(statements))

    def asked(self, text: str) -> ZSet:
        """What the text gives at the interval's end."""
        return net((row, 1) for row in self._connection.execute(text).fetchall())

    def evaluate(self, plan: Plan) -> ZSet:
        """What a plan gives."""
        if plan not in self._texts:
            rendered = render(plan, DUCKDB)
            self._texts[plan] = rendered.template.format(
                **{hole: _relation(leaf) for hole, leaf in rendered.leaves}
            )
        cursor = self._connection.execute(self._texts[plan])
        if cursor.description and cursor.description[-1][0] == WEIGHT:
            return net((row[:-1], int(row[-1])) for row in cursor.fetchall())
        return net((row, 1) for row in cursor.fetchall())


def _shown(value: int | str | Decimal | None) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _relation(leaf: Leaf) -> str:
    match leaf:
        case Scan(table, _, at):
            return f"{table}_{at.name.lower()}"
        case Delta(table):
            return f"{table}_change"
    raise AssertionError("nothing is stored in these tests")
