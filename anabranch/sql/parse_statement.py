"""Text to one statement."""

from __future__ import annotations

from anabranch.errors import InvalidQuery, UnsupportedStatement
from anabranch.sql.cursor import Cursor
from anabranch.sql.ddl import parse_schema_lexemes
from anabranch.sql.expression import Expression
from anabranch.sql.lexer import SqlText, lex
from anabranch.sql.parse import format_snippet, one_statement
from anabranch.sql.query import parse_query_lexemes
from anabranch.sql.read_merge import read_assignments, read_merge
from anabranch.sql.read_stream_statement import read_stream_statement
from anabranch.sql.statement import (
    CreateTable,
    Delete,
    DeleteRow,
    DropTable,
    Insert,
    InsertRow,
    Merge,
    MergeClause,
    Select,
    Statement,
    Truncate,
    Update,
    UpdateRow,
    When,
)
from anabranch.sql.unsupported_statements import unsupported_statement_error

__all__ = [
    "CreateTable",
    "Delete",
    "DeleteRow",
    "DropTable",
    "Insert",
    "InsertRow",
    "Merge",
    "MergeClause",
    "Select",
    "Statement",
    "Truncate",
    "Update",
    "UpdateRow",
    "When",
    "parse_statement",
]

_QUERY_WORDS = frozenset("SELECT WITH VALUES FROM TABLE MAP REDUCE".split())
_CHANGING_WORDS = frozenset("INSERT UPDATE DELETE MERGE".split())


def parse_statement(text: str) -> Statement:
    """The one statement in a text; every other statement of Spark is an `UnsupportedStatement`.

    >>> parse_statement("DROP TABLE IF EXISTS orders")
    DropTable(name=TableName(namespace='main', table='orders'), if_exists=True)
    """
    sql = one_statement(lex(text))
    cursor = Cursor(sql)
    if cursor.word() in _QUERY_WORDS or cursor.sign() == "(":
        _refuse_changes(sql)
        return Select(parse_query_lexemes(sql))
    if cursor.take("CREATE", "TABLE"):
        return _create_table(cursor)
    if cursor.take("DROP", "TABLE"):
        return _drop_table(cursor)
    if cursor.take("INSERT", "INTO"):
        return _insert(cursor)
    if cursor.take("UPDATE"):
        return _update(cursor)
    if cursor.take("DELETE", "FROM"):
        return _delete(cursor)
    if cursor.take("MERGE"):
        return read_merge(cursor)
    if cursor.take("TRUNCATE", "TABLE"):
        return _truncate(cursor)
    if (statement := read_stream_statement(cursor, text)) is not None:
        return statement
    raise unsupported_statement_error(cursor)


def _refuse_changes(sql: SqlText) -> None:
    """`WITH … INSERT` and `FROM … INSERT` are Spark's, but change tables under the looks of a query."""
    depth = 0
    for index, lexeme in enumerate(sql.lexemes):
        depth += (lexeme.text == "(") - (lexeme.text == ")")
        changing = lexeme.word in _CHANGING_WORDS and not sql.follows_dot(index)
        if depth == 0 and changing and index + 1 < len(sql.lexemes) and sql.lexemes[index + 1].is_name:
            raise UnsupportedStatement(
                f"{sql.lexemes[0].word} … {lexeme.word} is not accepted",
                hint="begin with INSERT INTO name, and put WITH or FROM behind it.",
            )


def _create_table(cursor: Cursor) -> CreateTable:
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.table_name()
    if cursor.sign() == "(" and cursor.word(1) not in ("SELECT", "WITH"):
        schema = parse_schema_lexemes(cursor.take_brackets())
        if cursor.word() == "AS" or cursor.word() in _QUERY_WORDS:
            raise InvalidQuery(
                f'the table "{name}" has both columns and a query',
                hint="cast and name the columns in the query.",
            )
        _refuse_clause(cursor, "CREATE TABLE")
        return CreateTable(name, schema, None, if_not_exists)
    if cursor.take("AS") or cursor.word() in _QUERY_WORDS or cursor.sign() == "(":
        return CreateTable(name, None, parse_query_lexemes(cursor.take_rest()), if_not_exists)
    _refuse_clause(cursor, "CREATE TABLE")
    return CreateTable(name)


def _drop_table(cursor: Cursor) -> DropTable:
    if_exists = cursor.take("IF", "EXISTS")
    name = cursor.table_name()
    _refuse_clause(cursor, "DROP TABLE")
    return DropTable(name, if_exists)


def _insert(cursor: Cursor) -> Insert:
    cursor.take("TABLE")
    name = cursor.table_name()
    columns = cursor.plain_names()
    if cursor.is_at_end:
        raise cursor.syntax_error("VALUES or SELECT is expected here")
    if cursor.word() not in _QUERY_WORDS and cursor.sign() != "(":
        _refuse_clause(cursor, "INSERT INTO")
    return Insert(name, columns, parse_query_lexemes(cursor.take_rest()))


def _update(cursor: Cursor) -> Update:
    name = cursor.table_name()
    alias = cursor.alias("SET")
    cursor.expect("SET")
    assignments = read_assignments(cursor, name, alias, "WHERE")
    return Update(name, assignments, _where(cursor), alias)


def _delete(cursor: Cursor) -> Delete:
    name = cursor.table_name()
    alias = cursor.alias("WHERE")
    return Delete(name, _where(cursor), alias)


def _where(cursor: Cursor) -> Expression | None:
    if cursor.is_at_end:
        return None
    cursor.expect("WHERE")
    return Expression(cursor.take_rest().text)


def _truncate(cursor: Cursor) -> Truncate:
    name = cursor.table_name()
    _refuse_clause(cursor, "TRUNCATE TABLE")
    return Truncate(name)


def _refuse_clause(cursor: Cursor, statement: str) -> None:
    if cursor.is_at_end:
        return
    if not cursor.word():
        raise cursor.syntax_error("the end is expected here")
    words = " ".join(filter(None, (cursor.word(), cursor.word(1))))
    raise UnsupportedStatement(
        f"{statement} … {format_snippet(words)} is not accepted",
        hint="the lake decides where and how its tables are kept.",
    )
