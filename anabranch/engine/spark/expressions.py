"""Spark column expressions for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from anabranch.schema import Array, Map, Struct, Type

NEW, PICK = "__new_", "__pick_"
"""Prefixes of the columns of new values, and of the numbers that pick among them (see `sql.row_changes`)."""
NOT_NULL_MARK = "anabranch NOT NULL: "
"""Errors that our own expressions raise begin with this."""


def new_value_columns(i: int, given: Mapping[str, StructField]) -> list[str]:
    """The columns that hold the new value of column i: one, or several of which a number picks one."""
    if f"{PICK}{i}" not in given:
        return [f"{NEW}{i}"]
    return [name for name in given if name.startswith(f"{NEW}{i}_")]


def pick_new_value(i: int, candidates: Sequence[str]) -> SparkColumn:
    """The new value of column i, by the number that picks one of its candidates."""
    first, *others = (F.col(name) for name in candidates)
    if not others:
        return first
    chosen = F.when(F.col(f"{PICK}{i}") == 0, first)
    return reduce(
        lambda so_far, k: so_far.when(F.col(f"{PICK}{i}") == k, others[k - 1]),
        range(1, len(candidates)),
        chosen,
    )


def nested_null_condition(value: SparkColumn, kind: Type) -> SparkColumn | None:
    """Whether a nested NOT NULL part is NULL; None if the type has no such part."""
    conditions: list[SparkColumn] = []
    match kind:
        case Struct(fields):
            for field in fields:
                inner = value.getField(field.name)
                if not field.nullable:
                    conditions.append(value.isNotNull() & inner.isNull())
                if (deeper := nested_null_condition(inner, field.type)) is not None:
                    conditions.append(deeper)
        case Array(element, nullable) | Map(_, element, nullable):
            items = F.map_values(value) if isinstance(kind, Map) else value
            if not nullable:
                conditions.append(F.exists(items, lambda item: item.isNull()))
            if nested_null_condition(F.lit(None), element) is not None:
                conditions.append(F.exists(items, lambda item: nested_null_condition(item, element)))  # type: ignore[arg-type, return-value]
        case _:
            return None
    return reduce(lambda a, b: a | b, conditions) if conditions else None


def path_spellings(path: str) -> set[str]:
    """The spellings of a path in Spark: a list of files has another one than a row."""
    if not path.startswith("file:/"):
        return {path}
    inner = path.removeprefix("file:").lstrip("/")
    return {f"file:/{inner}", f"file:///{inner}"}


def quote_name(name: str) -> str:
    """A column reference by name alone: a dot or a backtick in it is not syntax."""
    return "`" + name.replace("`", "``") + "`"
