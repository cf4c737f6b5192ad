"""`maintain` compacts tables that have come to need it, and leaves the others alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.iceberg.parquet_files import FileRef
from anabranch.names import TableName
from anabranch.read.scan_tables import list_live_files
from anabranch.write.row_level_writes import MANY_FILES, is_worth_compacting


def file(size: int, rows: int = 1_000, marked: int = 0) -> FileRef:
    entry: Any = None
    return FileRef("file:/x", rows - marked, size, entry, (), marked)


def test_what_is_worth_it() -> None:
    assert not is_worth_compacting([])
    assert not is_worth_compacting([file(100)] * (MANY_FILES - 1))
    assert is_worth_compacting([file(100)] * MANY_FILES)
    assert not is_worth_compacting([file(60 << 20)] * MANY_FILES)
    assert is_worth_compacting([file(60 << 20, 1_000, 21)])
    assert not is_worth_compacting([file(60 << 20, 1_000, 20)])


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    with ab.connect(tmp_path / "lake", clock=ab.ManualClock()) as opened:
        opened.create_table("often", "id BIGINT")
        opened.create_table("seldom", "id BIGINT")
        for number in range(MANY_FILES + 1):
            opened.insert("often", [(number,)])
        opened.insert("seldom", [(1,)])
        yield opened


def files_of(lake: ab.Lake, name: str) -> int:
    context = lake._context
    return len(list_live_files(context, context.catalog.lake_version().version(TableName.parse(name))))


def test_many_small_files_become_one_and_the_rows_stay(lake: ab.Lake) -> None:
    before = lake.lsn
    assert files_of(lake, "often") == MANY_FILES + 1
    assert lake.maintain().tables_compacted == 1
    assert (files_of(lake, "often"), files_of(lake, "seldom")) == (1, 1)
    assert sorted(lake.snapshot().arrow("often")["id"].to_pylist()) == list(range(MANY_FILES + 1))
    after = lake.lsn
    assert after == before + 1
    assert lake.maintain().tables_compacted == 0
    assert lake.lsn == after


def test_it_can_be_left_out(lake: ab.Lake) -> None:
    before = lake.lsn
    assert lake.maintain(compact=False).tables_compacted == 0
    assert files_of(lake, "often") == MANY_FILES + 1
    assert lake.lsn == before


def test_a_writer_who_is_faster_wins(lake: ab.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken(*_: object) -> None:
        raise ab.errors.WriteConflict("somebody was faster")

    monkeypatch.setattr("anabranch.maintain.compact.compact", overtaken)
    assert lake.maintain().tables_compacted == 0
    assert files_of(lake, "often") == MANY_FILES + 1
