# ruff: noqa: DTZ001
"""What is computed here, in value and type, is what Spark computes: scalars and aggregates of all types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.algebra.plan import Delta, Plan, Scan, StoredResult
from anabranch.algebra.scalar import Scalar
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.local.held import Held
from anabranch.engine.local.interpret import Keyed, interpret
from anabranch.engine.local.kinds import VOID, Kind
from anabranch.engine.local.nearby import Nearby
from anabranch.engine.local.reach import Leaf
from anabranch.engine.local.values import held_rows
from anabranch.engine.render.dialect import SPARK
from anabranch.engine.render.statement import render
from anabranch.names import TableName
from anabranch.refresh.inputs import Sources
from anabranch.sql.lower import lower

pytestmark = pytest.mark.rotating(2)

DDL = (
    "id INT, k INT, t TINYINT, s SMALLINT, i INT, b BIGINT, d DECIMAL(15,2), e DECIMAL(9,4), "
    "big DECIMAL(38,6), fine DECIMAL(30,10), "
    "x DOUBLE, f FLOAT, txt STRING, other STRING, raw BINARY, day DATE, at TIMESTAMP, "
    "naive TIMESTAMP_NTZ, yes BOOLEAN, no BOOLEAN"
)
UTC = dt.UTC
ROWS: list[tuple[Any, ...]] = [
    (
        *(
            1,
            1,
            1,
            2,
            3,
            4,
            Decimal("12.34"),
            Decimal("0.0501"),
            Decimal("1.000001"),
            Decimal("1.0000000001"),
        ),
        *(
            0.0,
            1.5,
            "abc",
            "a%c",
            b"\x00\xff",
            dt.date(1995, 3, 15),
            dt.datetime(2024, 2, 29, 1, 2, 3, 4, UTC),
        ),
        *(dt.datetime(1969, 12, 31, 23, 59, 59, 999999), True, False),
    ),
    (
        *(2, 1, -128, -7, -2_000_000_000, -(2**62), Decimal("-0.05"), Decimal("99999.9999"), Decimal("-7")),
        *(Decimal("-3.3333333333"), float("nan"), float("inf"), "", "ABC", b"", dt.date(1, 1, 1)),
        *(dt.datetime(1970, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31), False, False),
    ),
    (
        *(3, 2, 127, 32767, 2_000_000_000, 2**62, Decimal("9999999999999.99"), Decimal("-1.5")),
        *(Decimal("99999999999999999999999999999.999999"), Decimal("12345678901234567890.0123456789")),
        *(
            -0.0,
            -2.5,
            "Ünïcödé 漢字",
            "漢字",
            b"abc",
            dt.date(9999, 12, 31),
            dt.datetime(1500, 1, 1, tzinfo=UTC),
        ),
        *(dt.datetime(2000, 1, 1), None, True),
    ),
    (4, None, *([None] * 18)),
    (
        *(
            5,
            None,
            0,
            0,
            0,
            0,
            Decimal("0.00"),
            Decimal("0.0000"),
            Decimal(0),
            Decimal(0),
            1e300,
            -0.0,
            "abc",
            None,
        ),
        *(None, dt.date(1995, 3, 15), dt.datetime(2024, 2, 29, 1, 2, 3, 4, UTC), None, None, True),
    ),
]

HERE = """
i = 3 | i <> b | t < s | s <= i | b > 4 | i >= -2000000000 | d = 12.34 | d > e | e < 0 | d >= i | big = -7
x = x | x < x | f >= f | txt < other | txt = 'abc' | raw < X'61' | day = DATE '1995-03-15'
day < DATE '1998-12-01' | at >= TIMESTAMP '2000-01-01 00:00:00'
naive < TIMESTAMP_NTZ '2000-01-01 00:00:00' | yes = no | yes > no | i <=> b | txt <=> other | x <=> x
d <=> 0 | yes <=> no | yes AND no | yes OR no | NOT yes | yes AND NULL | i IS NULL | txt IS NOT NULL
coalesce(i, b) | coalesce(d, e) | coalesce(d, 0) | coalesce(big, 0) | coalesce(t, s, i)
coalesce(txt, 'none') | coalesce(k, -1) | CASE WHEN i > 0 THEN d ELSE e END
CASE WHEN yes THEN t WHEN no THEN b END | CASE WHEN i > 0 THEN 'more' END
CASE i WHEN 3 THEN 'three' WHEN 0 THEN txt ELSE other END | i IN (3, 0) | i IN (3, NULL) | d IN (12.34, 7)
txt IN ('abc', 'x') | t + 1 | t + t * 0 | s - i | b % 1000 * 2 - b | i + b | i * 0 | -i | abs(t + 1)
abs(d) | - d | i % 7 | b % -5 | s % (abs(t % 5) + 1) | d + e | d - e | d * e | d + i | d * 2 | 1 - e
d * (1 - e) | d * (1 - e) * (1 + e) | d - 0.5 | d * 100 | d * b | big + 1 | d / 3 | d / (e + 100)
d / (i % 10 + 20) | d / (abs(fine) + 1) | d / 7.0 | 1 / (d + 1000) | d / (b + 1) * 0
100.00 * d / (abs(d) + 1) | CAST(i AS BIGINT) | CAST(t AS DECIMAL(10,2)) | CAST(d AS DECIMAL(20,4))
CAST(e AS DECIMAL(9,2)) | CAST(d AS DECIMAL(15,1)) | CAST(NULL AS INT) | CAST(b % 100 AS SMALLINT)
CAST('2020-02-02' AS DATE) | DATE '2020-01-31' + INTERVAL '1' MONTH | DATE '1998-12-01' - INTERVAL '90' DAY
txt || '-' || other | length(txt) | txt LIKE 'a%' | txt LIKE '_b_' | other LIKE '%c' | NOT (txt LIKE '%c%')
substring(txt, 2, 2) | substr(txt, 1, 100) | i BETWEEN 0 AND 10 | d BETWEEN 0.06 - 0.01 AND 20 | 0.06 + 0.01
12 | -3 | 3000000000 | 1.50 | 0.05 | 'text' | TRUE | nullif(i, 0) | if(i > 0, d, 0) | nvl(txt, 'x')
fine = 0 | fine > d
year(day) | extract(MONTH FROM day) | day(day)
"""
"""Expressions that are computed here."""

THERE = """
upper(txt) | lower(other) | i / 2 | x + 1 | d + x | CAST(d AS STRING) | CAST(txt AS STRING) || i
fine * (fine - fine) | d % 2 | quarter(day) | day + 1 | id = '3' | x < 1 | x > f | x <=> f | txt LIKE other
txt RLIKE 'a.*' | concat(txt, other)
"""
"""Expressions that the engine is asked for: they mean the same, whoever computes them."""

AGGREGATES = """
count(*) | count(d) | count(DISTINCT i) | sum(t) | sum(i) | sum(s) | sum(d) | sum(e) | sum(big * 0)
sum(DISTINCT d) | avg(d) | avg(e) | avg(d * e) | min(d) | max(txt) | min(day) | max(at) | min(raw)
max(yes) | bool_and(yes) | bool_or(no) | sum(d) FILTER (WHERE i > 0) | count(*) FILTER (WHERE txt IS NULL)
sum(d * (1 - e)) | max(big) | min(naive)
"""
ASKED = ["min(naive) AS first, every(no)", "min(x)", "max(f)", "sum(x)", "avg(i)", "stddev(i)"]
"""Aggregates that the engine is asked for."""
BATCH = 12


def listed(text: str) -> list[str]:
    return [item.strip() for line in text.strip().splitlines() for item in line.split(" | ")]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ab.Lake]:
    with ab.connect(tmp_path_factory.mktemp("here") / "lake", spark=spark) as opened:
        opened.create_table("v", DDL)
        opened.insert("v", ROWS)
        yield opened


class Counted:
    """What a refresh reads, and how often the engine was asked."""

    most = 1_000

    def __init__(self, lake: ab.Lake) -> None:
        context = lake._context
        lake_version = context.catalog.lake_version()
        self._near = Nearby(Sources(context, lake_version, lake_version), None, RelationFacts(), self.most)  # type: ignore[arg-type]
        self.asked = 0

    def is_large(self, leaf: Leaf) -> bool:
        return False

    def count(self, leaf: Scan | StoredResult) -> int:
        return len(ROWS)

    def rows(self, leaf: Scan | Delta | StoredResult) -> Held:
        return self._near.rows(leaf)

    def look_up(self, leaf: Scan | StoredResult, keys: Mapping[str, Keyed]) -> Held | None:
        return None

    def ask(self, plan: Plan, cuts: Mapping[str, Held]) -> Held:
        self.asked += 1
        return self._near.ask(plan, cuts)

    divides_decimals = True

    def value(self, scalar: Scalar) -> tuple[Kind, Any]:
        return self._near.value(scalar)


def compared(lake: ab.Lake, text: str) -> tuple[Held, Held, int]:
    """What is computed here, what Spark computes of the same plan, and how often it was asked meanwhile."""
    context = lake._context
    lake_version = context.catalog.lake_version()
    schemas = {name: version.schema for name, version in lake_version.versions.items()}
    plan = lower(text, schemas).plan
    world = Counted(lake)
    here = interpret(plan, world, questions=10)
    rendered = render(plan, SPARK)
    sources = Sources(context, lake_version, lake_version)
    frames = {key: sources.scan_leaf(leaf) for key, leaf in rendered.leaves if isinstance(leaf, Scan)}
    there = held_rows(context.engine.collect(context.engine.run_query(rendered.template, frames)), plan.names)
    return here, there, world.asked


def check(lake: ab.Lake, text: str) -> int:
    here, there, asked = compared(lake, text)
    for name, ours, theirs in zip(here.names, here.kinds, there.kinds, strict=True):
        assert ours == theirs or VOID in (ours, theirs), (text, name, ours, theirs)
    for place, name in enumerate(here.names):
        ours, theirs = (sorted((row[place] for row in side.rows), key=repr) for side in (here, there))
        assert repr(ours) == repr(theirs), (text, name)
    assert here.net == there.net, text
    return asked


def batches(items: list[str]) -> list[list[str]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def named(items: list[str]) -> str:
    return ", ".join(f"{item} AS value_{number}" for number, item in enumerate(items))


@pytest.mark.parametrize("expressions", batches(listed(HERE)), ids=lambda items: items[0])
def test_scalars_are_computed_here_as_spark_does(lake: ab.Lake, expressions: list[str]) -> None:
    assert check(lake, f"SELECT id, {named(expressions)} FROM v") == 0


@pytest.mark.parametrize("expression", listed(THERE))
def test_what_isnt_understood_here_spark_is_asked_for(lake: ab.Lake, expression: str) -> None:
    assert check(lake, f"SELECT id, {expression} AS value FROM v WHERE id IN (1, 3)") == 1


@pytest.mark.parametrize("key", ["k", "txt", "id % 2", "TRUE"])
def test_groups_are_computed_here_as_spark_does(lake: ab.Lake, key: str) -> None:
    calls = listed(AGGREGATES)
    for batch in batches(calls):
        assert check(lake, f"SELECT {key} AS key, {named(batch)} FROM v GROUP BY {key}") == 0
        assert check(lake, f"SELECT {named(batch)} FROM v WHERE id < 0") == 0
    for call in ASKED:
        assert check(lake, f"SELECT {key} AS key, {call} AS value FROM v GROUP BY {key}") == 1


@pytest.mark.parametrize("key", ["x", "f", "d", "day", "at", "naive", "raw", "yes", "txt"])
def test_keys_of_all_types_group_and_join_here_as_in_spark(lake: ab.Lake, key: str) -> None:
    check(lake, f"SELECT {key}, count(*) AS n FROM v GROUP BY {key}")
    check(lake, f"SELECT DISTINCT {key} FROM v")
    check(lake, f"SELECT a.id, b.id AS other FROM v a JOIN v b ON a.{key} = b.{key}")
    check(lake, f"SELECT a.id, b.id AS other FROM v a LEFT JOIN v b ON a.{key} <=> b.{key} AND a.id < b.id")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.id, b.id AS other FROM v a JOIN v b ON a.i = b.b",
        "SELECT a.id, b.id AS other FROM v a JOIN v b ON a.d = b.e",
        "SELECT a.id, b.id AS other FROM v a FULL JOIN v b ON a.t = b.d AND a.yes",
        "SELECT id FROM v WHERE d IN (SELECT e FROM v)",
        "SELECT id FROM v WHERE id NOT IN (SELECT k FROM v WHERE k IS NOT NULL)",
        "SELECT i FROM v UNION ALL SELECT b FROM v",
        "SELECT d FROM v UNION ALL SELECT e FROM v UNION ALL SELECT i FROM v",
        "SELECT d FROM v INTERSECT SELECT d FROM v",
        "SELECT i FROM v EXCEPT ALL SELECT i FROM v WHERE id = 1",
        "SELECT id, row_number() OVER (PARTITION BY k ORDER BY d DESC NULLS LAST, id) AS n FROM v",
        "SELECT id, sum(d) OVER (PARTITION BY k) AS n, rank() OVER (PARTITION BY k ORDER BY x) AS r FROM v",
        "SELECT id, x FROM v ORDER BY x DESC, id LIMIT 3",
        "SELECT id, day FROM v ORDER BY day NULLS LAST, id LIMIT 2 OFFSET 1",
        "SELECT (SELECT max(d) FROM v) AS m, id FROM v",
    ],
)
def test_operators_do_here_what_they_do_in_spark(lake: ab.Lake, text: str) -> None:
    check(lake, text)


@pytest.mark.parametrize("text", ["t + t", "i + i", "b * b", "b + b + b", "d / 0", "i % 0", "CAST(b AS INT)"])
def test_what_fails_in_spark_fails_here(lake: ab.Lake, text: str) -> None:
    with pytest.raises(ab.AnabranchError):
        compared(lake, f"SELECT id, {text} AS value FROM v")
    assert TableName.parse("v") in lake._context.catalog.lake_version().versions
