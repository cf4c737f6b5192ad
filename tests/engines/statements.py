"""Statements for DuckDB: plans come in its own dialect, people's texts in Spark's."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from sqlglot import ErrorLevel, exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from anabranch.errors import SqlSyntax

DIVIDE_BY_ZERO = "[DIVIDE_BY_ZERO] Division by zero"
"""What a division by zero is called in Spark."""

# Spark in ANSI mode fails where DuckDB gives NULL. The operators' own names are looked up like any others.
_OPERATORS = [
    f"""CREATE MACRO "{operator}"(a, b) AS
    CASE WHEN b = 0 THEN error('{DIVIDE_BY_ZERO}') ELSE system.main."{operator}"(a, b) END"""
    for operator in ("/", "//", "%")
]
# Functions that stand in plans as Spark calls them, where DuckDB has none of that name or means another one.
_FUNCTIONS = [
    "CREATE MACRO raise_error(message) AS error(message)",
    "CREATE MACRO collect_list(a) AS list(a) FILTER (WHERE a IS NOT NULL)",
    "CREATE MACRO concat(a, b) AS a || b, (a, b, c) AS a || b || c, (a, b, c, d) AS a || b || c || d",
    "CREATE MACRO date_add(a, days) AS CAST(a AS DATE) + CAST(days AS INTEGER)",
    "CREATE MACRO date_sub(a, days) AS CAST(a AS DATE) - CAST(days AS INTEGER)",
    "CREATE MACRO nvl(a, b) AS coalesce(a, b)",
    "CREATE MACRO pmod(a, b) AS ((a % b) + b) % b",
    "CREATE MACRO positive(a) AS a",
]
MACROS = [*_OPERATORS, *_FUNCTIONS]

# A MERGE's column with several candidates: it fails when it is read, and here all columns are read.
_NEVER_READ = "raise_error('this column has several candidates')"
_SPARK_WORDS = (
    (re.compile(r"\btimestamp(?=\)| ?')", re.IGNORECASE), "TIMESTAMPTZ"),
    (re.compile(r"\btimestamp_ntz\b", re.IGNORECASE), "TIMESTAMP"),
    (re.compile(r"\bdiv\b", re.IGNORECASE), "//"),
)


class AnsiSpark(Spark):
    """Spark's SQL as it is under ANSI rules, where CAST and division fail rather than give NULL."""

    SAFE_DIVISION = False

    class Parser(Spark.Parser):
        """Takes CAST for what it says."""

        STRICT_CAST = True


def relation_name(placeholder: str) -> str:
    """What a placeholder's relation is called."""
    return f"r_{placeholder}"


@lru_cache(maxsize=4096)
def statement(template: str, placeholders: frozenset[str]) -> str:
    """The statement that DuckDB runs for a template."""
    text = template.format(**{placeholder: relation_name(placeholder) for placeholder in placeholders})
    return _plan(text) if _is_plan(template, placeholders) else _translated(text)


def _is_plan(template: str, placeholders: Collection[str]) -> bool:
    """Whether it is a plan in DuckDB's dialect; one in Spark's has its names in backticks."""
    if "`" in template:
        return False
    return template.startswith("WITH p0 AS (") or _all_leaves(placeholders)


def _all_leaves(placeholders: Collection[str]) -> bool:
    """Whether a statement reads leaves of a plan, and nothing else."""
    return bool(placeholders) and all(name.startswith("leaf_") for name in placeholders)


def _plan(text: str) -> str:
    """Types and the user's own pieces of text stand in a plan as Spark has them."""
    for spark, duck in _SPARK_WORDS:
        text = spark.sub(duck, text)
    return text


def _translated(text: str) -> str:
    try:
        tree = parse_one(text.replace(_NEVER_READ, "NULL"), read=AnsiSpark)
    except SqlglotError as error:
        raise SqlSyntax("the statement can't be read", detail=str(error).partition("\n")[0]) from error
    return tree.transform(_adapted).sql("duckdb", unsupported_level=ErrorLevel.IGNORE)


def _adapted(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.TsOrDsAdd) and not isinstance(node.parent, exp.Cast):
        return exp.Cast(this=node.copy(), to=exp.DataType.build("date"))
    return node
