"""Expressions: what becomes an operator, what keeps its name, what stays the user's own text."""

# ruff: noqa: E501

from __future__ import annotations

from decimal import Decimal

import pytest

from anabranch.algebra.plan import Project
from anabranch.algebra.scalar import Call, Cast, Function, Literal, Ref, Scalar, Verbatim
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import lower

SCHEMAS = {
    TableName.parse("c"): parse_schema(
        "i INT, j INT, s STRING, d DATE, arr ARRAY<INT>, m MAP<STRING, INT>, st STRUCT<f: INT, g: STRUCT<h: INT>>"
    )
}
ONE, J, S, D = Ref("i"), Ref("j"), Ref("s"), Ref("d")


def scalar(text: str) -> Scalar:
    """The scalar of an expression over c."""
    plan = lower(f"SELECT {text} AS result FROM c", SCHEMAS).plan
    assert isinstance(plan, Project)
    return plan.items[0][1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i + j * 2", Call("+", (ONE, Call("*", (J, Literal(2)))))),
        ("s || s || s", Call("||", (Call("||", (S, S)), S))),
        ("i == j", Call("=", (ONE, J))),
        ("i != j", Call("<>", (ONE, J))),
        ("NOT i = j", Call("not", (Call("=", (ONE, J)),))),
        ("i = j IS NULL", Call("is null", (Call("=", (ONE, J)),))),
        ("i = j < TRUE", Call("<", (Call("=", (ONE, J)), Literal(True)))),
        ("i IS NOT DISTINCT FROM j", Call("<=>", (ONE, J))),
        ("i IS DISTINCT FROM j", Call("not", (Call("<=>", (ONE, J)),))),
        ("(i = j) IS NOT TRUE", Call("not", (Call("<=>", (Call("=", (ONE, J)), Literal(True))),))),
        ("i IN (1, j)", Call("in", (ONE, Literal(1), J))),
        ("i NOT BETWEEN 1 AND 2", Call("not", (Call("and", (Call(">=", (ONE, Literal(1))), Call("<=", (ONE, Literal(2))))),))),
        ("s LIKE 'x%'", Call("like", (S, Literal("x%")))),
        ("s LIKE ANY ('x', 'y')", Call("or", (Call("like", (S, Literal("x"))), Call("like", (S, Literal("y")))))),
        ("s NOT LIKE ANY ('x', 'y')", Call("or", (Call("not", (Call("like", (S, Literal("x"))),)), Call("not", (Call("like", (S, Literal("y"))),))))),
        ("nvl(i, j)", Call("coalesce", (ONE, J))),
        ("if(i = 1, j, 0)", Call("case", (Call("=", (ONE, Literal(1))), J, Literal(0)))),
        ("CASE i WHEN 1 THEN j END", Call("case", (Call("=", (ONE, Literal(1))), J))),
        ("isnotnull(i)", Call("not", (Call("is null", (ONE,)),))),
        ("-i", Call("negate", (ONE,))),
        ("-5", Literal(-5)),
        ("0.50", Literal(Decimal("0.50"))),
        ("'it''s'", Literal("it's")),
        ('"x"', Literal("x")),
        ("'a' 'b'", Literal("ab")),
        ("NULL", Literal(None)),
    ],
)  # fmt: skip
def test_operators_of_which_spark_and_the_reference_think_alike(text: str, expected: Scalar) -> None:
    assert scalar(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("concat_ws('-', s, s)", Function("concat_ws", (Literal("-"), S, S))),
        ("DATE_TRUNC('MONTH', d)", Function("date_trunc", (Literal("MONTH"), D))),
        ("s LIKE s", Function("like", (S, S))),
        ("s LIKE 'x\\\\%'", Function("like", (S, Verbatim(("'x\\\\%'",))))),
        ("s RLIKE '^x'", Function("rlike", (S, Literal("^x")))),
        ("SUBSTRING(s FROM 2 FOR i)", Function("substring", (S, Literal(2), ONE))),
        ("POSITION('x' IN s)", Function("position", (Literal("x"), S))),
        ("CAST(s AS decimal(10, 2))", Cast(S, "DECIMAL(10, 2)")),
        ("TRY_CAST(s AS INT)", Cast(S, "INT", quietly=True)),
        ("s::date", Cast(S, "DATE")),
        ("-s::int", Call("negate", (Cast(S, "INT"),))),
        ("struct(i, s AS t, i + 1)", Function("named_struct", (Literal("i"), ONE, Literal("t"), S, Literal("col3"), Call("+", (ONE, Literal(1)))))),
    ],
)  # fmt: skip
def test_functions_and_casts_keep_their_names(text: str, expected: Scalar) -> None:
    assert scalar(text) == expected


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("i | j & 1", ("(", ONE, " | ", J, " & 1)")),
        ("i DIV j", ("(", ONE, " DIV ", J, ")")),
        ("i << 2", ("(", ONE, " << 2)")),
        ("~i", ("(~", ONE, ")")),
        ("s LIKE 'x!%' ESCAPE '!'", ("(", S, " LIKE 'x!%' ESCAPE '!')")),
        ("EXTRACT(YEAR   FROM d)", ("EXTRACT(YEAR FROM ", D, ")")),
        ("TRIM(BOTH 'x' FROM s)", ("TRIM(BOTH 'x' FROM ", S, ")")),
        ("DATEADD(DAY, i, d)", ("DATEADD(DAY, ", ONE, ", ", D, ")")),
        ("arr[i]", (Ref("arr"), "[", ONE, "]")),
        ("m['k']", (Ref("m"), "['k']")),
        ("st.g.h", ("(", Ref("st"), ").`g`.`h`")),
        ("transform(arr, x -> x + i)", ("transform(", Ref("arr"), ", x -> x + ", ONE, ")")),
        ("transform(arr, x -> (x, i))", ("transform(", Ref("arr"), ", x -> named_struct('x', x, 'i', ", ONE, "))")),
        ("DATE '2020-01-01'", ("DATE '2020-01-01'",)),
        ("INTERVAL 1 DAY 2 HOURS", ("INTERVAL 1 DAY 2 HOURS",)),
        ("INTERVAL '1-2' YEAR TO MONTH", ("INTERVAL '1-2' YEAR TO MONTH",)),
        ("1e3", ("1e3",)),
        ("5L", ("5L",)),
        ("X'1F'", ("X'1F'",)),
        ("'a\\nb'", ("'a\\nb'",)),
        ("r'a\\n'", ("r'a\\n'",)),
    ],
)  # fmt: skip
def test_what_only_spark_understands_stays_as_it_was_written(
    text: str, pieces: tuple[str | Ref, ...]
) -> None:
    assert scalar(text) == Verbatim(pieces)


def test_comments_do_not_get_into_the_text_that_stays() -> None:
    assert scalar("i /* why */ DIV -- not\n j") == Verbatim(("(", ONE, " DIV ", J, ")"))


def test_an_aggregate_inside_text_is_a_column_there() -> None:
    plan = lower("SELECT sum(i) DIV 2 AS x FROM c", SCHEMAS).plan
    assert isinstance(plan, Project)
    assert plan.items[0][1] == Verbatim(("(", Ref("sum"), " DIV 2)"))


def test_a_group_key_inside_text_is_a_column_there() -> None:
    plan = lower("SELECT (i + 1) DIV 2 AS x FROM c GROUP BY i + 1", SCHEMAS).plan
    assert isinstance(plan, Project)
    assert plan.items[0][1] == Verbatim(("((", Ref("key"), ") DIV 2)"))


def test_a_computed_item_inside_text_becomes_a_column_first() -> None:
    plan = lower("SELECT i + 1 AS p, p DIV 2 AS q FROM c", SCHEMAS).plan
    assert isinstance(plan, Project)
    assert plan.items[1][1] == Verbatim(("(", Ref("c"), " DIV 2)"))
