"""A column takes few bytes, and what is asked of it is what it was made from."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from anabranch.engine.local import packed as module
from anabranch.engine.local.packed import pack

ENDS = [0, 1, -1, 126, 127, 128, -127, -128, -129, 32767, 32768, 2**31 - 1, 2**31, -(2**31), 10**17]
KINDS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [value for value in ENDS if -128 <= value <= 127]),
    (pa.int32(), [value for value in ENDS if -(2**31) <= value < 2**31]),
    (pa.int64(), [*ENDS, 2**63 - 1, -(2**63)]),
    (pa.date32(), [value for value in ENDS if abs(value) < 40000]),
    (pa.timestamp("us"), ENDS),
    (pa.timestamp("us", "UTC"), ENDS),
    (pa.decimal128(18, 2), [Decimal(value).scaleb(-2) for value in ENDS]),
    (pa.decimal128(38, 2), [Decimal(value).scaleb(-2) for value in ENDS]),
    (pa.string(), ["", "a", "ÿ", "a longer text"]),
    (pa.bool_(), [True, False]),
    (pa.float64(), [0.0, 1.5, float("inf")]),
    (pa.binary(), [b"", b"\x00", b"ab"]),
]


def some(chance: random.Random, kind: pa.DataType, values: list[Any], count: int, nulls: bool) -> pa.Array:
    chosen = chance.sample(values, chance.randint(1, len(values)))
    drawn = [chance.choice([*chosen, None] if nulls else chosen) for _ in range(count)]
    if pa.types.is_date(kind):
        return pa.array(drawn, pa.int32()).cast(kind)
    return pa.array(drawn, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(drawn, kind)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize(("kind", "values"), KINDS, ids=[str(kind) for kind, _ in KINDS])
def test_a_column_gives_back_its_values(
    kind: pa.DataType, values: list[Any], nulls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TRIED", 8)
    for seed in range(30):
        chance = random.Random(seed)
        column = some(chance, kind, values, chance.choice([0, 1, 7, 60]), nulls)
        column = column[chance.randint(0, 3) :]
        packed = pack(column)
        assert packed.kind == kind
        assert packed.values().equals(column)
        places = np.array([chance.randrange(len(column)) for _ in range(5)] if len(column) else [], np.int64)
        assert packed.take(places).equals(column.take(pa.array(places)))


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=[str(kind) for kind, _ in KINDS])
def test_a_column_has_what_a_pass_over_its_values_finds(
    kind: pa.DataType, values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TRIED", 8)
    for seed in range(40):
        chance = random.Random(seed)
        column = some(chance, kind, values, 50, seed % 2 == 0)
        wanted = some(chance, kind, values, 4, seed % 3 == 0)
        places = np.sort(np.array(chance.sample(range(50), 9), np.int64))
        for chosen in (None, places):
            asked = column if chosen is None else column.take(pa.array(chosen))
            expected = pc.is_in(asked, value_set=wanted).to_pylist()
            assert pack(column).has(wanted, chosen).tolist() == expected


@pytest.mark.parametrize(
    ("values", "each"),
    [
        (pa.array(range(100), pa.int64()), 1),
        (pa.array(range(1000), pa.int64()), 2),
        (pa.array([100_000] * 9, pa.int64()), 4),
        (pa.array([Decimal("0.05")] * 9, pa.decimal128(15, 2)), 1),
        (pa.array(["AIR", "SHIP"] * 5000), 1),
    ],
    ids=["one byte", "two", "four", "a decimal", "few texts"],
)
def test_a_column_takes_few_bytes(values: pa.Array, each: int) -> None:
    assert pack(values).stored.type.bit_width == 8 * each


def test_texts_that_do_not_repeat_stay_texts() -> None:
    assert pack(pa.array([f"text {number}" for number in range(9000)])).words is None
