"""Where the SQL of Spark and DuckDB differs, as far as plans need it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """One way to write SQL."""

    name: str
    semi_join: str
    anti_join: str
    error_function: str
    has_lateral_view: bool
    has_hints: bool
    divides_decimals: bool
    """Whether the quotient of two decimals is a decimal."""
    compares_maps: bool
    """Whether maps can be compared and grouped by."""


SPARK = Dialect(
    "spark",
    semi_join="LEFT SEMI",
    anti_join="LEFT ANTI",
    error_function="raise_error",
    has_lateral_view=True,
    has_hints=True,
    divides_decimals=True,
    compares_maps=False,
)
DUCKDB = Dialect(
    "duckdb",
    semi_join="SEMI",
    anti_join="ANTI",
    error_function="error",
    has_lateral_view=False,
    has_hints=False,
    divides_decimals=False,
    compares_maps=True,
)
