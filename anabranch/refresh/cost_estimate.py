"""Seconds of a refresh, from the amounts of its work: a price for each kind, measured once per engine.

    seconds = fixed + Σ amount × price

The prices were fitted to refreshes of TPC-H's queries at scale factor 1 on two cores, in full and with 0.1, 1
and 5 % of the orders changed. Of half of these the estimate is wrong by less than a quarter, of nearly all by
less than a factor of two. Another machine is slower or faster by a factor that is learned from history, as is
what the estimate of a query is wrong by (see `choose`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from anabranch.refresh.estimate_work import MOST, Work


@dataclass(frozen=True)
class CostConstants:
    """Seconds that one unit of each kind of work takes; the fields are those of `Work`."""

    fixed: float
    """A refresh that computes next to nothing: versions, files to list, a Parquet file to write."""
    statements: float
    """A statement: handing over its text and its relations, a job, and collecting what it says."""
    operators: float
    """An operator of a statement: analysing, optimising and planning it."""
    written_results: float
    """A result that the engine writes to files, however small: tasks that open, write and commit them."""
    scanned_rows: float
    """A row of a table that is read from end to end."""
    scanned_bytes: float
    """A byte of Parquet of the columns that are read."""
    joined_rows: float
    """A row that goes into a join, or comes out of one."""
    grouped_rows: float
    """A row that is grouped, netted or ordered."""
    aggregated_values: float
    """A value that is added up."""
    matched_texts: float
    """A text that is compared with a pattern."""
    interpreted_rows: float
    """A row that goes through an operator in this process."""
    looked_up_rows: float
    """A row that is found by key, and handed to the engine."""
    key_rows: float
    """A key that rows are looked up by: reading it, and searching for it."""
    changed_rows: float
    """A row of a change file that is read."""
    written_rows: float
    """A row of the stored table that is written."""
    located_rows: float
    """A stored row that is compared to find those to delete."""


SPARK = CostConstants(
    fixed=0.03,
    statements=0.01,
    operators=4.5e-3,
    written_results=0.14,
    scanned_rows=5e-8,
    scanned_bytes=1.3e-9,
    joined_rows=7.3e-8,
    grouped_rows=7.5e-8,
    aggregated_values=1.1e-7,
    matched_texts=1.2e-7,
    interpreted_rows=7e-7,
    looked_up_rows=6.7e-7,
    key_rows=1.9e-7,
    changed_rows=9.7e-8,
    written_rows=2.5e-6,
    located_rows=3e-8,
)
CONSTANTS: Mapping[str, CostConstants] = {"spark": SPARK}
"""By the name of the engine's dialect."""


def cost_constants(engine: str) -> CostConstants:
    """The constants of an engine; those of Spark for one that wasn't measured."""
    return CONSTANTS.get(engine, SPARK)


def estimate_seconds(work: Work, constants: CostConstants) -> float:
    """What some work is expected to take: never less than nothing, and always a number."""
    prices = (getattr(constants, each.name) for each in fields(Work))
    spent = sum(amount * price for amount, price in zip(work.amounts(), prices, strict=True))
    return float(min(MOST, constants.fixed + spent))
