"""The schema of a table: columns, in Spark's types, as frozen values.

Spark's own JSON form of a schema is the common language: the engine reads and writes it without a
running Java, and the lake stores it. Storage and engine translate these values to theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from anabranch.errors import InvalidName, InvalidSchema, UnsupportedType
from anabranch.names import HIDDEN_PREFIX, TAKEN_COLUMNS, check_column_name, check_hidden_name, fold

MAX_COLUMNS = 2_000
MAX_TYPE_DEPTH = 50
MAX_DECIMAL_PRECISION = 38


@dataclass(frozen=True)
class Atomic:
    """A type without parts, under Spark's SQL name: `bigint`, `string`, `timestamp_ntz`, …"""

    name: str

    def __post_init__(self) -> None:
        if self.name not in _ATOMIC_JSON:
            raise UnsupportedType(
                f"a table can't hold the type {self.name.upper()}",
                detail="Iceberg tables of format 2 have no such type.",
                hint="cast the column, for example to STRING or BIGINT.",
            )

    def __str__(self) -> str:
        return self.name.upper()


@dataclass(frozen=True)
class Decimal:
    """`DECIMAL(precision, scale)`, exact."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not 1 <= self.precision <= MAX_DECIMAL_PRECISION or not 0 <= self.scale <= self.precision:
            raise InvalidSchema(
                f"DECIMAL({self.precision},{self.scale}) doesn't exist",
                hint=f"precision 1 to {MAX_DECIMAL_PRECISION}, scale 0 to the precision.",
            )

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True)
class Array:
    """A list of elements, which may be NULL unless `nullable` is off."""

    element: Type
    nullable: bool = True

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class Map:
    """Keys, never NULL, with values, which may be NULL unless `nullable` is off."""

    key: Type
    value: Type
    nullable: bool = True

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class Struct:
    """Named fields."""

    fields: tuple[Column, ...]

    def __post_init__(self) -> None:
        _check_fields(self.fields, "struct")

    def __str__(self) -> str:
        inner = ", ".join(
            f"{field.name}: {field.type}{'' if field.nullable else ' NOT NULL'}" for field in self.fields
        )
        return f"STRUCT<{inner}>"


Type = Atomic | Decimal | Array | Map | Struct


@dataclass(frozen=True)
class Column:
    """A column of a table or a field of a struct."""

    name: str
    type: Type
    nullable: bool = True
    comment: str | None = None
    hidden: bool = False
    """Whether a stream table keeps it for itself: readers don't see it."""

    def __post_init__(self) -> None:
        (check_hidden_name if self.hidden else check_column_name)(self.name)

    def __str__(self) -> str:
        return f"{self.name} {self.type}{'' if self.nullable else ' NOT NULL'}"


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order; names are unique regardless of case."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        _check_fields(self.columns, "table")
        for name in self.names:
            if name.lower() in TAKEN_COLUMNS:
                raise InvalidName(
                    f'a column of a table can\'t be called "{name}"',
                    hint="that name is kept for what Spark or anabranch tells about a row.",
                )
        if len(self.columns) > MAX_COLUMNS:
            raise InvalidSchema(f"{len(self.columns)} columns; {MAX_COLUMNS} are allowed")

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        return ", ".join(str(column) for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, as declared."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def visible(self) -> Schema:
        """Without the columns that readers don't see."""
        if not any(column.hidden for column in self.columns):
            return self
        return Schema(tuple(column for column in self.columns if not column.hidden))

    def find(self, name: str) -> Column | None:
        """The column of that name, whatever its case."""
        folded = name.lower()
        return next((column for column in self.columns if column.name.lower() == folded), None)

    def to_json(self) -> dict[str, Any]:
        """Spark's JSON form, from which `StructType.fromJson` makes a StructType."""
        return {"type": "struct", "fields": [_field_to_json(column) for column in self.columns]}

    @classmethod
    def from_json(cls, value: dict[str, Any], *, hidden: bool = False) -> Schema:
        """The schema that `StructType.jsonValue()` describes; `hidden`: it may have hidden columns."""
        return cls(tuple(_field_from_json(field, 0, hidden=hidden) for field in value["fields"]))


_ATOMIC_JSON = {
    "boolean": "boolean",
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "time": "time(6)",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}
_ATOMIC_NAME = {json: name for name, json in _ATOMIC_JSON.items()}
_ATOMIC_NAME["timestamp_ltz"] = "timestamp"

ATOMIC_NAMES = frozenset(_ATOMIC_JSON)


def _check_fields(fields: tuple[Column, ...], what: str) -> None:
    if not fields:
        raise InvalidSchema(f"a {what} needs at least one {'column' if what == 'table' else 'field'}")
    seen: set[str] = set()
    for field in fields:
        if fold(field.name) in seen:
            raise InvalidSchema(
                f'the name "{field.name}" stands twice in one {what}',
                detail="names that differ only in case are the same name.",
            )
        seen.add(fold(field.name))


def _field_to_json(column: Column) -> dict[str, Any]:
    metadata = {} if column.comment is None else {"comment": column.comment}
    return {
        "name": column.name,
        "type": _type_to_json(column.type),
        "nullable": column.nullable,
        "metadata": metadata,
    }


def _type_to_json(kind: Type) -> Any:
    match kind:
        case Atomic(name):
            return _ATOMIC_JSON[name]
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Array(element, nullable):
            return {"type": "array", "elementType": _type_to_json(element), "containsNull": nullable}
        case Map(key, value, nullable):
            return {
                "type": "map",
                "keyType": _type_to_json(key),
                "valueType": _type_to_json(value),
                "valueContainsNull": nullable,
            }
        case Struct(fields):
            return {"type": "struct", "fields": [_field_to_json(field) for field in fields]}


def _field_from_json(field: dict[str, Any], depth: int, *, hidden: bool = False) -> Column:
    metadata = field.get("metadata", {})
    comment = metadata.get("comment")
    if "__COLLATIONS" in metadata:
        raise UnsupportedType(
            f'the column "{field["name"]}" has a collation',
            detail="a table would store its text without it.",
            hint="use STRING, and collate in the query.",
        )
    kind = _type_from_json(field["type"], depth + 1)
    name = field["name"]
    return Column(name, kind, field["nullable"], comment, hidden and name.startswith(HIDDEN_PREFIX))


def _type_from_json(value: Any, depth: int) -> Type:
    if depth > MAX_TYPE_DEPTH:
        raise InvalidSchema(f"a type is nested deeper than {MAX_TYPE_DEPTH} levels")
    if isinstance(value, str):
        if value.startswith("decimal(") and value.endswith(")"):
            precision, scale = value[len("decimal(") : -1].split(",")
            return Decimal(int(precision), int(scale))
        return Atomic(_ATOMIC_NAME.get(value, value))
    match value["type"]:
        case "array":
            return Array(_type_from_json(value["elementType"], depth + 1), value["containsNull"])
        case "map":
            return Map(
                _type_from_json(value["keyType"], depth + 1),
                _type_from_json(value["valueType"], depth + 1),
                value["valueContainsNull"],
            )
        case "struct":
            return Struct(tuple(_field_from_json(field, depth + 1) for field in value["fields"]))
        case other:
            raise UnsupportedType(f"a table can't hold the type {other}")


def has_map(kind: Type) -> bool:
    """Whether there is a map in a type: rows with maps can't be compared as they are."""
    return any(isinstance(part, Map) for part in _nested_types(kind))


def has_floats(kind: Type) -> bool:
    """Whether there is floating point in a type, where the order of additions shows."""
    return any(part in (Atomic("float"), Atomic("double")) for part in _nested_types(kind))


def _nested_types(kind: Type) -> Iterator[Type]:
    yield kind
    match kind:
        case Array(element, _):
            yield from _nested_types(element)
        case Map(key, value, _):
            yield from _nested_types(key)
            yield from _nested_types(value)
        case Struct(fields):
            for field in fields:
                yield from _nested_types(field.type)
        case _:
            pass


# -- store assignment -----------------------------------------------------------------------------

_NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double")
_DATETIME = ("date", "timestamp", "timestamp_ntz")


def can_store(value: Type, column: Type) -> bool:
    """Whether SQL lets a value of one type be stored in a column of another without a cast.

    The rule is the ANSI one that Spark uses for INSERT: numbers go into numbers (what doesn't fit
    is an error when it happens), dates and timestamps into each other, anything plain into STRING,
    and text into nothing but STRING.

    >>> can_store(Atomic("int"), Decimal(10, 2)), can_store(Atomic("string"), Atomic("int"))
    (True, False)
    """
    match value, column:
        case (Atomic() | Decimal(), Atomic("string")):
            return value != Atomic("binary")
        case (Atomic(source), Atomic(target)):
            return (
                source == target
                or (source in _NUMERIC and target in _NUMERIC)
                or (source in _DATETIME and target in _DATETIME)
            )
        case (Decimal(), Atomic(target)):
            return target in _NUMERIC
        case (Atomic(source), Decimal()):
            return source in _NUMERIC
        case (Decimal(), Decimal()):
            return True
        case (Array(source_element, _), Array(target_element, _)):
            return can_store(source_element, target_element)
        case (Map(source_key, source_value, _), Map(target_key, target_value, _)):
            return can_store(source_key, target_key) and can_store(source_value, target_value)
        case (Struct(source_fields), Struct(target_fields)):
            return len(source_fields) == len(target_fields) and all(
                a.name.lower() == b.name.lower() and can_store(a.type, b.type)
                for a, b in zip(source_fields, target_fields, strict=True)
            )
        case _:
            return False
