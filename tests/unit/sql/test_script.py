"""Texts of many statements: cut at their semicolons, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import SqlSyntax, SqlTooLarge
from anabranch.sql import script
from anabranch.sql.lexer import lex
from anabranch.sql.parse_statement import parse_statement
from anabranch.sql.script import ScriptStatement, split_statements


def texts(text):
    return [statement.text for statement in split_statements(text)]


def test_semicolons_in_strings_names_and_comments_cut_nothing():
    text = """
        SELECT ';' AS a, "it;s" AS b, r'\\;' AS c; -- one; comment
        SELECT `a;b` FROM t /* a ; /* nested ; */ still */ WHERE x = 'it''s;';
        SELECT '\\';' AS d
    """
    assert texts(text) == [
        "SELECT ';' AS a, \"it;s\" AS b, r'\\;' AS c",
        "SELECT `a;b` FROM t /* a ; /* nested ; */ still */ WHERE x = 'it''s;'",
        "SELECT '\\';' AS d",
    ]


@pytest.mark.parametrize("text", ["", " \n\t ", ";;;", "-- nothing", "/* ; */ ; -- ;", " ; \n ; "])
def test_a_text_without_statements_has_none(text):
    assert split_statements(text) == []


def test_a_statement_knows_where_it_begins():
    found = split_statements("-- first\nSELECT 1;  SELECT\n 2;\n\n\tSELECT 3")
    assert found == [
        ScriptStatement("SELECT 1", 2, 1),
        ScriptStatement("SELECT\n 2", 2, 12),
        ScriptStatement("SELECT 3", 5, 2),
    ]


def test_an_error_in_a_statement_tells_its_place_in_the_whole_text():
    found = split_statements(
        "SELECT 1;\n  CREATE STREAM TABLE t\n    WITH (schedul = '1m') AS SELECT 1 AS a;\n"
    )
    with pytest.raises(Exception, match=r"line 3, column 11\.") as caught:
        parse_statement(found[1].padded_text)
    assert caught.value.code == "AB607"


def test_an_open_string_is_told_with_its_place():
    with pytest.raises(SqlSyntax) as caught:
        split_statements("SELECT 1;\nSELECT 'open;\n")
    assert "line 2, column 8" in caught.value.detail


def test_an_open_comment_is_told_with_its_place():
    with pytest.raises(SqlSyntax) as caught:
        split_statements("SELECT 1; /* open;")
    assert "line 1, column 11" in caught.value.detail


def test_brackets_are_left_to_the_statement_they_stand_in():
    first, second = split_statements("SELECT (1; SELECT 2")
    with pytest.raises(SqlSyntax):
        parse_statement(first.padded_text)
    assert second.text == "SELECT 2"


def test_a_text_may_be_larger_than_one_statement_may(monkeypatch):
    row = "INSERT INTO t VALUES (1, 'a');\n"
    assert len(texts(row * 20_000)) == 20_000
    monkeypatch.setattr(script, "MAX_SCRIPT_CHARACTERS", 10)
    assert texts("SELECT 123") == ["SELECT 123"]
    with pytest.raises(SqlTooLarge):
        split_statements("SELECT 1234")


PIECES = st.sampled_from(
    ["SELECT 1", "'a;b'", "`c;d`", "-- e;\n", "/* f; */", ";", "\n", " ", "x", '"g;"', "'it''s'", "(", ")"]
)


@given(st.lists(PIECES, max_size=30))
def test_the_statements_hold_every_lexeme_but_the_semicolons_in_order(pieces):
    text = " ".join(pieces)
    balanced = text.replace("(", "").replace(")", "")
    whole = [lexeme.text for lexeme in lex(balanced).lexemes if lexeme.text != ";"]
    parts = [lexeme.text for statement in texts(balanced) for lexeme in lex(statement).lexemes]
    assert parts == whole
    for statement in split_statements(text):
        lines = text.split("\n")
        assert lines[statement.line - 1][statement.column - 1 :].startswith(statement.text.split("\n")[0])
