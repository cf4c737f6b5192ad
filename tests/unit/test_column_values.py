"""How many values columns can have, by the footers of their files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.names import TableName
from anabranch.read.scan_tables import list_live_files
from anabranch.refresh import inputs
from anabranch.refresh.inputs import Sources
from tests.engines.lakes import duck_lake


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[ab.Lake]:
    """A table of whole numbers, a date, and types that aren't counted."""
    with duck_lake(tmp_path) as lake:
        lake.create_table(
            "t", "small SMALLINT, id INT, big BIGINT, day DATE, name STRING, price DECIMAL(9, 2), x DOUBLE"
        )
        yield lake


def insert(lake: ab.Lake, *ids: int | None) -> None:
    lake.insert(
        "t",
        [(number and number % 7, number, number and number * 10**10, DAY, "a", 1, 0.5) for number in ids],
    )


DAY = dt.date(1969, 12, 31)


def possible_values(lake: ab.Lake) -> Mapping[str, int]:
    version = lake._context.catalog.lake_version()
    return Sources(lake._context, version, version).measure_table(TableName.parse("t")).distinct


def test_between_the_bounds_of_all_files_there_are_so_many_values(lake: ab.Lake) -> None:
    insert(lake, -3, 5)
    insert(lake, 10)
    assert possible_values(lake) == {"small": 3, "id": 14, "big": 13 * 10**10 + 1, "day": 1}


def test_a_table_without_files_and_columns_without_bounds_say_nothing(
    lake: ab.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert possible_values(lake) == {}
    insert(lake, 1, 2)
    lake.insert("t", [(None, None, 5, DAY, None, None, None)])
    assert set(possible_values(lake)) == {"big", "day"}
    monkeypatch.setattr(inputs, "MOST_FILES", 1)
    assert possible_values(lake) == {}


def test_a_file_that_is_gone_says_nothing_until_somebody_needs_it(lake: ab.Lake) -> None:
    insert(lake, 1, 2)
    version = lake._context.catalog.lake_version()
    (file,) = list_live_files(lake._context, version.version(TableName.parse("t")))
    Path(file.path.removeprefix("file://")).unlink()
    assert possible_values(lake) == {}


def test_a_table_is_measured_by_its_metadata_and_a_change_by_its_footers(lake: ab.Lake) -> None:
    insert(lake, *range(50))
    before = lake._context.catalog.lake_version()
    insert(lake, 60)
    lake.delete("t", where="id < 10")
    now = lake._context.catalog.lake_version()
    sources = Sources(lake._context, before, now)
    table = sources.measure_table(TableName.parse("t"))
    assert (table.rows, table.columns) == (41, 7)
    assert table.size > 0
    change = sources.measure_change(TableName.parse("t"))
    assert change.rows == 1 + 10
    assert change.size > 0
