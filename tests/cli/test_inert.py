"""Nothing from outside steers a terminal, hides, or is taken for markup."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cli.escape_text import escape_to_one_line, escape_unprintable
from anabranch.errors import EngineFailed
from tests.cli.conftest import Shell

HOSTILE = (
    "a\x1b[31mred\x1b]0;title\x07 \x9b2J [bold]b[/bold] [link=file:///x]c[/link] \u202eevil :smile: \r\x08x"
)


@given(st.text())
def test_what_is_left_can_all_be_seen(text):
    kept = {"\n"}
    for character in escape_unprintable(text):
        assert character in kept or unicodedata.category(character)[0] != "C"
    assert "\n" not in escape_to_one_line(text)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"])))
def test_what_can_be_seen_stays(text):
    assert escape_unprintable(text) == text


def harmless(said: str) -> None:
    assert not [character for character in said if ord(character) < 32 and character != "\n"]
    assert not any(character in said for character in "\x7f\x9b\u202e")


@pytest.fixture
def hostile(shop) -> None:
    shop.create_table("notes", "id BIGINT, said STRING")
    shop.insert("notes", [(1, HOSTILE)])


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("words", [("preview", "notes"), ("sql", "SELECT said FROM notes")])
def test_values_of_rows_are_printed_as_they_are_written(run: Shell, words):
    said = run(*words)
    assert said.code == 0
    harmless(said.out)
    assert "[bold]b[/bold]" in said.out
    assert ":smile:" in said.out
    assert "\\x1b[31mred" in said.out


@pytest.mark.usefixtures("hostile")
def test_as_json_they_come_back_whole(run: Shell):
    said = run("preview", "notes", "-o", "json")
    harmless(said.out)
    assert said.out.isascii()
    assert json.loads(said.out)["rows"] == [[1, HOSTILE]]


def test_errors_are_printed_inert(run: Shell, shop, monkeypatch):
    def fail(*_arguments, **_options):
        raise EngineFailed(f"it broke: {HOSTILE}", detail=HOSTILE, hint=HOSTILE)

    monkeypatch.setattr("anabranch.lake.Lake.status", fail)
    said = run("status")
    assert said.code == 3
    harmless(said.err)
    assert said.err.count("[bold]b[/bold]") == 3


def test_an_unexpected_error_is_printed_inert_and_without_a_trace(run: Shell, shop, monkeypatch):
    def fail(*_arguments, **_options):
        raise ValueError(HOSTILE)

    monkeypatch.setattr("anabranch.lake.Lake.status", fail)
    said = run("status")
    assert said.code == 1
    harmless(said.err)
    assert said.err.startswith("Unexpected error: ValueError: a\\x1b")
    assert "Traceback" not in said.err
    with pytest.raises(ValueError, match="red"):
        run("status", "--debug")


def test_reasons_in_the_history_are_printed_inert(run: Shell, shop, monkeypatch):
    from dataclasses import replace

    shop.create_stream_table("kept", "SELECT id FROM sales")
    real = type(shop).refresh_history
    monkeypatch.setattr(
        "anabranch.lake.Lake.refresh_history",
        lambda self, *a, **k: [replace(each, reason=HOSTILE) for each in real(self, *a, **k)],
    )
    said = run("history")
    harmless(said.out)
    assert "[bold]b[/bold]" in said.out


def test_names_that_are_none_are_refused_without_echoing_them_raw(run: Shell, shop):
    for words in (("preview", HOSTILE), ("history", HOSTILE), ("refresh", HOSTILE), ("gate", HOSTILE)):
        said = run(*words)
        assert said.code in (2, 3)
        harmless(said.err)
