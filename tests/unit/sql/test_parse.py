"""One statement or one expression becomes a tree, within bounds, or a typed error says where it stopped."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import pytest
from sqlglot import exp

from anabranch.errors import NotOneStatement, SqlError, SqlSyntax, SqlTooLarge
from anabranch.sql.lexer import MAX_NESTING
from anabranch.sql.parse import MAX_TREE_DEPTH, parse_expression, parse_statement_ast
from anabranch.sql.recursion_limit import DEEP_RECURSION, deep_recursion


@pytest.mark.parametrize("text", ["", "  ", ";", ";;", "-- nothing", "/* nothing */ ;"])
def test_no_statement_is_not_one_statement(text: str) -> None:
    with pytest.raises(NotOneStatement, match="no statement"):
        parse_statement_ast(text)


@pytest.mark.parametrize("text", ["SELECT 1; SELECT 2", "SELECT 1;; DROP TABLE x", "SELECT ';' ; SELECT 2 ;"])
def test_two_statements_are_not_one_statement(text: str) -> None:
    with pytest.raises(NotOneStatement, match="more than one"):
        parse_statement_ast(text)


@pytest.mark.parametrize(
    "text", ["SELECT 1;", "SELECT ';'", "SELECT 1 ; -- done", "SELECT `;` FROM t /* ; */"]
)
def test_a_semicolon_at_the_end_or_in_quotes_ends_nothing(text: str) -> None:
    assert isinstance(parse_statement_ast(text), exp.Select)


@pytest.mark.parametrize(
    ("text", "where", "word"),
    [
        ("SELECT a FROM t WHERE WHERE", "line 1, column 23", "WHERE"),
        ("SELECT a\nFROM t t2 t3", "line 2, column 11", "t3"),
        ("SELECT 1 +", "line 1, column 10", "+"),
        ("SELECT FROM WHERE", "line 1", "WHERE"),
    ],
)
def test_a_syntax_error_names_the_place_and_the_word(text: str, where: str, word: str) -> None:
    with pytest.raises(SqlSyntax) as caught:
        parse_statement_ast(text)
    assert where in str(caught.value)
    assert word in caught.value.message
    assert "sqlglot" not in str(caught.value)


def test_a_doubled_quote_is_a_quote() -> None:
    tree = parse_expression("""concat('it''s', "a""b", 'c""d', '\\'''', r'e')""")
    values = {str(literal.this) for literal in tree.find_all(exp.Literal, exp.RawString)}
    assert values == {"it's", 'a"b', 'c""d', "''", "e"}


def test_offsets_in_the_tree_are_offsets_in_the_text() -> None:
    text = "/* ü */ SELECT 'it''s', `sälé`.b -- 😀\nFROM `x`.y"
    found = {i.name: i.meta for i in parse_statement_ast(text).find_all(exp.Identifier)}
    for name, written in {"sälé": "`sälé`", "b": "b", "x": "`x`", "y": "y"}.items():
        assert text[found[name]["start"] : found[name]["end"] + 1] == written


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 /*+ a hint in the wrong place */",
        "ADD JAR x",
        "FETCH FROM x",
        "SELECT b'01'",
        '1L + 2S + . 1.5BD "dq"',
    ],
)
def test_what_the_parser_would_pass_on_unread_is_refused(text: str) -> None:
    with pytest.raises(SqlSyntax):
        parse_statement_ast(text)


@pytest.mark.parametrize(
    "text",
    [
        "a * 2",
        "(SELECT max(x) FROM t)",
        "x IN (1, 2)",
        "CASE WHEN a THEN b END",
        "transform(xs, x -> x + 1)",
        "a[0].b",
    ],
)
def test_an_expression_is_one_value(text: str) -> None:
    assert parse_expression(text).sql()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "id = 7 --",
        "id = 7 -- and more",
        "id = 7 /* x */",
        "/**/ id = 7",
        "a = 1) OR (1 = 1",
        "a)",
        "(a",
        "a, b",
        "a b",
        "a AS b",
        "*",
        "t.*",
        "SELECT 1",
        "VALUES (1)",
        "1 UNION SELECT 2",
        "a FROM t",
        "a ORDER BY b",
        "a LIMIT 1",
        "DISTINCT a",
        "DROP TABLE t",
        "TABLE t",
        "a := 1",
        "a OVER ()",
        "'a",
        "a\0",
    ],
)
def test_what_is_not_one_expression_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        parse_expression(text)


@pytest.mark.parametrize("text", ["a; b", "a;", "; DROP TABLE t"])
def test_an_expression_has_no_semicolon(text: str) -> None:
    with pytest.raises(NotOneStatement):
        parse_expression(text)


def nested(opening: str, closing: str, times: int) -> str:
    return "SELECT " + opening * times + "1" + closing * times


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("(", ")"),
        ("f(", ")"),
        ("CASE WHEN a THEN ", " END"),
        ("CAST(", " AS INT)"),
        ("(SELECT ", ")"),
        ("a[", "]"),
    ],
)
def test_nesting_up_to_the_limit_is_read_however_deep_the_caller_is(opening: str, closing: str) -> None:
    def deeper(calls: int) -> exp.Expr:
        return deeper(calls - 1) if calls else parse_statement_ast(nested(opening, closing, MAX_NESTING))

    assert deeper(500)


HOSTILE: dict[str, Callable[[], str]] = {
    "brackets": lambda: nested("(", ")", 10_000),
    "open brackets": lambda: "SELECT " + "(" * 10_000,
    "not": lambda: "SELECT " + "NOT " * 10_000 + "a",
    "minus": lambda: "SELECT " + "- " * 10_000 + "1",
    "sum": lambda: "SELECT " + "1+" * 10_000 + "1",
    "concat": lambda: "SELECT " + "a || " * 10_000 + "a",
    "casts": lambda: "SELECT a" + "::int" * 5_000,
    "subscripts": lambda: "SELECT a" + "[0]" * 5_000,
    "unions": lambda: "SELECT 1 UNION ALL " * 5_000 + "SELECT 1",
    "dates": lambda: nested("date(", ")", 40),
    "structs": lambda: nested("struct(", ")", 40),
    "types": lambda: "SELECT CAST(a AS " + "ARRAY<" * 200 + "INT" + ">" * 200 + ")",
    "a megabyte": lambda: "SELECT " + "1," * 500_000,
    "a megabyte of quotes": lambda: "SELECT '" + "''" * 500_000 + "'",
    "semicolons": lambda: "SELECT 1" + ";" * 400_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_refused_as_too_large_and_soon(kind: str) -> None:
    text = HOSTILE[kind]()
    started = time.thread_time()
    with pytest.raises(SqlTooLarge):
        parse_statement_ast(text)
    assert time.thread_time() - started < 2


def test_a_chain_of_operators_may_be_as_long_as_the_tree_is_deep() -> None:
    parse_statement_ast("SELECT " + "a + " * (MAX_TREE_DEPTH - 10) + "a")
    with pytest.raises(SqlTooLarge):
        parse_statement_ast("SELECT " + "a + " * (MAX_TREE_DEPTH + 10) + "a")


def test_a_long_list_of_alternatives_is_not_deep() -> None:
    parse_expression(" OR ".join(f"id = {i}" for i in range(3_000)))


def test_the_recursion_limit_is_given_back_by_the_last_to_leave() -> None:
    before = sys.getrecursionlimit()
    inside = threading.Barrier(2)
    limits: list[int] = []

    def visit() -> None:
        with deep_recursion:
            inside.wait()
            limits.append(sys.getrecursionlimit())

    visitors = [threading.Thread(target=visit) for _ in range(2)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert min(limits) >= DEEP_RECURSION
    assert sys.getrecursionlimit() == before
