"""Text is cut where Spark cuts it, comments vanish, brackets pair, limits hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import AnabranchError, SqlSyntax, SqlTooLarge, UnsupportedStatement
from anabranch.sql.lexer import (
    MAX_LEXEMES,
    MAX_NESTING,
    MAX_SQL_CHARACTERS,
    MAX_TYPE_NESTING,
    Kind,
    lex,
    place,
    quote,
)


def lexeme_texts(text: str) -> list[str]:
    return [lexeme.text for lexeme in lex(text).lexemes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a.b,1", ["SELECT", "a", ".", "b", ",", "1"]),
        ("'it''s' x", ["'it''s'", "x"]),
        (r"'it\'s' x", [r"'it\'s'", "x"]),
        ('"a""b" x', ['"a""b"', "x"]),
        (r"r'a\' x", [r"r'a\'", "x"]),
        ("r'a''b'", ["r'a'", "'b'"]),
        ("`a``b` x", ["`a``b`", "x"]),
        ("bar'x'", ["bar", "'x'"]),
        ("1.5BD .5 1e-3D 2L 1.", ["1.5BD", ".5", "1e-3D", "2L", "1."]),
        ("t.1st", ["t", ".", "1st"]),
        ("a<=>b!=c->d::e||f", ["a", "<=>", "b", "!=", "c", "->", "d", "::", "e", "||", "f"]),
        ("ARRAY<ARRAY<INT>>", ["ARRAY", "<", "ARRAY", "<", "INT", ">", ">"]),
        ("'-- no comment' -- one", ["'-- no comment'"]),
        ("a /* x /* y */ z */ b", ["a", "b"]),
        ("SELECT /*+ BROADCAST(t) */ 1", ["SELECT", "/*+", "BROADCAST", "(", "t", ")", "*/", "1"]),
        ("größe", ["größe"]),
    ],
)
def test_text_is_cut_where_spark_cuts_it(text: str, expected: list[str]) -> None:
    assert lexeme_texts(text) == expected


def test_a_comment_becomes_blanks_so_that_every_offset_stays() -> None:
    text = "SELECT a -- ü\n, /* 😀\n */ b"
    sql = lex(text)
    assert len(sql.text) == len(text)
    assert sql.text.split() == ["SELECT", "a", ",", "b"]
    assert sql.text.count("\n") == 2
    assert all(sql.text[lexeme.start : lexeme.end] == lexeme.text for lexeme in sql.lexemes)


def test_names_are_words_or_stand_in_backticks() -> None:
    word, quoted, string = lex("Ab `c``d` 'e'").lexemes
    assert (word.name, quoted.name) == ("Ab", "c`d")
    assert (word.word, quoted.word) == ("AB", "")
    assert string.kind is Kind.STRING
    assert not string.is_name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT 'abc", "a string is not closed"),
        ('SELECT "abc', "a string is not closed"),
        ("SELECT `abc", "a quoted name is not closed"),
        ("SELECT 'abc\\'", "a string is not closed"),
        ("SELECT 1 /* x", "a comment is not closed"),
        ("SELECT 1 /* /* x */", "a comment is not closed"),
        ("SELECT (1", '"(" is not closed'),
        ("SELECT 1)", '")" closes nothing'),
        ("SELECT (1]", '"]" closes nothing'),
        ("SELECT 1 */", '"*/" closes nothing'),
        ("SELECT /*+ x", '"/*+" is not closed'),
        ("SELECT {x}", '"{" means nothing'),
        ("SELECT @x", '"@" means nothing'),
        ("SELECT #x", '"#" means nothing'),
        ("SELECT $1", '"$" means nothing'),
        ("SELECT a\\", '"\\" means nothing'),
        ("SELECT\u00a01", "U+00A0"),
        ("SELECT\u20281", "U+2028"),
        ("SELECT 'a\0b'", "NUL"),
        ("SELECT '\ud800'", "surrogate"),
        ("SELECT * FROM file://x/y", "a location stands where"),
        ("SELECT 1 -- x\\\n+ 1", "backslash"),
    ],
)
def test_what_sparks_lexer_would_not_take_is_a_syntax_error(text: str, words: str) -> None:
    with pytest.raises(SqlSyntax) as caught:
        lex(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["SELECT '${env:HOME}'", 'SELECT "${x}"', "SELECT `${spark.master}`"])
def test_sparks_variables_are_refused_even_inside_quotes(text: str) -> None:
    with pytest.raises(UnsupportedStatement, match="variable"):
        lex(text)


def test_a_dollar_and_a_brace_apart_are_just_text() -> None:
    assert lexeme_texts("'$' '{x}'") == ["'$'", "'{x}'"]


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("x" * MAX_SQL_CHARACTERS, "x" * (MAX_SQL_CHARACTERS + 1)),
        ("1 " * MAX_LEXEMES, "1 " * (MAX_LEXEMES + 1)),
        ("(" * MAX_NESTING + ")" * MAX_NESTING, "(" * (MAX_NESTING + 1) + ")" * (MAX_NESTING + 1)),
        ("CASE " * MAX_NESTING, "CASE " * (MAX_NESTING + 1)),
        ("NOT " * MAX_NESTING, "NOT " * (MAX_NESTING + 1)),
        ("- " * MAX_NESTING, "- " * (MAX_NESTING + 1)),
        ("ARRAY<" * MAX_TYPE_NESTING, "ARRAY<" * (MAX_TYPE_NESTING + 1)),
    ],
    ids=["characters", "lexemes", "brackets", "case", "not", "minus", "types"],
)
def test_each_limit_lets_its_last_value_pass_and_stops_the_next(inside: str, outside: str) -> None:
    lex(inside)
    with pytest.raises(SqlTooLarge):
        lex(outside)


def test_places_are_counted_in_lines_and_columns_from_one() -> None:
    assert place("ab\ncd", 0) == "line 1, column 1"
    assert place("ab\ncd", 4) == "line 2, column 2"


@given(st.text(max_size=40))
def test_a_quoted_name_reads_back_whatever_is_in_it(name: str) -> None:
    try:
        (lexeme,) = lex(quote(name)).lexemes
    except AnabranchError:
        assert "\0" in name or "${" in name or any("\ud800" <= c <= "\udfff" for c in name)
    else:
        assert lexeme.name == name


@given(st.text(alphabet="ab'\"`\\ -/*+()[]{};\n$é.0", max_size=30))
def test_what_is_cut_puts_together_again(text: str) -> None:
    try:
        sql = lex(text)
    except AnabranchError:
        return
    assert len(sql.text) == len(text)
    left_over = list(sql.text)
    for lexeme in sql.lexemes:
        assert sql.text[lexeme.start : lexeme.end] == lexeme.text
        left_over[lexeme.start : lexeme.end] = " " * len(lexeme.text)
    assert not "".join(left_over).strip()
