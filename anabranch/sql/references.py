"""The tables a query or expression refers to, and where in its text it does so.

A name is a CTE only where that CTE is in scope: in the CTEs after it, in the query of its WITH, and in
everything nested there. Everything else that stands where a table can stand is a table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from anabranch.errors import SqlTooLarge, UnsupportedStatement
from anabranch.names import TableName
from anabranch.sql.cross_check_tables import NEVER_ALIAS
from anabranch.sql.cursor import table_name
from anabranch.sql.lexer import Lexeme, SqlText, place
from anabranch.sql.parse import format_snippet

Scope = frozenset[str]

MAX_RELATIONS = 1_000

_PLAIN_TABLE = frozenset(["this", "db", "catalog", "alias", "joins", "laterals", "pivots", "sample"])
_TIME_TRAVEL = frozenset(["version", "when"])

_REFUSED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Into: ("SELECT … INTO is not accepted", "write CREATE TABLE … AS SELECT …, or INSERT INTO …."),
    exp.QueryTransform: ("TRANSFORM runs a program", "use Spark's functions."),
    exp.Placeholder: ("a parameter has no value", "write the value into the statement."),
    exp.Parameter: ("a parameter has no value", "write the value into the statement."),
    exp.SessionParameter: ("a session parameter is not accepted", "write the value into the statement."),
    exp.Command: ("a command is not accepted inside a query", "write a SELECT."),
    exp.DDL: ("a statement is not accepted inside a query", "write a SELECT."),
    exp.DML: ("a statement is not accepted inside a query", "write a SELECT."),
}


@dataclass(frozen=True)
class TableReference:
    """A table where a query reads it: `text[start:end]` is its name; `written` its last part."""

    name: TableName
    written: str
    aliased: bool
    start: int
    end: int


@dataclass(frozen=True)
class ColumnReference:
    """A column under at least three names (`a.b.c`): the first two, and where each begins."""

    qualifier: tuple[str, str]
    start: int
    table_start: int


@dataclass(frozen=True)
class References:
    """What a tree refers to, and at which offsets relations begin that are no tables (CTEs)."""

    tables: tuple[TableReference, ...]
    columns: tuple[ColumnReference, ...]
    cte_starts: frozenset[int]


def find_references(tree: exp.Expr, sql: SqlText) -> References:
    """Every table and every namespace-qualified column of a tree, in the order of the text."""
    starts = {lexeme.start: lexeme for lexeme in sql.lexemes}
    tables: list[TableReference] = []
    columns: list[ColumnReference] = []
    ctes: set[int] = set()
    relations = frozenset(_relation_names(tree))
    for node, scope in _nodes_with_scope(tree):
        _check_node(node)
        if isinstance(node, exp.Table):
            _check_clauses(node)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            first = _find_lexeme(_identifiers(node)[0], sql, starts)
            if not node.args.get("db") and node.name.lower() in scope:
                ctes.add(first.start)
            else:
                tables.append(_table_reference(node, sql, starts))
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Dot):
            raise UnsupportedStatement(
                f"the name {format_snippet(node.sql())} has too many parts",
                hint="write `table` or `namespace.table`.",
            )
        elif isinstance(node, exp.Column):
            _check_variable(node, relations)
            if column := _column_reference(node, sql, starts):
                columns.append(column)
    if len(tables) > MAX_RELATIONS:
        raise _too_many_relations()
    tables.sort(key=lambda reference: reference.start)
    columns.sort(key=lambda reference: reference.start)
    return References(tuple(tables), tuple(columns), frozenset(ctes))


def _nodes_with_scope(tree: exp.Expr) -> Iterator[tuple[exp.Expr, Scope]]:
    """Every node with the names of the CTEs in scope there. Hints name relations, they don't read them."""
    pending: list[tuple[exp.Expr, Scope]] = [(tree, frozenset())]
    while pending:
        node, scope = pending.pop()
        if isinstance(node, exp.Hint):
            continue
        yield node, scope
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for cte in clause.expressions:
                if not isinstance(cte.this, exp.Query | exp.Values):
                    raise UnsupportedStatement(f'"{cte.alias}" is not a query', hint="write a SELECT.")
                name = cte.alias.lower()
                # The body of a plain CTE sees what the name meant before; a recursive one sees itself.
                pending.append((cte, scope | {name} if clause.recursive else scope))
                scope |= {name}
                if len(scope) > MAX_RELATIONS:
                    raise _too_many_relations()
        pending.extend((child, scope) for child in node.iter_expressions() if child is not clause)


def _too_many_relations() -> SqlTooLarge:
    return SqlTooLarge("the SQL text is too large", detail=f"it names more than {MAX_RELATIONS} relations.")


def _check_node(node: exp.Expr) -> None:
    if isinstance(node, exp.TableAlias) and isinstance(node.this, exp.Identifier):
        _check_alias(node.this)
    if isinstance(node, exp.Select) and (not node.expressions or _has_join_without_from(node)):
        raise UnsupportedStatement("a SELECT has no columns or no FROM", hint="write SELECT * FROM ….")
    for kind, (message, hint) in _REFUSED.items():
        if isinstance(node, kind) and not isinstance(node, exp.Query):
            raise UnsupportedStatement(message, hint=hint)


def _has_join_without_from(node: exp.Select) -> bool:
    """`SELECT a JOIN b`: for Spark, the table "select" under the alias a."""
    return not node.args.get("from_") and bool(node.args.get("joins") or node.args.get("laterals"))


def _check_alias(alias: exp.Identifier) -> None:
    """Where sqlglot takes a word for an alias and Spark doesn't, they read different queries."""
    if not alias.quoted and alias.name.upper() in NEVER_ALIAS:
        raise UnsupportedStatement(
            f'"{alias.name}" can\'t be the alias of a table',
            hint="choose another one, or put it into backticks.",
        )


def _check_clauses(node: exp.Table) -> None:
    """What may follow a relation. A CTE is no exception: read as of a version, it is a table for Spark."""
    for key, value in node.args.items():
        if value and key in _TIME_TRAVEL:
            raise UnsupportedStatement(
                f"{format_snippet(node.name)} is read as of an earlier time",
                hint="use lake.snapshot(as_of=lsn).sql(…).",
            )
        if value and key not in _PLAIN_TABLE:
            raise UnsupportedStatement(
                f"{format_snippet(node.name)} is read with a clause that is not accepted ({key.strip('_')})"
            )


def _table_reference(node: exp.Table, sql: SqlText, starts: dict[int, Lexeme]) -> TableReference:
    parts = _identifiers(node)
    name = table_name(tuple(part.name for part in parts))
    located = [_find_lexeme(part, sql, starts) for part in parts]
    for before, after in itertools.pairwise(located):
        if sql.text[before.end : after.start].strip() != ".":
            raise _position_error(after.text, sql, after.start)
    return TableReference(name, parts[-1].name, bool(node.alias), located[0].start, located[-1].end)


def _column_reference(node: exp.Column, sql: SqlText, starts: dict[int, Lexeme]) -> ColumnReference | None:
    parts = _identifiers(node)
    if len(parts) + isinstance(node.this, exp.Star) < 3:
        return None
    first, second = (_find_lexeme(part, sql, starts) for part in parts[:2])
    return ColumnReference((parts[0].name.lower(), parts[1].name.lower()), first.start, second.start)


def _check_variable(node: exp.Column, relations: frozenset[str]) -> None:
    """`session.x` is a variable of the Spark session, unless something in the query is called so."""
    names = [part.name.lower() for part in _identifiers(node)]
    variable = names[:2] == ["system", "session"] or (len(names) == 2 and names[0] == "session")
    if variable and names[0] not in relations:
        raise UnsupportedStatement(
            f"{format_snippet('.'.join(names))} is a variable of the Spark session",
            hint="write the value into the statement.",
        )


def _relation_names(tree: exp.Expr) -> Iterator[str]:
    for node in tree.walk():
        if isinstance(node, exp.Table | exp.Subquery | exp.CTE | exp.Lateral):
            yield node.alias_or_name.lower()


def _identifiers(node: exp.Table | exp.Column) -> list[exp.Identifier]:
    keys = ("catalog", "db", "this") if isinstance(node, exp.Table) else ("catalog", "db", "table", "this")
    return [part for key in keys if isinstance(part := node.args.get(key), exp.Identifier)]


def _find_lexeme(identifier: exp.Identifier, sql: SqlText, starts: dict[int, Lexeme]) -> Lexeme:
    """The lexeme of an identifier; refused unless the text there says just that name."""
    start = identifier.meta.get("start")
    lexeme = starts.get(start) if isinstance(start, int) else None
    if lexeme is None or not lexeme.is_name or lexeme.name != identifier.name:
        raise _position_error(identifier.name, sql, start)
    return lexeme


def _position_error(name: str, sql: SqlText, start: int | None) -> UnsupportedStatement:
    where = f"{place(sql.text, start)}." if isinstance(start, int) else None
    return UnsupportedStatement(
        f"the place of {format_snippet(name)} in the SQL text is not certain", detail=where
    )
