"""Commands that change: suspend, resume, drop, fuse …"""

from __future__ import annotations

import pytest

from anabranch.inspect.fuses import FuseStatus
from anabranch.inspect.status import StreamTableStatus
from tests.cli.conftest import names_of
from tests.streams.shop import one


def test_stream_tables_are_suspended_and_resumed(run, branches):
    said = run("suspend", "by_*", "-o", "json")
    assert said.code == 0
    assert set(said.json[0]) == names_of(StreamTableStatus)
    assert {each["status"] for each in said.json} == {"SUSPENDED"}
    assert one(branches, "summary").status == "ACTIVE"
    assert run("resume", "*").out == "resumed: by_product, by_region, summary\n"
    assert one(branches, "by_region").status == "ACTIVE"


@pytest.mark.parametrize("word", ["suspend", "resume"])
def test_unknown_ones_are_errors_and_nothing_happens(run, branches, word):
    said = run(word, "summary", "nope")
    assert (said.code, said.out) == (3, "")
    assert run(word).code == run(word, "zz*").code == 2
    assert one(branches, "summary").status == "ACTIVE"


def test_what_is_dropped_is_named_and_agreed_to(run, branches):
    said = run("drop", "summary")
    assert said.code == 2
    assert "say --yes" in said.err
    assert run("drop", "summary", "--yes").out == "dropped: summary\n"
    assert [each.name for each in branches.status()] == ["by_product", "by_region"]


def test_what_is_read_by_others_goes_only_with_them(run, branches):
    said = run("drop", "by_region", "--yes")
    assert said.code == 3
    assert said.err.startswith('AB602 "by_region" is read by summary')
    said = run("drop", "by_region", "--cascade", "--yes", "-o", "json")
    assert said.json == {"dropped": ["by_region", "summary"]}
    assert [each.name for each in branches.status()] == ["by_product"]


@pytest.mark.parametrize(("name", "code"), [("nope", 3), ("*", 2), ("+summary", 2), ("sales", 2)])
def test_nothing_else_is_dropped(run, branches, name, code):
    assert run("drop", name, "--yes").code == code
    assert len(branches.status()) == 3
    assert len(branches.tables()) == 4


def test_a_fuse_is_shown_and_reset(run, shop, clock):
    shop.create_stream_table("ids", "SELECT id FROM sales", schedule="1m", fuse="on", fuse_ceiling=1)
    shop.insert("sales", [(id, "west", 1, 1, 1) for id in (7, 8)])
    clock.advance(61)
    assert "held" in run("tick").out
    listed = run("fuse", "status", "-o", "json").json
    assert set(listed[0]) == names_of(FuseStatus)
    assert listed[0]["state"] == "blown"
    assert "blown" in run("fuse", "status").out
    assert run("fuse", "reset", "ids", "apply", "-o", "json").json[0]["state"] == "armed"
    assert run("tick", "-o", "json").json["refreshed"] == ["ids"]


def test_a_fuse_that_cannot_be_reset_is_an_error(run, branches):
    assert run("fuse", "reset", "summary", "apply").err.startswith("AB721 ")
    assert run("fuse", "reset", "nope", "apply").code == 3
    assert run("fuse", "reset", "summary", "ignore").code == 2
