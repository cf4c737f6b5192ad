"""Columns that were read are kept on the disk, in limits, and searched by an order of their values."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anabranch.engine.local import room as module
from anabranch.engine.local.columns import Columns, Part
from anabranch.engine.local.packed import as_numbers, has_numbers

PART = Part("file:/some.parquet", 0, "id")


def never() -> Any:
    raise AssertionError("it is kept")


def reads(values: pa.Array, counted: list[int]) -> Callable[[], pa.ChunkedArray]:
    def read() -> pa.ChunkedArray:
        counted.append(len(values))
        return pa.chunked_array([values[:2], values[2:]])

    return read


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, None, 1, 2], pa.int32()),
        pa.array(["b", None, "", "a" * 100]),
        pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(12, 2)),
        pa.array([None, None], pa.int64()),
        pa.array([], pa.int64()),
        pa.array([[1], None, []], pa.list_(pa.int64())),
        pa.array([True, None, False]),
    ],
    ids=lambda values: str(values.type),
)
def test_a_column_is_read_once_and_stays_the_same(values: pa.Array) -> None:
    columns, counted = Columns(lambda: 1 << 30), []
    assert columns.column(PART, reads(values, counted)).values().equals(values)
    assert columns.column(PART, never).values().equals(values)
    assert counted == [len(values)]


def test_a_dictionary_is_kept_as_its_values() -> None:
    columns = Columns(lambda: 1 << 30)
    kept = columns.column(PART, lambda: pa.chunked_array([pa.array(["a", "b", "a"]).dictionary_encode()]))
    assert kept.values().equals(pa.array(["a", "b", "a"]))


def test_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 20_000)
    columns = Columns(lambda: 120_000)
    parts = [Part("file:/some.parquet", group, "id") for group in range(20)]
    for number, part in enumerate(parts):
        values = pa.array(range(2**40 + number, 2**40 + number + 1_000), pa.int64())
        assert columns.column(part, lambda values=values: pa.chunked_array([values])).values().equals(values)
    kept = [columns.has(part) for part in parts]
    assert 2 <= sum(kept) <= 3
    assert kept == sorted(kept)


def test_texts_make_no_room_for_themselves_among_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 20_000)
    columns = Columns(lambda: 120_000)
    columns.column(PART, lambda: pa.chunked_array([pa.array(range(1_000), pa.int64())]))
    for group in range(20):
        texts = pa.array([f"{group} says {number}" for number in range(1_000)])
        columns.column(
            Part("file:/some.parquet", group, "comment"), lambda texts=texts: pa.chunked_array([texts])
        )
    assert columns.has(PART)
    assert not columns.has(Part("file:/some.parquet", 0, "comment"))
    assert columns.has(Part("file:/some.parquet", 19, "comment"))


def test_what_has_no_room_is_read_again() -> None:
    columns, counted = Columns(lambda: 0), []
    values = pa.array([1, 2, 3], pa.int64())
    for _ in range(2):
        assert columns.column(PART, reads(values, counted)).values().equals(values)
    assert len(counted) == 2
    assert columns.order(PART) is None


def test_a_full_disk_costs_nothing_but_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "posix_fallocate", full)
    columns, counted = Columns(lambda: 1 << 30), []
    values = pa.array([1, 2, 3], pa.int64())
    for _ in range(2):
        assert columns.column(PART, reads(values, counted)).values().equals(values)
    assert len(counted) == 2


def test_rows_that_are_in_use_outlive_their_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 1 << 14)
    columns = Columns(lambda: 1 << 15)
    first = columns.column(PART, lambda: pa.chunked_array([pa.array(range(500), pa.int64())]))
    for group in range(1, 10):
        part = Part("file:/some.parquet", group, "id")
        columns.column(part, lambda: pa.chunked_array([pa.array([7] * 500, pa.int64())]))
    assert not columns.has(PART)
    assert first.values().to_pylist() == list(range(500))
    columns.close()
    assert first.values().to_pylist() == list(range(500))


@pytest.mark.parametrize("seed", range(20))
def test_an_order_finds_what_a_pass_finds(seed: int) -> None:
    choose = random.Random(seed)
    some = [choose.choice((None, *range(-9, 9))) for _ in range(choose.randrange(1, 200))]
    if seed % 4 == 0:
        some = sorted(value for value in some if value is not None)
    kind = choose.choice((pa.int32(), pa.int64(), pa.date32(), pa.decimal128(9, 0), pa.timestamp("us")))
    values = _as(some, kind)
    columns = Columns(lambda: 1 << 30)
    columns.column(PART, lambda: pa.chunked_array([values]))
    wanted = {choose.randrange(-12, 12) for _ in range(choose.randrange(6))}
    keys = as_numbers(_as(sorted(wanted), kind))
    for _ in range(2):
        order = columns.order(PART)
        assert order is not None
        found = order.find(*order.runs(keys))
        assert found.tolist() == [place for place, value in enumerate(some) if value in wanted]


def _as(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array([None if value is None else Decimal(value) for value in values], kind)
    whole = pa.int32() if pa.types.is_date(kind) else pa.int64()
    return pa.array(values, whole).cast(kind)


def test_values_without_an_order_of_numbers_have_none() -> None:
    for values in (["a"], [1.5], [True], [Decimal("1" * 30)]):
        assert not has_numbers(pa.array(values).type)
    for known in ([date(2026, 1, 1)], [datetime(2026, 1, 1, tzinfo=UTC)], [1], [Decimal("1.5")]):
        assert has_numbers(pa.array(known).type)
        assert isinstance(as_numbers(pa.array(known)), np.ndarray)


def test_threads_share_what_is_kept() -> None:
    columns, wrong = Columns(lambda: 1 << 30), []

    def work(seed: int) -> None:
        choose = random.Random(seed)
        for _ in range(200):
            group = choose.randrange(40)
            part = Part("file:/some.parquet", group, "id")
            values = pa.array([group, 5, group * 2], pa.int64())
            found = columns.column(part, lambda values=values: pa.chunked_array([values])).values()
            order = columns.order(part)
            if (
                not found.equals(values)
                or order is None
                or sorted(values.to_pylist()) != order.values.tolist()
            ):
                wrong.append(group)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
