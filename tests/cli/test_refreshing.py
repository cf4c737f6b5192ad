"""Commands that refresh: refresh, tick, run."""

from __future__ import annotations

import json
import threading

from anabranch.cli.refresh import RefreshOutcome
from anabranch.schedule.tick import TickReport
from tests.cli.conftest import names_of
from tests.streams.shop import one, sell, totals


def test_refresh_brings_a_stream_table_up_to_now(run, branches):
    sell(branches, 9, amount=7)
    said = run("refresh", "summary", "-o", "json")
    assert said.code == 0
    assert set(said.json[0]) == names_of(RefreshOutcome)
    assert (said.json[0]["name"], said.json[0]["status"]) == ("summary", "SUCCEEDED")
    assert totals(branches) == (42, 42)


def test_refresh_takes_selectors_and_goes_upstream_first(run, branches):
    sell(branches, 9)
    listed = run("refresh", "+summary", "-o", "json").json
    assert [each["name"] for each in listed][-1] == "summary"
    assert len(run("refresh", "by_*", "-o", "json").json) == 2


def test_a_full_refresh_says_so(run, branches):
    listed = run("refresh", "by_region", "--full", "-o", "json").json
    assert listed[0]["action"] == "FULL"


def test_without_upstream_only_what_is_there_is_read(run, shop):
    shop.create_stream_table("first", "SELECT id FROM sales")
    shop.create_stream_table("second", "SELECT id FROM first")
    sell(shop, 9)
    assert run("refresh", "second", "--no-upstream", "-o", "json").json[0]["action"] == "NO_DATA"
    assert run("refresh", "second", "-o", "json").json[0]["rows_inserted"] == 1


def test_one_that_fails_makes_the_exit_code_1_and_the_others_are_tried(run, shop):
    shop.create_stream_table("broken", "SELECT id, 1 / pieces AS part FROM sales")
    shop.create_stream_table("fine", "SELECT id FROM sales")
    sell(shop, 9, pieces=0)
    said = run("refresh", "*", "-o", "json")
    assert said.code == 1
    outcomes = {each["name"]: each for each in said.json}
    assert outcomes["broken"]["status"] == "FAILED"
    assert outcomes["broken"]["error_code"].startswith("AB5")
    assert outcomes["fine"]["status"] == "SUCCEEDED"
    assert "failed" in run("refresh", "broken").out


def test_refresh_of_an_unknown_one_is_an_error(run, branches):
    said = run("refresh", "summary", "nope")
    assert (said.code, said.out) == (3, "")
    assert run("refresh").code == 2


def test_a_refresh_by_hand_that_passes_a_gate_says_so_on_the_side(run, branches):
    branches.gate_source("sales")
    sell(branches, 9)
    said = run("refresh", "summary", "-o", "json")
    assert said.code == 0
    assert "Notice: " in said.err
    assert json.loads(said.out)
    assert run("refresh", "summary", "--quiet").err == ""


def test_a_tick_refreshes_what_is_due(run, branches, clock):
    sell(branches, 9)
    clock.advance(61)
    said = run("tick", "-o", "json")
    assert said.code == 0
    assert set(said.json) == names_of(TickReport)
    assert said.json["refreshed"] == ["by_product", "by_region", "summary"]
    assert "0 refreshed" in run("tick").out


def test_a_tick_in_which_a_refresh_fails_has_exit_code_1(run, branches, clock):
    sell(branches, 9, pieces=0)
    clock.advance(61)
    said = run("tick")
    assert said.code == 1
    assert "  failed     by_product: " in said.out
    assert one(branches, "by_product").consecutive_failures == 1


def test_a_tick_says_what_is_held(run, branches, clock):
    branches.gate_source("sales")
    clock.advance(61)
    said = run("tick")
    assert said.code == 0
    assert said.out.count("  held ") == 3


def test_a_tick_beside_another_scheduler_does_nothing(run, branches, clock):
    from anabranch.schedule.lease import Lease

    leader = Lease(branches._context)
    assert leader.take()
    assert run("tick").out == "Another scheduler leads; nothing was done.\n"
    assert run("tick", "-o", "json").json["leads"] is False


def test_running_tells_every_refresh_and_ends_when_told(run, branches, clock, monkeypatch):
    sell(branches, 9)
    clock.advance(61)
    real = type(branches).run

    def run_until_done(lake, **options):
        stop = threading.Event()

        def watch(event):
            if event.kind == "tick_finished":
                stop.set()

        real(lake, observer=watch, stop=stop)

    monkeypatch.setattr("anabranch.lake.Lake.run", run_until_done)
    said = run("run", "-o", "json")
    assert said.code == 0
    told = [json.loads(line) for line in said.out.splitlines()]
    assert {"at", "event", "stream_table"} <= set(told[0])
    refreshed = [each["stream_table"] for each in told if each["event"] == "refresh_finished"]
    assert sorted(refreshed) == ["by_product", "by_region", "summary"]
    assert told[-1]["event"] == "tick_finished"

    sell(branches, 10)
    clock.advance(61)
    out = run("run").out
    assert "refreshed  +1 -1" in out
    assert "published  lsn " in out


def test_what_is_held_is_told_once(branches):
    from anabranch.cli.output import Output
    from anabranch.cli.run import EventPrinter
    from anabranch.events import Event

    told: list[object] = []
    out = Output()
    lines = EventPrinter(out)
    out.console.print = lambda line, **_options: told.append(str(line))
    for reason in ("sales is gated", "sales is gated", "it is suspended"):
        lines.print_event(Event("skipped", "summary", detail={"reason": reason}))
    assert [line.split(maxsplit=1)[1] for line in told] == [
        "summary                      held       sales is gated",
        "summary                      held       it is suspended",
    ]
