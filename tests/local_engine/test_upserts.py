"""Upserts find the rows that they change, in whichever way they look for them."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.write import upsert
from tests.engines.lakes import duck_lake
from tests.position_deletes.forced import marked, marking_always

pytestmark = pytest.mark.rotating(4)

COLUMNS = "a BIGINT, b STRING, d DECIMAL(12,2), f DOUBLE, note STRING"
WAYS = ("looked up", "sent to the engine", "all read")
KEYS = [("a",), ("b",), ("a", "b"), ("d", "b"), ("f",), ("f", "a")]
Row = tuple[Any, ...]


def in_that_way(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(upsert, "LOOKED_UP_ROWS", 0 if way == "looked up" else 1_000_000)
    monkeypatch.setattr(upsert, "FEW", 0)
    monkeypatch.setattr(upsert, "SENT_BYTES", -1 if way == "all read" else 1 << 20)


def stored(chance: random.Random) -> Row:
    return (
        chance.choice([None, *range(6)]),
        chance.choice([None, "x", "y", "ÿ", ""]),
        chance.choice([None, Decimal("1.00"), Decimal("-2.50")]),
        chance.choice([None, 0.0, -0.0, 1.5]),
        "stored",
    )


def upserted(rows: list[Row], incoming: list[Row], keys: tuple[str, ...]) -> Counter[Row]:
    """What an upsert means: every incoming row replaces what agrees with it, or is added."""
    places = ["abdf".index(key) for key in keys]

    def key_of(row: Row) -> Row | None:
        found = tuple(row[place] for place in places)
        return None if None in found else found

    known = {key_of(row) for row in rows} - {None}
    new = {key_of(row): row for row in incoming}
    kept = [new.get(key, row) if (key := key_of(row)) is not None else row for row in rows]
    return Counter([*kept, *(row for row in incoming if key_of(row) not in known)])


def drawn(chance: random.Random, keys: tuple[str, ...]) -> list[Row]:
    """Incoming rows: of each key one, of NULL keys any number."""
    found: dict[Row | int, Row] = {}
    for number in range(5):
        row = (*stored(chance)[:4], f"came {number}")
        key = tuple(row["abdf".index(key)] for key in keys)
        found.setdefault(number if None in key else key, row)
    return list(found.values())


def check(lake: ab.Lake, seed: int, keys: tuple[str, ...], *, rounds: int) -> None:
    chance = random.Random(seed)
    lake.create_table("kept", COLUMNS)
    rows = [stored(chance) for _ in range(30)]
    for start in range(0, 30, 10):
        lake.insert("kept", rows[start : start + 10])
    for _ in range(rounds):
        incoming = drawn(chance, keys)
        lake.merge("kept", incoming, on=list(keys))
        expected = upserted(rows, incoming, keys)
        rows = [tuple(row.values()) for row in lake.arrow("kept").to_pylist()]
        assert Counter(rows) == expected


@pytest.mark.parametrize("keys", KEYS, ids="+".join)
@pytest.mark.parametrize("way", WAYS)
def test_an_upsert_means_the_same_however_its_matches_are_found(
    place: Path, monkeypatch: pytest.MonkeyPatch, way: str, keys: tuple[str, ...]
) -> None:
    in_that_way(monkeypatch, way)
    for seed in range(4):
        with duck_lake(place / str(seed)) as lake:
            check(lake, seed, keys, rounds=4)


def test_what_was_marked_as_gone_matches_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_that_way(monkeypatch, "looked up")
    with duck_lake(place) as lake, marking_always():
        check(lake, 1, ("a", "b"), rounds=6)
        assert marked(lake, "kept")


def test_rows_are_looked_up_only_where_few_come(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(upsert, "LOOKED_UP_ROWS", 10)
    with duck_lake(place) as lake:
        lake.create_table("kept", "id BIGINT, note STRING")
        lake.insert("kept", [(number, "stored") for number in range(100)])
        engine = lake._context.engine
        monkeypatch.setattr(
            engine, "scan", lambda *a, **k: asked.append(a) or type(engine).scan(engine, *a, **k)
        )
        assert lake.merge("kept", [(7, "came"), (200, "came")], on=["id"]).deleted == 1
        assert not asked, "the stored rows were read by the engine"
        lake.merge("kept", [(number, "came") for number in range(50)], on=["id"])
        assert asked


@pytest.mark.spark
@pytest.mark.parametrize("way", WAYS)
def test_upserts_on_spark_find_their_matches(
    place: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    in_that_way(monkeypatch, way)
    for number, keys in enumerate([("a", "b"), ("f",)]):
        with ab.connect(place / str(number), spark=spark) as lake:
            check(lake, number, keys, rounds=2)
