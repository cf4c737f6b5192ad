"""The grammar of Spark: what binds tighter than what."""

from __future__ import annotations

import pytest

from anabranch.errors import SqlSyntax, SqlTooLarge
from anabranch.sql.lexer import lex
from anabranch.sql.lower.syntax import tree
from anabranch.sql.lower.syntax.queries import read_query
from anabranch.sql.lower.syntax.tree import Binary, Logical, Name, Node, Not, Number, Select, SetOperation
from anabranch.sql.recursion_limit import deep_recursion


def spelled(text: str) -> str:
    """An expression with all its brackets."""
    query, _ = read_query(lex(f"SELECT {text}"))
    assert isinstance(query.body, Select)
    return _spelled(query.body.items[0].value)


def _spelled(node: Node) -> str:
    match node:
        case Binary(op=op, left=left, right=right):
            return f"({_spelled(left)} {op} {_spelled(right)})"
        case Logical(op=op, items=items):
            return "(" + f" {op} ".join(map(_spelled, items)) + ")"
        case Not(operand=operand):
            return f"not {_spelled(operand)}"
        case Name(parts=parts):
            return ".".join(parts)
        case Number(text=text):
            return text
        case _:
            return f"{type(node).__name__}[{', '.join(map(_spelled, tree.children(node)))}]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a || b + c", "((a || b) + c)"),
        ("a + b % c", "(a + (b % c))"),
        ("a | b & c ^ d", "(a | ((b & c) ^ d))"),
        ("a << 1 + 2", "(a << (1 + 2))"),
        ("a = b < c", "((a = b) < c)"),
        ("a = b IS NULL", "IsTest[(a = b)]"),
        ("a LIKE b || c", "Like[a, (b || c)]"),
        ("a BETWEEN 1 AND 2 = c AND d", "(Between[a, 1, (2 = c)] and d)"),
        ("NOT a = b AND c OR d", "((not (a = b) and c) or d)"),
        ("!a = b", "not (a = b)"),
        ("-a * b", "(Unary[a] * b)"),
        ("a - -5", "(a - -5)"),
        ("a -5", "(a - 5)"),
        ("-x::int", "Unary[CastTo[x]]"),
        ("a[1].x.y", "SpecialSyntax[SpecialSyntax[SpecialSyntax[a, 1]]]"),
        ("f(x -> x > 1, (y, z) -> y)", "FunctionCall[Lambda[(x > 1)], Lambda[y]]"),
        ("EXISTS(arr, x -> x)", "FunctionCall[arr, Lambda[x]]"),
    ],
)
def test_operators_bind_as_in_spark(text: str, expected: str) -> None:
    assert spelled(text) == expected


def test_brackets_around_a_query_are_told_from_brackets_around_an_expression() -> None:
    assert spelled("((SELECT 1) + 2)").startswith("(ScalarQuery")
    assert spelled("((SELECT 1) UNION (SELECT 2))").startswith("ScalarQuery")
    assert spelled("a IN ((SELECT 1))").startswith("InQuery")
    assert spelled("a IN ((SELECT 1), 2)").startswith("InList")


def test_intersect_binds_tighter_than_union_and_except() -> None:
    query, _ = read_query(lex("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4"))
    body = query.body
    assert isinstance(body, SetOperation)
    union = body.parts[0]
    assert isinstance(union, SetOperation)
    assert (body.op, union.op, [type(part).__name__ for part in union.parts]) == (
        "except",
        "union",
        ["Select", "SetOperation"],
    )


def test_words_of_sql_are_names_in_backticks_only() -> None:
    with pytest.raises(SqlSyntax) as caught:
        read_query(lex("SELECT left FROM t"))
    assert caught.value.hint == "a name that is a word of SQL goes into backticks."
    read_query(lex("SELECT `left` FROM t"))


def test_what_is_left_over_is_refused_with_its_place() -> None:
    with pytest.raises(SqlSyntax) as caught:
        read_query(lex("SELECT a FROM t\nSELECT b"))
    assert caught.value.detail == "line 2, column 1: the end is expected here."


def test_calls_nested_deeply_are_read_once() -> None:
    depth = 190
    for name in ("substring", "trim", "overlay", "position", "date_add"):
        with deep_recursion:
            read_query(lex("SELECT " + f"{name}(" * depth + "s" + ", 1)" * depth))
    with pytest.raises(SqlTooLarge):
        lex("SELECT " + "(" * 10_000 + "1" + ")" * 10_000)
