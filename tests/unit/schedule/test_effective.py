"""Calculated schedules come from the readers."""

from __future__ import annotations

from anabranch.schedule.effective_schedules import effective_schedules
from anabranch.schedule.schedules import format_schedule, parse_schedule
from tests.unit.streams.drawing import graph

DEFAULT = parse_schedule("1m")


def effective(drawing: str, **written: str | None) -> dict[str, str | None]:
    drawn = graph(drawing)
    schedules = {name: parse_schedule(written.get(str(name), "calculated")) for name in drawn.stream_tables}
    found = effective_schedules(drawn, schedules, DEFAULT)
    assert tuple(found) == drawn.order()
    return {
        str(name): format_schedule(schedule) for name, schedule in found.items() if str(name) not in written
    }


def test_the_tightest_reader_decides():
    assert effective("s > a\na > b c", b="5m", c="30s") == {"a": "30s"}


def test_it_passes_on_through_calculated_tables():
    assert effective("s > a\na > b\nb > c d\nd > e", c="10m", e="2m") == {"a": "2m", "b": "2m", "d": "2m"}


def test_only_direct_readers_count():
    assert effective("s > a\na > b\nb > c", b="1h", c="1s") == {"a": "1h"}


def test_cron_counts_by_its_shortest_gap():
    assert effective("s > a\na > b c", b="1h", c="0 6,7 * * *") == {"a": "1h"}
    assert effective("s > a\na > b c", b="2h", c="0 6,7 * * *") == {"a": "0 6,7 * * *"}
    assert effective("s > a\na > b c", b="7h", c="@hourly Europe/Vienna") == {"a": "@hourly Europe/Vienna"}


def test_readers_by_hand_do_not_count_and_if_all_are_so_is_the_table():
    assert effective("s > a\na > b c", b=None, c="2h") == {"a": "2h"}
    assert effective("s > a\na > b c", b=None, c=None) == {"a": None}
    assert effective("s > a\na > b\nb > c", c=None) == {"a": None, "b": None}


def test_what_nothing_reads_has_the_default_and_passes_it_on():
    assert effective("s > a\na > b") == {"a": "1m", "b": "1m"}


def test_of_equally_tight_readers_the_first_by_name_decides():
    assert effective("s > a\na > b c", b="1h", c="@hourly") == {"a": "1h"}
    assert effective("s > a\na > b c", b="@hourly", c="1h") == {"a": "@hourly"}


def test_a_graph_without_stream_tables_has_no_schedules():
    assert effective_schedules(graph(""), {}, DEFAULT) == {}
