"""Tables fit the terminal they are printed on."""

from __future__ import annotations

import pytest

from tests.streams.shop import sell


def widest(text: str) -> int:
    return max(len(line) for line in text.splitlines())


@pytest.mark.rotating(3)
@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize(
    "words", [["status"], ["history"], ["groups"], ["tables"], ["settings"], ["gates"], ["doctor"]]
)
def test_no_line_is_wider_than_the_terminal(run, branches, words, columns):
    branches.gate_source("sales")
    assert widest(run(*words, COLUMNS=str(columns)).out) <= columns


def test_where_there_is_little_room_the_important_columns_stay(run, branches):
    narrow, wide = run("history", COLUMNS="80").out, run("history", COLUMNS="200").out
    assert "by_product" in narrow
    assert "the first fill" in " ".join(narrow.split())
    assert " by " in wide.splitlines()[0]
    assert " by " not in narrow.splitlines()[0]


def test_even_a_few_columns_show_all_of_a_text(run, branches):
    text = run("status", COLUMNS="40").out
    assert "ACTIVE" in text


def test_what_is_no_terminal_gets_one_line_for_a_record(run, branches):
    branches.gate_source("sales")
    sell(branches, 9)
    lines = run("status", COLUMNS=None).out.splitlines()
    assert len(lines) == 5
    assert lines[1].endswith("waits for sales")


def test_colours_are_for_terminals_that_want_them(run, branches):
    plain = run("status")
    assert "\x1b[" not in plain.out
    coloured = run("status", FORCE_COLOR="1")
    assert "\x1b[32mACTIVE" in coloured.out
    for said in (run("status", "--no-color", FORCE_COLOR="1"), run("status", FORCE_COLOR="1", NO_COLOR="1")):
        assert "\x1b[32m" not in said.out


def test_quiet_leaves_out_what_is_by_the_way(run, branches):
    said = run("gate", "sales", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")
    assert run("gate", "nope", "--quiet").err.startswith("AB103 ")
