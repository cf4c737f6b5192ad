"""A user's text with placeholders where it names tables; everything else stays as it was written.

`{t0}` stands for a relation under the rules of Python's `str.format`, so all other braces are doubled.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from anabranch.errors import UnsupportedStatement
from anabranch.names import TableName
from anabranch.sql.cross_check_tables import check_relations
from anabranch.sql.lexer import SqlText, quote
from anabranch.sql.references import ColumnReference, References, TableReference, find_references

Edit = tuple[int, int, str]


class Placeholders:
    """Which placeholder stands for which table; the same table always gets the same one."""

    def __init__(self) -> None:
        self._names: dict[TableName, str] = {}

    def placeholder_for(self, table: TableName) -> str:
        """The placeholder of a table."""
        return self._names.setdefault(table, f"t{len(self._names)}")

    @property
    def bindings(self) -> tuple[tuple[str, TableName], ...]:
        """Placeholder and table, in the order of first use."""
        return tuple((placeholder, table) for table, placeholder in self._names.items())


def render_template(
    sql: SqlText, tree: exp.Expr, placeholders: Placeholders, visible: Iterable[TableName] = ()
) -> str:
    """The text of a query or expression, known to stay in the sandbox, as a template.

    `visible` are tables outside the text whose columns it may name by namespace (`sales.orders.id`).
    """
    references = find_references(tree, sql)
    check_relations(sql, references.cte_starts | {table.start for table in references.tables})
    ends = {lexeme.end: index for index, lexeme in enumerate(sql.lexemes)}
    edits = [
        edit
        for table in references.tables
        for edit in _table_edits(table, sql, ends[table.end], placeholders)
    ]
    edits += _column_edits(references, frozenset(visible))
    return _apply_edits(sql.text, sorted(edits))


def escape(text: str) -> str:
    """The text as a template without placeholders.

    >>> escape("'{}'")
    "'{{}}'"
    """
    return text.replace("{", "{{").replace("}", "}}")


def _table_edits(table: TableReference, sql: SqlText, name: int, placeholders: Placeholders) -> list[Edit]:
    """`name` is the number of the lexeme that ends the table's name."""
    edits: list[Edit] = [(table.start, table.end, "{" + placeholders.placeholder_for(table.name) + "}")]
    if not table.aliased:
        after = _alias_offset(sql, name)
        edits.append((after, after, f" AS {escape(quote(table.written))}"))
    return edits


def _alias_offset(sql: SqlText, name: int) -> int:
    """Where an alias goes: behind the name, and behind TABLESAMPLE (…) [REPEATABLE (…)] if that follows."""
    end, index = sql.lexemes[name].end, name + 1
    for word in ("TABLESAMPLE", "REPEATABLE"):
        if index < len(sql.lexemes) and sql.lexemes[index].word == word:
            depth, index = 0, index + 1
            while index < len(sql.lexemes):
                depth += (sql.lexemes[index].text == "(") - (sql.lexemes[index].text == ")")
                end, index = sql.lexemes[index].end, index + 1
                if depth == 0:
                    break
    return end


def _column_edits(references: References, visible: frozenset[TableName]) -> list[Edit]:
    """`sales.orders.id` becomes `orders.id`, as the table is now an alias without a namespace."""
    named = visible | {table.name for table in references.tables if not table.aliased}
    by_parts = {table.as_tuple: table for table in named}
    edits: list[Edit] = []
    for column in references.columns:
        table = by_parts.get(column.qualifier)
        if table is not None:
            _check_unambiguous(column, table, named)
            edits.append((column.start, column.table_start, ""))
    return edits


def _check_unambiguous(column: ColumnReference, table: TableName, named: Iterable[TableName]) -> None:
    for other in named:
        if other.table == table.table and other != table:
            raise UnsupportedStatement(
                f'"{table}" and "{other}" are both called "{table.table}" here',
                hint="give each of them an alias.",
            )


def _apply_edits(text: str, edits: list[Edit]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end, replacement in edits:
        pieces += [escape(text[position:start]), replacement]
        position = end
    return "".join([*pieces, escape(text[position:])])
