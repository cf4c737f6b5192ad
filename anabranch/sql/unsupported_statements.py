"""Statements of Spark that are not accepted, and what to do instead."""

from __future__ import annotations

from anabranch.errors import UnsupportedStatement
from anabranch.sql.cursor import Cursor
from anabranch.sql.parse import format_snippet

_HINTS: tuple[tuple[str, str], ...] = (
    ("CREATE OR REPLACE TABLE", "drop the table first, or truncate it."),
    ("CREATE TEMPORARY", "the lake keeps tables only; in Python, use a DataFrame."),
    ("CREATE EXTERNAL", "tables of the lake are kept by the lake."),
    ("CREATE VIEW", "create a stream table: its rows are kept fresh."),
    ("CREATE OR REPLACE VIEW", "create a stream table: its rows are kept fresh."),
    ("CREATE MATERIALIZED", "create a stream table: its rows are kept fresh."),
    ("CREATE FUNCTION", "register functions with spark.udf.register."),
    ("CREATE DATABASE", "a namespace exists as soon as a table has it: CREATE TABLE namespace.name."),
    ("CREATE SCHEMA", "a namespace exists as soon as a table has it: CREATE TABLE namespace.name."),
    ("DROP DATABASE", "drop the tables one by one."),
    ("DROP SCHEMA", "drop the tables one by one."),
    ("DROP VIEW", "the lake has no views."),
    ("ALTER TABLE", "create a new table, and copy the rows with INSERT INTO … SELECT."),
    ("INSERT OVERWRITE", "TRUNCATE TABLE and INSERT INTO, in one transaction."),
    ("LOAD", "read files with spark.read and add their rows with lake.insert."),
    ("COPY", "read files with spark.read and add their rows with lake.insert."),
    ("SET", "settings are set with lake.set(name, value)."),
    ("RESET", "settings are set with lake.set(name, value)."),
    ("USE", "write namespace.table."),
    ("SHOW TABLES", "lake.tables(), or SHOW STREAM TABLES."),
    ("EXPLAIN", "EXPLAIN STREAM TABLE name, or lake.explain(query)."),
    ("REFRESH TABLE", "REFRESH STREAM TABLE name."),
    ("CREATE STREAM", "CREATE STREAM TABLE name WITH (schedule = '1m') AS SELECT …."),
    ("GATE", "GATE SOURCE name."),
    ("UNGATE", "UNGATE SOURCE name."),
    ("DESCRIBE", "lake.table(name).printSchema()."),
    ("DESC", "lake.table(name).printSchema()."),
    ("CACHE", "lake.table(name).cache()."),
    ("BEGIN", "with lake.transaction() as tx: …"),
    ("START", "with lake.transaction() as tx: …"),
    ("COMMIT", "with lake.transaction() as tx: …"),
    ("ROLLBACK", "with lake.transaction() as tx: …"),
    ("OPTIMIZE", "lake.compact(name)."),
    ("VACUUM", "lake.maintain()."),
    ("REPLACE", "DELETE and INSERT, or MERGE."),
    ("UPSERT", "MERGE INTO … USING … ON … WHEN …."),
)

_STATEMENTS = (
    "SELECT, CREATE TABLE, DROP TABLE, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, "
    "CREATE, ALTER, DROP, REFRESH, SUSPEND, RESUME and EXPLAIN STREAM TABLE, "
    "SHOW STREAM TABLES, GATE SOURCE and UNGATE SOURCE are."
)


def unsupported_statement_error(cursor: Cursor) -> UnsupportedStatement:
    """The error for the statement at the cursor."""
    words = [word for word in (cursor.word(i) for i in range(4)) if word]
    start = " ".join(words)
    hint = next((hint for known, hint in _HINTS if f"{start} ".startswith(f"{known} ")), None)
    return UnsupportedStatement(
        f"{format_snippet(' '.join(words[:2]))} is not a statement of the lake"
        if words
        else "this is not a statement",
        hint=hint or _STATEMENTS,
    )
