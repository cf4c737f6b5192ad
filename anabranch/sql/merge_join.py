"""The join of a MERGE: the narrowest one that its clauses need."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from anabranch.names import FILE, TableName
from anabranch.sql.query import Query
from anabranch.sql.query_builders import (
    as_subquery,
    case_when,
    column,
    is_not_null,
    number,
    relation,
    verbatim,
    with_alias,
)
from anabranch.sql.statement import When
from anabranch.sql.target_columns import TARGET
from anabranch.sql.template import Placeholders

INCOMING = "__incoming"
"""True in every row of the source; NULL where an outer join found none."""


@dataclass(frozen=True)
class MergeJoin:
    """`query` selects nothing yet; `when` says in numbers (the order of `When`) which case a row is."""

    query: exp.Select
    has_target: bool
    when: exp.Expr


def merge_join(
    kinds: frozenset[When], source: str, target_alias: str, source_alias: str, on: exp.Expr
) -> MergeJoin:
    """Both sides, of which `source` is a template, joined so that the rows of all `kinds` are there."""
    ours = relation(TARGET, target_alias)
    in_target, in_source = (
        is_not_null(column(FILE, target_alias)),
        is_not_null(column(INCOMING, source_alias)),
    )
    matched, added, left = (number(i) for i in range(3))
    if kinds == {When.MATCHED}:
        return MergeJoin(_join(relation(source, source_alias), ours, on, "inner"), True, matched)
    if kinds == {When.NOT_MATCHED}:
        return MergeJoin(_join(relation(source, source_alias), ours, on, "left anti"), False, added)
    if kinds == {When.NOT_MATCHED_BY_SOURCE}:
        return MergeJoin(_join(ours, relation(source, source_alias), on, "left anti"), True, left)
    if kinds == {When.MATCHED, When.NOT_MATCHED}:
        when = case_when([(in_target, matched), (verbatim("TRUE"), added)])
        return MergeJoin(_join(relation(source, source_alias), ours, on, "left"), True, when)
    rows = exp.select(exp.Star(), with_alias(verbatim("TRUE"), INCOMING)).from_(verbatim(source))
    marked = as_subquery(rows, source_alias)
    if kinds == {When.MATCHED, When.NOT_MATCHED_BY_SOURCE}:
        when = case_when([(in_source, matched), (verbatim("TRUE"), left)])
        return MergeJoin(_join(ours, marked, on, "left"), True, when)
    both = exp.and_(in_target, in_source)
    when = case_when([(both, matched), (in_source.copy(), added), (verbatim("TRUE"), left)])
    return MergeJoin(_join(ours, marked, on, "full outer"), True, when)


def source_template(source: TableName | Query, placeholders: Placeholders) -> str:
    """The source as a relation: a placeholder, or its query in parentheses."""
    if isinstance(source, Query):
        return f"({source.template})"
    return "{" + placeholders.placeholder_for(source) + "}"


def _join(left: exp.Expr, right: exp.Expr, on: exp.Expr, kind: str) -> exp.Select:
    return exp.select().from_(left).join(right, on=on, join_type=kind)
