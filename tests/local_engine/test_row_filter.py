"""Conditions that are judged without an engine let the rows pass that Spark lets pass."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from anabranch.algebra.scalar import Call, Literal, Ref, Scalar, Value, Verbatim
from anabranch.delta.row_conditions import is_plain
from anabranch.engine.local.row_filter import columns_of, filter_rows, rows_that_pass
from anabranch.engine.render.dialect import SPARK
from anabranch.engine.render.scalar_sql import scalar_sql
from tests.seeds import rotating_seeds

TYPES = {
    "t": pa.int8(),
    "i": pa.int32(),
    "b": pa.int64(),
    "d": pa.decimal128(15, 2),
    "e": pa.decimal128(15, 2),
    "big": pa.decimal128(38, 6),
    "day": pa.date32(),
    "due": pa.date32(),
    "text": pa.string(),
    "other": pa.string(),
    "real": pa.float64(),
}
DAYS = [
    dt.date(1995, 1, 31),
    dt.date(1996, 2, 29),
    dt.date(1995, 2, 28),
    dt.date(1, 1, 1),
    dt.date(9999, 12, 31),
]
TEXTS = ["", "a", "A", "ab", "a%", "ä", "z\u0301", "\U0001f600", "a ", "10", "forest green"]
NUMBERS: dict[str, list[Value]] = {
    "t": [-128, -1, 0, 1, 127],
    "i": [-(2**31), -1, 0, 1, 24, 2**31 - 1],
    "b": [-(2**63), -1, 0, 1, 24, 2**53 + 1, 2**63 - 1],
    "d": [Decimal("-0.01"), Decimal("0.00"), Decimal("0.05"), Decimal("24.00"), Decimal("9999999999999.99")],
    "big": [Decimal("-1.000001"), Decimal("0.000000"), Decimal("24.000000"), Decimal("1e31")],
    "real": [-0.0, 0.0, 1.5, 24.0, float("nan")],
}


def draw_rows(chance: random.Random, count: int) -> pa.Table:
    def value(name: str) -> object:
        if chance.random() < 0.15:
            return None
        if name in ("day", "due"):
            return chance.choice(DAYS)
        if name in ("text", "other"):
            return chance.choice(TEXTS)
        return chance.choice(NUMBERS["d" if name == "e" else name])

    return pa.table({name: pa.array([value(name) for _ in range(count)], TYPES[name]) for name in TYPES})


def draw_constant(chance: random.Random, name: str) -> Scalar:
    if name in ("day", "due"):
        day = Verbatim((f"DATE '{chance.choice(DAYS[:3])}'",))
        unit = chance.choice(["DAY", "MONTH", "YEAR"])
        interval = Verbatim((f"INTERVAL '{chance.randint(0, 30)}' {unit}",))
        return chance.choice([day, Call(chance.choice("+-"), (day, interval))])
    if name in ("text", "other"):
        return Literal(chance.choice(TEXTS))
    number = Literal(
        chance.choice([0, 1, 24, 300, Decimal("0.05"), Decimal("0.06"), Decimal("0.051"), 1 << 40])
    )
    return chance.choice([number, Call(chance.choice("+-"), (number, Literal(Decimal("0.01"))))])


def draw_condition(chance: random.Random, depth: int = 2) -> Scalar:
    if depth and chance.random() < 0.4:
        parts = tuple(draw_condition(chance, depth - 1) for _ in range(2))
        return chance.choice([Call("and", parts), Call("or", parts), Call("not", parts[:1])])
    name = chance.choice(list(TYPES))
    ref = Ref(name)
    op = chance.choice(["=", "<>", "<", "<=", ">", ">="])
    match chance.randrange(6):
        case 0:
            return Call("is null", (ref,))
        case 1:
            return Call("in", (ref, *(draw_constant(chance, name) for _ in range(chance.randint(1, 3)))))
        case 2 if name in ("text", "other"):
            return Call(
                "like",
                (ref, Literal(chance.choice(["a%", "%a", "%a%", "a", "%", "", "_", "f%n", "%\u0301"]))),
            )
        case 3:
            return Call(op, (ref, Ref(chance.choice([each for each in TYPES if TYPES[each] == TYPES[name]]))))
        case 4:
            return Call(op, (draw_constant(chance, name), ref))
        case _:
            return Call(op, (ref, draw_constant(chance, name)))


@pytest.mark.spark
@pytest.mark.parametrize("seed", rotating_seeds(2))
def test_random_conditions_let_the_same_rows_pass_as_in_spark(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    rows = draw_rows(chance, 200)
    drawn = [condition for _ in range(150) if is_plain(condition := draw_condition(chance))]
    spark.createDataFrame(rows).createOrReplaceTempView("rows_to_filter")
    items = [
        f"coalesce({scalar_sql(each, SPARK).sql('spark')}, false) AS c{n}" for n, each in enumerate(drawn)
    ]
    expected = spark.sql(f"SELECT {', '.join(items)} FROM rows_to_filter").toArrow()
    judged = 0
    for number, condition in enumerate(drawn):
        columns = {name: rows.column(name).combine_chunks() for name in columns_of([condition])}
        passed = rows_that_pass([condition], columns)
        if passed is not None:
            judged += 1
            spark_says = expected.column(f"c{number}").to_numpy(zero_copy_only=False)
            assert np.array_equal(passed, spark_says), condition
    assert judged > len(drawn) / 3


def test_what_is_not_exact_lets_all_rows_pass() -> None:
    rows = pa.table({"x": pa.array([1.0, float("nan")]), "d": pa.array([Decimal("0.05")] * 2)})
    unknown = [
        Call("<", (Ref("x"), Literal(2))),
        Call("=", (Ref("d"), Literal(Decimal("0.051")))),
        Call("=", (Ref("missing"), Literal(1))),
    ]
    assert rows_that_pass(unknown, {name: rows.column(name) for name in rows.column_names}) is None
    assert filter_rows(rows, unknown).num_rows == rows.num_rows


def test_conditions_that_are_known_choose_rows_beside_those_that_are_not() -> None:
    rows = pa.table({"i": [1, 2, None], "x": [1.0, 2.0, 3.0]})
    found = filter_rows(rows, [Call(">", (Ref("i"), Literal(1))), Call(">", (Ref("x"), Literal(5)))])
    assert found.column("i").to_pylist() == [2]
