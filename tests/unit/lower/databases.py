"""Small databases in memory: tables written out by hand, or drawn with many NULLs and duplicates."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from anabranch.algebra.evaluate import Row, Tables, ZSet, evaluate, net
from anabranch.algebra.plan import Plan
from anabranch.algebra.scalar import Call, Cast, Function
from anabranch.algebra.transform import transform_up
from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import LoweredQuery, lower

DDL = {
    "t": "a INT, b INT, s STRING",
    "u": "a INT, c INT",
    "v": "a INT, c INT",
    "w": "x INT, y INT, s STRING",
}
SCHEMAS: Mapping[TableName, Schema] = {TableName.parse(name): parse_schema(ddl) for name, ddl in DDL.items()}
COLUMNS = {str(name): schema.names for name, schema in SCHEMAS.items()}

Database = Mapping[str, ZSet]


def database(**tables: str) -> Database:
    """`database(t="1 10 x, 1 20 -")`: rows between commas, `-` for NULL; tables not named are empty."""
    found: dict[str, ZSet] = {}
    for name, columns in COLUMNS.items():
        lines = [line for line in tables.get(name, "").split(",") if line.strip()]
        rows = [tuple(_value(word) for word in line.split()) for line in lines]
        assert all(len(row) == len(columns) for row in rows), name
        found[name] = net((row, 1) for row in rows)
    return found


def _value(word: str) -> Any:
    if word == "-":
        return None
    return int(word) if word.lstrip("-").isdigit() else word


def drawn(seed: int, most: int = 6) -> Database:
    """A database drawn at random: few values, so that rows meet, tie and repeat."""
    chance = random.Random(seed)

    def value(column: str) -> Any:
        if chance.random() < 0.2:
            return None
        return chance.choice("xyz") if column == "s" else chance.randint(0, 3)

    return {
        name: net((tuple(value(column) for column in columns), 1) for _ in range(chance.randint(0, most)))
        for name, columns in COLUMNS.items()
    }


def lowered(text: str) -> LoweredQuery:
    """The query over the tables above."""
    return lower(text, SCHEMAS)


def rows(text: str, db: Database) -> dict[Row, int]:
    """What the reference says a query gives: rows and how often."""
    return tidy(evaluate(plain(lowered(text).plan), tables(db, db)))


def table(*lines: str) -> dict[Row, int]:
    """Expected rows, written like those of `database`."""
    return net((tuple(_value(word) for word in line.split()), 1) for line in lines)


def tables(since: Database, until: Database) -> Tables:
    """Both ends of an interval."""
    return Tables(COLUMNS, since, until)


def tidy(found: ZSet) -> dict[Row, int]:
    """Fractions as numbers, so that results compare."""
    return net((tuple(_number(value) for value in row), weight) for row, weight in found.items())


def _number(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | Fraction) and Fraction(value).denominator == 1:
        return int(value)
    return round(float(value), 9)


# -- what the reference doesn't know, but can be said without ------------------------------------


def plain(plan: Plan) -> Plan:
    """The plan without casts to wider whole numbers, which change no value."""
    return transform_up(plan, _plain_node)


def _plain_node(node: Plan) -> Plan:
    changed = {
        field.name: new
        for field in fields(node)
        if (new := _plain_value(getattr(node, field.name))) is not getattr(node, field.name)
    }
    return replace(node, **changed) if changed else node


def _plain_value(value: Any) -> Any:
    if isinstance(value, Cast) and value.type in ("TINYINT", "BIGINT"):
        return _plain_value(value.value)
    if isinstance(value, Call):
        return Call(value.op, tuple(_plain_value(arg) for arg in value.args))
    if isinstance(value, Function):
        return Function(value.name, tuple(_plain_value(arg) for arg in value.args))
    if isinstance(value, tuple):
        found = tuple(_plain_value(item) for item in value)
        return found if any(a is not b for a, b in zip(found, value, strict=True)) else value
    return value
