"""Incoming rows that replace the rows of a table they match, and are added where they match none."""

from __future__ import annotations

from sqlglot import exp

from anabranch.errors import InvalidQuery, UnknownColumn, UnsupportedStatement
from anabranch.names import FILE, POSITION, TableName
from anabranch.schema import Schema
from anabranch.sql.expression import Expression
from anabranch.sql.parse import format_snippet
from anabranch.sql.query import Query
from anabranch.sql.query_builders import (
    all_columns,
    as_subquery,
    case_when,
    column,
    is_not_null,
    number,
    relation,
    render,
    verbatim,
    with_alias,
)
from anabranch.sql.target_columns import (
    ACTION,
    DELETE,
    INSERT,
    NEW,
    SOURCE,
    TARGET,
    UPDATE,
    column_index,
)
from anabranch.sql.template import Placeholders

_TARGET, _SOURCE = "target", "source"


def upsert_changes(
    table: TableName,
    schema: Schema,
    columns: tuple[str, ...],
    on: tuple[str, ...],
    delete_when: Expression | None,
) -> Query:
    """See `row_changes.merge_changes`."""
    given = _incoming_columns(table, schema, columns, delete_when)
    joined = exp.select().from_(relation(SOURCE, _SOURCE))
    joined = joined.join(
        relation(TARGET, _TARGET), on=_key_condition(table, schema, given, on), join_type="left"
    )
    if delete_when is None:
        return Query(render(_without_deletes(joined, schema, given)))
    return _with_deletes(joined, schema, columns, given, delete_when)


def _without_deletes(joined: exp.Select, schema: Schema, given: dict[int, str]) -> exp.Select:
    action = case_when(
        [(is_not_null(column(FILE, _TARGET)), number(UPDATE)), (verbatim("TRUE"), number(INSERT))]
    )
    return joined.select(
        *[with_alias(column(c.name, _TARGET), c.name) for c in schema],
        *[with_alias(column(hidden, _TARGET), hidden) for hidden in (FILE, POSITION)],
        with_alias(action, ACTION),
        *[
            with_alias(column(given[i], _SOURCE) if i in given else column(c.name, _TARGET), f"{NEW}{i}")
            for i, c in enumerate(schema)
        ],
    )


def _with_deletes(
    joined: exp.Select,
    schema: Schema,
    columns: tuple[str, ...],
    given: dict[int, str],
    delete_when: Expression,
) -> Query:
    """First the join, with the table's row as one value called `target`: then a bare name can only be
    an incoming column. Then the action. Then the rows that have one."""
    for taken in (_TARGET, _SOURCE):
        if taken in (name.lower() for name in columns):
            raise UnsupportedStatement(
                f'an incoming column is called "{taken}", which delete_when can\'t tell apart'
            )
    placeholders = Placeholders()
    row = exp.Anonymous(
        this="named_struct",
        expressions=[part for c in schema for part in (exp.Literal.string(c.name), column(c.name, _TARGET))],
    )
    hidden = [*(f"__old_{i}" for i in range(len(schema))), FILE, POSITION]
    values = [*(column(c.name, _TARGET) for c in schema), column(FILE, _TARGET), column(POSITION, _TARGET)]
    first = joined.select(
        all_columns(_SOURCE),
        with_alias(row, _TARGET),
        *[with_alias(value, text) for value, text in zip(values, hidden, strict=True)],
    )
    matched = is_not_null(column(FILE))
    # A column that is NULL in every incoming row has no type of its own, and CASE would refuse it.
    gone = verbatim(f"({delete_when.template(placeholders)}) <=> TRUE")
    action = case_when(
        [
            (gone, case_when([(matched, number(DELETE))])),
            (matched.copy(), number(UPDATE)),
            (verbatim("TRUE"), number(INSERT)),
        ]
    )
    stays = exp.NEQ(this=column(ACTION), expression=number(DELETE))
    second = exp.select(
        *[column(text) for text in hidden],
        with_alias(action, ACTION),
        *[
            with_alias(
                case_when(
                    [(stays.copy(), column(given[i], _SOURCE) if i in given else column(f"__old_{i}"))]
                ),
                f"{NEW}{i}",
            )
            for i in range(len(schema))
        ],
    ).from_(as_subquery(first, _SOURCE))
    third = (
        exp.select(
            *[with_alias(column(f"__old_{i}"), c.name) for i, c in enumerate(schema)],
            *[column(text) for text in (FILE, POSITION, ACTION)],
            *[column(f"{NEW}{i}") for i in range(len(schema))],
        )
        .from_(as_subquery(second, "__changes"))
        .where(is_not_null(column(ACTION)))
    )
    return Query(render(third), placeholders.bindings)


def _incoming_columns(
    table: TableName, schema: Schema, columns: tuple[str, ...], delete_when: Expression | None
) -> dict[int, str]:
    """Which columns of the table the incoming rows have, under which name."""
    given: dict[int, str] = {}
    seen: set[str] = set()
    for text in columns:
        if text.lower() in seen:
            raise InvalidQuery(f"the incoming rows have two columns {format_snippet(text)}")
        seen.add(text.lower())
        if schema.find(text) is not None:
            given[column_index(text, schema, table)] = text
        elif delete_when is None or not delete_when.mentions(text):
            raise UnknownColumn(
                f'"{table}" has no column {format_snippet(text)}',
                hint="its columns are " + ", ".join(schema.names[:20]) + ".",
            )
    return given


def _key_condition(table: TableName, schema: Schema, given: dict[int, str], on: tuple[str, ...]) -> exp.Expr:
    if not on:
        raise InvalidQuery(f'merging into "{table}" needs key columns', hint='for example on=["id"].')
    conditions: list[exp.Expr] = []
    for key in on:
        position = column_index(key, schema, table)
        if position not in given:
            raise UnknownColumn(
                f"the incoming rows have no column {format_snippet(key)}", detail="it is one of the keys."
            )
        here = column(schema.columns[position].name, _TARGET)
        conditions.append(exp.EQ(this=column(given[position], _SOURCE), expression=here))
    return exp.and_(*conditions)
