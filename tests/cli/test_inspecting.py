"""Commands that look: status, history, graph, groups, cycles, tables, preview, explain, verify."""

from __future__ import annotations

import threading

import pytest

from anabranch.cli.verify import Outcome
from anabranch.clock import read_stopwatch
from anabranch.inspect.cycles import CycleStatus
from anabranch.inspect.groups import DiamondGroupMember, RefreshGroupInfo
from anabranch.inspect.history import RefreshRecord
from anabranch.inspect.status import StreamTableStatus
from tests.cli.conftest import names_of
from tests.streams.many import enter_many
from tests.streams.shop import sell

# -- status ---------------------------------------------------------------------------------------


def test_status_has_a_row_for_every_stream_table(run, branches):
    said = run("status")
    assert [line.split()[:2] for line in said.out.splitlines()[1:4]] == [
        ["by_product", "ACTIVE"],
        ["by_region", "ACTIVE"],
        ["summary", "ACTIVE"],
    ]
    assert said.out.splitlines()[-1] == "3 stream tables"


def test_status_as_json_has_all_that_the_lake_tells(run, branches):
    listed = run("status", "-o", "json").json
    assert set(listed[0]) == names_of(StreamTableStatus)
    assert listed[0]["name"] == "by_product"
    assert listed[0]["lag_seconds"] == 0.0


def test_status_of_some(run, branches):
    assert [each["name"] for each in run("status", "+by_region", "-o", "json").json] == ["by_region"]
    assert [each["name"] for each in run("status", "by_*", "-o", "json").json] == ["by_product", "by_region"]


def test_status_of_an_unknown_one_is_an_error(run, branches):
    said = run("status", "nope")
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith('AB601 there is no stream table "nope"')


def test_status_notes_what_a_person_may_have_to_do(run, branches):
    branches.gate_source("sales")
    branches.suspend_stream_table("summary")
    out = run("status").out
    assert out.count("waits for sales") == 3
    assert "SUSPENDED" in out
    assert "3 with a note" in out


def test_status_over_a_thousand_answers_in_a_second(run, shop):
    enter_many(shop, 1000)
    run("status")  # what is imported once is not counted
    begun = read_stopwatch()
    said = run("status", "-o", "json")
    assert read_stopwatch() - begun < 1.0 * SLOW_MACHINE
    assert len(said.json) == 1000


SLOW_MACHINE = 3
"""Tests share their machine; alone it takes a third of a second."""


def test_watching_ends_with_an_interrupt(run, branches, monkeypatch):
    looks = []

    class Pause(threading.Event):
        def wait(self, timeout=None):
            looks.append(timeout)
            if len(looks) == 3:
                raise KeyboardInterrupt
            return False

    monkeypatch.setattr("anabranch.cli.status.Pause", Pause)
    said = run("status", "--watch", "--interval", "0.5", "-o", "json")
    assert said.code == 130
    assert looks == [0.5] * 3
    assert len(said.out.splitlines()) == 3


# -- history --------------------------------------------------------------------------------------


def test_history_is_newest_first_and_limited(run, branches, clock):
    sell(branches, 9)
    clock.advance(61)
    branches.tick()
    listed = run("history", "-n", "3", "-o", "json").json
    assert set(listed[0]) == names_of(RefreshRecord)
    assert {each["initiated_by"] for each in listed} == {"scheduler"}
    assert "differential" in run("history", "summary").out


def test_history_of_what_never_was_is_an_error(run, branches):
    assert run("history", "nope").code == 3
    assert run("history", "sales").code == 3


def test_an_empty_history_is_no_error(run, shop):
    said = run("history")
    assert (said.code, said.out) == (0, "Nothing was refreshed yet.\n")
    assert run("history", "-o", "json").json == []


def test_a_limit_that_is_none_is_wrong_usage(run, shop):
    assert run("history", "-n", "0").code == 2


# -- graph ----------------------------------------------------------------------------------------


def test_the_graph_is_a_tree(run, branches):
    branches.gate_source("sales")
    out = run("graph").out
    assert "  sales  (source, gated)" in out
    assert "└─ summary" in out


def test_the_graph_as_data(run, branches):
    for words in (["--format", "json"], ["-o", "json"]):
        drawn = run("graph", *words).json
        assert [node["name"] for node in drawn["nodes"]] == ["sales", "by_product", "by_region", "summary"]
        assert {"source": "sales", "reader": "by_region"} in drawn["edges"]


def test_the_graph_for_mermaid(run, branches):
    branches.gate_source("sales")
    assert run("graph", "--format", "mermaid").out.splitlines() == [
        "flowchart LR",
        '  n0[("sales")]:::gated',
        '  n1["by_product"]:::gated',
        '  n2["by_region"]:::gated',
        '  n3["summary"]:::gated',
        "  n0 --> n1",
        "  n0 --> n2",
        "  n1 --> n3",
        "  n2 --> n3",
        "  classDef gated fill:#f5e0a3",
    ]


def test_the_graph_for_graphviz(run, branches):
    branches.suspend_stream_table("summary")
    out = run("graph", "--format", "dot").out
    assert '  "summary" [shape=box, fillcolor=lightpink];' in out
    assert '  "sales" -> "by_region";' in out
    assert out.strip().endswith("}")


def test_the_graph_around_one_table(run, branches):
    drawn = run("graph", "by_region", "-o", "json").json
    assert [node["name"] for node in drawn["nodes"]] == ["sales", "by_region", "summary"]
    assert "by_product" not in run("graph", "by_region", "--format", "dot").out
    assert "by_region is made from" in run("graph", "by_region").out
    assert run("graph", "nope").code == run("graph", "nope", "-o", "json").code == 3
    assert run("graph", "--format", "png").code == 2


# -- groups and cycles ----------------------------------------------------------------------------


def test_groups_are_diamonds_and_declared_ones(run, branches):
    branches.create_stream_table("other", "SELECT id FROM sales")
    said = run("groups", "create", "pair", "other", "summary", "--isolation", "repeatable_read", "-o", "json")
    assert (said.code, set(said.json[0])) == (0, names_of(RefreshGroupInfo))
    listed = run("groups", "-o", "json").json
    assert set(listed) == {"diamonds", "declared"}
    assert set(listed["diamonds"][0]) == names_of(DiamondGroupMember)
    assert listed["declared"][0]["isolation"] == "repeatable_read"
    out = run("groups").out
    assert "Diamonds" in out
    assert "Declared" in out
    assert run("groups", "drop", "pair").out == "dropped group pair\n"
    assert run("groups", "-o", "json").json["declared"] == []


def test_groups_that_cannot_be_are_errors_of_the_lake(run, branches):
    assert run("groups", "create", "alone", "summary").code == 3
    assert run("groups", "create", "pair", "summary", "nope").code == 3
    assert run("groups", "drop", "nope").code == 3
    assert run("groups", "create", "pair", "summary", "by_region", "--isolation", "serial").code == 2


def test_without_groups_it_says_so(run, shop):
    assert run("groups").out == "Every stream table moves alone.\n"
    assert run("groups", "-o", "json").json == {"diamonds": [], "declared": []}


def test_cycles_are_listed(run, shop):
    assert run("cycles").out == "There are no cycles.\n"
    shop.set("allow_circular", True)
    shop.create_table("edges", "a BIGINT, b BIGINT")
    shop.insert("edges", [(1, 2), (2, 3)])
    shop.create_stream_tables(
        [
            {"name": "reach", "query": "SELECT a, b FROM edges UNION SELECT a, b FROM steps"},
            {"name": "steps", "query": "SELECT r.a, e.b FROM reach r JOIN edges e ON r.b = e.a"},
        ]
    )
    listed = run("cycles", "-o", "json").json
    assert set(listed[0]) == names_of(CycleStatus)
    assert listed[0]["members"] == ["reach", "steps"]
    assert "reach, steps" in run("cycles").out


# -- tables ---------------------------------------------------------------------------------------


def test_tables_are_listed_with_their_columns(run, branches):
    listed = {each["name"]: each for each in run("tables", "-o", "json").json}
    assert set(listed["sales"]) == {"name", "kind", "rows", "lsn", "columns"}
    assert listed["sales"]["kind"] == "source"
    assert listed["summary"]["kind"] == "stream_table"
    assert listed["sales"]["columns"][0] == {"name": "id", "type": "BIGINT"}
    assert "id BIGINT, region STRING" in run("tables").out


def test_a_preview_shows_some_rows(run, shop):
    shown = run("preview", "sales", "--limit", "2", "-o", "json").json
    assert shown["columns"] == ["id", "region", "product", "pieces", "amount"]
    assert len(shown["rows"]) == 2
    assert shown["more"] is True
    whole = run("preview", "sales")
    assert "north" in whole.out
    assert whole.out.splitlines()[-1].strip() == "3 rows"
    assert run("preview", "sales", "-n", "2").out.splitlines()[-1].strip() == "the first 2 rows"


def test_a_preview_of_nothing_is_an_error(run, shop):
    assert run("preview", "nope").code == 3
    assert run("preview", "sales", "--limit", "0").code == 2


# -- explain and verify ---------------------------------------------------------------------------


def test_explain_a_stream_table_or_a_query(run, branches):
    assert run("explain", "by_region").out.startswith("Stream table by_region\n")
    explained = run("explain", "by_region", "-o", "json").json
    assert explained["reads"] == ["sales"]
    assert explained["explanation"]["sources"] == ["sales"]
    assert "Sources\n  sales" in run("explain", "SELECT id FROM sales").out
    assert run("explain", "SELECT id FROM sales", "-o", "json").json["refusal"] is None
    assert run("explain", "nope").code == 3
    assert run("explain", "SELECT id FROM nope").code == 3


def test_verify_says_that_all_is_right(run, branches):
    said = run("verify", "--all", "-o", "json")
    assert said.code == 0
    assert set(said.json[0]) == names_of(Outcome)
    assert [(each["name"], each["ok"], each["missing"]) for each in said.json] == [
        ("by_product", True, 0),
        ("by_region", True, 0),
        ("summary", True, 0),
    ]
    assert "right" in run("verify", "by_region").out


def test_verify_finds_rows_that_differ(run, shop, clock):
    shop.create_stream_table("ids", "SELECT id FROM sales", schedule="1m", fuse="on", fuse_ceiling=1)
    shop.create_stream_table("regions", "SELECT DISTINCT region FROM sales")
    shop.insert("sales", [(id, "west", 1, 1, 1) for id in (7, 8)])
    clock.advance(61)
    shop.tick()
    shop.reset_fuse("ids", "skip_changes")
    clock.advance(61)
    shop.tick()
    said = run("verify", "--all", "-o", "json")
    assert said.code == 1
    outcomes = {each["name"]: (each["ok"], each["missing"], each["surplus"]) for each in said.json}
    assert outcomes == {"ids": (False, 2, 0), "regions": (True, 0, 0)}
    assert "DIFFERS" in run("verify", "ids").out


def test_verify_goes_on_after_one_that_cannot_be_checked(run, branches):
    branches.create_stream_table("empty", "SELECT id FROM sales", initialize=False)
    said = run("verify", "--all", "-o", "json")
    assert said.code == 1
    outcomes = {each["name"]: each for each in said.json}
    assert outcomes["empty"]["error_code"] == "AB605"
    assert outcomes["summary"]["ok"]


@pytest.mark.parametrize("words", [[], ["summary", "--all"]])
def test_verify_wants_to_know_which(run, branches, words):
    assert run("verify", *words).code == 2


def test_verify_of_an_unknown_one_is_an_error(run, branches):
    assert run("verify", "nope").code == 3
    assert run("verify", "nope*").code == 2
