"""What the facade gained for the service: looks that are cheap, and need no Spark."""

from __future__ import annotations

import datetime as dt
import math
import threading
from decimal import Decimal

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.errors import InputError, UnknownStreamTable, UnknownTable
from anabranch.iceberg.read_rows import _python_values
from anabranch.names import TableName
from anabranch.read.preview import MAX_PREVIEW
from anabranch.read.scan_tables import list_live_files
from anabranch.web.app import build_app
from tests.engines.lakes import duck_lake
from tests.web.calls import CALLS
from tests.web.conftest import TOKEN, UNLIMITED, TestClient, stocked


def test_the_pulse_changes_with_whatever_a_person_could_see_and_with_nothing_else(place, catalog):
    with duck_lake(place, catalog=catalog) as lake:
        stocked(lake)
        seen = [lake.pulse()]
        assert lake.pulse() == seen[0]
        for act in (
            lambda: lake.insert("orders", [(5, "west", 1)]),
            lambda: lake.refresh_stream_table("by_region", full=True),
            lambda: lake.suspend_stream_table("large"),
            lambda: lake.resume_stream_table("large"),
            lambda: lake.gate_source("orders"),
            lambda: lake.ungate_source("orders"),
            lambda: lake.advance_watermark("orders", "2030-01-01"),
            lambda: lake.create_watermark_group("both", ["orders", "sales.customers"]),
            lambda: lake.drop_watermark_group("both"),
            lambda: lake.create_refresh_group("pair", ["by_region", "sales.names"]),
            lambda: lake.alter_stream_table("large", schedule="7m"),
            lambda: lake.drop_stream_table("sales.names"),
        ):
            act()
            seen.append(lake.pulse())
            assert seen[-1] != seen[-2]
            lake.status()
            assert lake.pulse() == seen[-1]


def test_who_leads_is_known_until_the_lease_is_given_back_or_runs_out(place):
    clock = ab.ManualClock()
    with duck_lake(place, clock=clock) as lake:
        stocked(lake)
        assert lake.leading_scheduler() is None
        seen, terms = [], []

        def look(event: ab.Event) -> None:
            if event.kind == "tick_started":
                terms.append(event.detail["term"])
                seen.append(lake.leading_scheduler())
                clock.advance(3600)
                seen.append(lake.leading_scheduler())

        lake.tick(observer=look)
        assert seen[0].term == terms[0]
        assert seen[0].leads_until > dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
        assert seen[1] is None
        assert lake.leading_scheduler() is None


def test_a_description_of_what_is_not_there_says_so(standing):
    for name in ("nobody", "orders"):
        with pytest.raises(UnknownStreamTable):
            standing.describe_stream_table(name)


# -- previews -------------------------------------------------------------------------------------


def test_a_preview_reads_no_more_files_than_it_needs(duck_lake, place):
    duck_lake.create_table("t", "id INT, v STRING")
    for number in range(4):
        duck_lake.insert("t", [(number, "x"), (number, "y")])
    files = sorted(place.glob("tables/**/*.parquet"))
    assert len(files) >= 4
    seen = [len(duck_lake.preview("t", limit).rows) for limit in (0, 1, 2, 3, 8, 9, MAX_PREVIEW)]
    assert seen == [0, 1, 2, 3, 8, 8, 8]
    assert duck_lake.preview("t", 1).total_rows == 8
    version = duck_lake._context.catalog.lake_version().version(TableName.parse("t"))
    first, *others = list_live_files(duck_lake._context, version)
    for file in others:
        (place / file.path.removeprefix(f"file://{place}/")).unlink()
    assert len(duck_lake.preview("t", first.rows).rows) == first.rows


def test_a_preview_shows_every_kind_of_value(duck_lake):
    duck_lake.create_table("t", "f DOUBLE, b BINARY, m MAP<STRING, INT>, n DECIMAL(9,2), s STRUCT<a: DATE>")
    row = (math.inf, b"\xff", {"a": 1}, Decimal("1.10"), {"a": dt.date(2030, 1, 2)})
    duck_lake.insert("t", [row, (math.nan, None, None, None, None)])
    with TestClient(build_app(duck_lake, token=TOKEN), base_url="http://localhost") as client:
        found = client.get("/api/v1/tables/t/rows").json()["rows"]
    assert found == [
        ["Infinity", "/w==", [["a", 1]], "1.10", {"a": "2030-01-02"}],
        ["NaN", None, None, None, None],
    ]


def test_values_that_python_can_not_have_are_shown_as_numbers():
    far = pa.chunked_array([pa.array([0, 4_000_000], pa.int32()).cast(pa.date32())])
    assert _python_values(far) == [dt.date(1970, 1, 1), "4000000"]
    later = pa.chunked_array([pa.array([10**18], pa.int64()).cast(pa.timestamp("us", "UTC"))])
    assert _python_values(later) == [str(10**18)]
    lists = pa.ListArray.from_arrays(pa.array([0, 2]), pa.concat_arrays(far.chunks))
    assert _python_values(pa.chunked_array([lists])) == [[dt.date(1970, 1, 1), "4000000"]]
    maps = pa.MapArray.from_arrays(
        pa.array([0, 1]), pa.array(["x"]), pa.array([4_000_000], pa.int32()).cast(pa.date32())
    )
    assert _python_values(pa.chunked_array([maps])) == [[("x", "4000000")]]
    structs = pa.StructArray.from_arrays([maps], names=["m"])
    assert _python_values(pa.chunked_array([structs])) == [{"m": [("x", "4000000")]}]


def test_a_preview_of_what_nobody_sees_is_refused(standing):
    for limit in (-1, MAX_PREVIEW + 1, True, "5", None):
        with pytest.raises(InputError):
            standing.preview("orders", limit)
    with pytest.raises(UnknownTable):
        standing.preview("nobody")


# -- Spark ----------------------------------------------------------------------------------------


def test_no_read_starts_spark_but_an_explanation(place):
    with duck_lake(place) as lake:
        stocked(lake)
    events: list[str] = []
    with ab.connect(place, observer=lambda event: events.append(event.kind)) as lake:
        app = build_app(lake, token=TOKEN, limits=UNLIMITED)
        with TestClient(app, base_url="http://localhost") as client:
            for call in CALLS:
                if call.method in ("GET", "HEAD") and not call.endless and "explain" not in call.route:
                    assert client.request(call.method, call.path).status_code == call.status
        assert "spark_starting" not in events
        assert not any("py4j" in thread.name.lower() for thread in threading.enumerate())
