"""Commands about sources: gate, ungate, gates, watermark …"""

from __future__ import annotations

import pytest

from anabranch.inspect.gates import SourceGate, SourceWatermark, WatermarkGroupInfo
from tests.cli.conftest import names_of


@pytest.fixture
def two(branches):
    branches.create_table("returns", "id BIGINT, sale BIGINT")
    return branches


def test_sources_are_gated_and_ungated(run, two):
    said = run("gate", "sales", "returns", "-o", "json")
    assert said.code == 0
    assert set(said.json[0]) == names_of(SourceGate)
    assert [each["source_table"] for each in said.json] == ["returns", "sales"]
    assert all(gate.gated for gate in two.source_gates())
    assert run("ungate", "sales", "returns").out == "ungated: sales, returns\n"
    assert not any(gate.gated for gate in two.source_gates())


def test_all_are_gated_or_none(run, two):
    said = run("gate", "returns", "nope")
    assert (said.code, said.out) == (3, "")
    assert two.source_gates() == []
    two.gate_source("sales")
    assert run("ungate", "sales", "nope").code == 3
    assert two.source_gates()[0].gated


def test_a_stream_table_has_no_gate(run, two):
    said = run("gate", "summary")
    assert said.code == 3
    assert said.err.startswith("AB701 ")


def test_a_gate_may_open_with_the_watermark(run, two):
    assert run("gate", "sales", "--until-watermark").code == 0
    assert run("watermark", "advance", "sales", "2030-01-01").code == 0
    assert not two.source_gates()[0].gated


def test_gates_are_listed_with_what_waits(run, two):
    assert run("gates").out == "No source was ever gated.\n"
    assert run("gates", "-o", "json").json == []
    two.gate_source("sales")
    assert set(run("gates", "-o", "json").json[0]) == names_of(SourceGate)
    assert "by_product, by_region, summary" in run("gates").out


def test_names_are_wanted(run, two):
    assert run("gate").code == run("ungate").code == 2


def test_watermarks_go_forward(run, two):
    assert run("watermark", "list").out == "No source has a watermark.\n"
    said = run("watermark", "advance", "sales", "2030-01-31T06:00:00Z")
    assert said.out == "sales is loaded up to 2030-01-31 06:00:00 UTC\n"
    said = run("watermark", "advance", "sales", "2030-02-01", "-o", "json")
    assert set(said.json[0]) == names_of(SourceWatermark)
    assert run("watermark", "advance", "sales", "2030-01-01").err.startswith("AB703 ")
    assert run("watermark", "advance", "sales", "soon").err.startswith("AB702 ")
    assert run("watermark", "advance", "nope", "2030-01-01").code == 3
    assert run("watermark", "advance", "sales").code == 2
    assert run("watermark", "list", "-o", "json").json[0]["watermark"] == "2030-02-01T00:00:00+00:00"


def test_watermark_groups_are_made_listed_and_dropped(run, two):
    assert run("watermark", "groups").out == "There are no watermark groups.\n"
    said = run("watermark", "create-group", "pair", "sales", "returns", "--tolerance", "5m", "-o", "json")
    assert said.code == 0
    assert set(said.json[0]) == names_of(WatermarkGroupInfo)
    assert said.json[0]["tolerance_seconds"] == 300
    assert "returns, sales" in run("watermark", "groups").out
    assert len(run("watermark", "groups", "-o", "json").json) == 1
    assert run("watermark", "create-group", "pair", "sales", "returns").code == 3
    assert run("watermark", "create-group", "g", "sales", "returns", "--missing", "guess").code == 2
    assert run("watermark", "create-group", "g", "sales", "returns", "--tolerance", "much").code == 3
    assert run("watermark", "drop-group", "pair", "-o", "json").json == {"dropped": "pair"}
    assert run("watermark", "drop-group", "pair").code == 3
