"""DuckDB as a second engine: the same plans, rendered in another dialect, on real tables."""

from __future__ import annotations

from typing import Any

import duckdb

from anabranch.algebra.evaluate import ZSet, minus, net
from anabranch.algebra.plan import Delta, Plan, Scan
from anabranch.render.dialect import DUCKDB
from anabranch.render.statement import Leaf, Rendered, render
from tests.equivalence.draw import LIST, Database


class Duck:
    """Tables at both ends of an interval, and their change, in one DuckDB."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection = duckdb.connect()
        self._texts: dict[Plan, str] = {}

    def load(self, before: dict[str, ZSet], after: dict[str, ZSet]) -> None:
        for table in self._database.tables:
            self._put(f"{table}_since", table, before[table], weighted=False)
            self._put(f"{table}_until", table, after[table], weighted=False)
            self._put(f"{table}_change", table, minus(after[table], before[table]), weighted=True)

    def evaluate(self, plan: Plan) -> ZSet:
        """The Z-set of a plan, as DuckDB computes it."""
        if plan not in self._texts:
            self._texts[plan] = _bound(render(plan, DUCKDB))
        cursor = self._connection.execute(self._texts[plan])
        weighted = bool(cursor.description) and cursor.description[-1][0] == "__w"
        rows = [tuple(_plain(value) for value in row) for row in cursor.fetchall()]
        return net((row[:-1], int(row[-1])) if weighted else (row, 1) for row in rows)

    def _put(self, name: str, table: str, rows: ZSet, *, weighted: bool) -> None:
        columns = [
            f"{column} {'INTEGER[]' if kind == LIST else 'INTEGER'}"
            for column, kind in self._database.tables[table]
        ]
        columns += ["__weight BIGINT"] if weighted else []
        self._connection.execute(f"CREATE OR REPLACE TABLE {name} ({', '.join(columns)})")
        listed: list[str] = []
        for row, weight in rows.items():
            values = (*row, weight) if weighted else row
            text = f"({', '.join(_shown(value) for value in values)})"
            listed += [text] if weighted else [text] * weight
        if listed:
            self._connection.execute(f"INSERT INTO {name} VALUES {', '.join(listed)}")


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, tuple) else str(value)


def _bound(rendered: Rendered) -> str:
    return rendered.template.format(**{hole: _relation(leaf) for hole, leaf in rendered.leaves})


def _relation(leaf: Leaf) -> str:
    match leaf:
        case Scan(table, _, at):
            return f"{table}_{at.name.lower()}"
        case Delta(table):
            return f"{table}_change"
    raise AssertionError("nothing is stored in these tests")


def _plain(value: Any) -> Any:
    return tuple(_plain(item) for item in value) if isinstance(value, list) else value
