"""What a table, a namespace and a column may be called.

A name is checked once, when it is made, and is safe from then on: `TableName` can't be built wrong. Names are
folded to lower case, as Spark's own catalogs do, so that two names never differ in case alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from anabranch.errors import InvalidName

DEFAULT_NAMESPACE = "main"
MAX_NAME_LENGTH = 128
MAX_REMEMBERED = 16_384
HIDDEN_PREFIX = "__"
"""Columns that begin so belong to anabranch."""
WEIGHT = HIDDEN_PREFIX + "weight"
"""The column of a change that says how often a row came (above zero) or went (below)."""
FILE, POSITION = HIDDEN_PREFIX + "file", HIDDEN_PREFIX + "position"
"""The columns that say where a row is stored: the path of a file, and a place in it that counts from zero."""

TAKEN_COLUMNS = frozenset({"_metadata", "_weight", "_change_type"})
"""Names that columns of a table can't have: Spark shows where a row is stored, and we what changed."""

_TABLE_PART = re.compile(r"[a-z_][a-z0-9_]*")
_COLUMN = re.compile(r"[^\W\d]\w*")
_HIDDEN_COLUMN = re.compile(r"__h\d+")

# Words that the SQL standard reserves; as a table's name they would need quoting in every query.
RESERVED = frozenset(
    """
    all alter and anti any array as asc at between both by case cast check collate column commit
    constraint create cross cube current current_date current_time current_timestamp current_user
    date dec decimal default delete desc describe distinct drop else end escape except exists
    explain external false fetch filter for foreign from full function grant group grouping having
    in inner insert intersect interval into is join lateral leading left like limit local merge
    minus natural no not null of offset on only or order out outer overlaps partition position
    primary qualify range recursive references refresh revoke right rollback rollup row rows select
    semi session_user set show some start stream table tablesample then time timestamp to trailing
    trim true truncate union unique unknown update user using values view when where window with
    """.split()
)


@dataclass(frozen=True, order=True)
class TableName:
    """`table` or `namespace.table`, checked and folded to lower case.

    >>> str(TableName.parse("Orders")), str(TableName.parse("sales.orders"))
    ('orders', 'sales.orders')
    """

    namespace: str
    table: str

    def __post_init__(self) -> None:
        for part, what in ((self.namespace, "namespace"), (self.table, "table")):
            _check_table_part(part, what)
        # Names are looked up all the time: thousands of times in every tick over many tables.
        object.__setattr__(self, "_hash", hash((self.namespace, self.table)))

    def __hash__(self) -> int:
        found: int = self.__dict__["_hash"]
        return found

    def __reduce__(self) -> tuple[type[TableName], tuple[str, str]]:
        # A hash is no other process's business.
        return TableName, (self.namespace, self.table)

    @classmethod
    @lru_cache(maxsize=MAX_REMEMBERED)
    def intern(cls, namespace: str, table: str) -> TableName:
        """A name as the ledger has it: the same object every time, which is found without comparing."""
        return cls(namespace, table)

    @classmethod
    def parse(cls, text: str | TableName) -> TableName:
        """Read `table` or `namespace.table`; anything else is an `InvalidName`."""
        if isinstance(text, TableName):
            return text
        if not isinstance(text, str):
            raise InvalidName(f"a table name must be text, not {type(text).__name__}")
        if len(text) > 2 * MAX_NAME_LENGTH + 1:
            raise InvalidName(
                f"the name {_quote_name(text)} is too long", detail=f"{len(text)} characters in all."
            )
        # Outside ASCII folding is not what it seems: the Kelvin sign would become a plain k.
        parts = (text.lower() if text.isascii() else text).split(".")
        match parts:
            case [table]:
                return cls.intern(DEFAULT_NAMESPACE, table)
            case [namespace, table]:
                return cls.intern(namespace, table)
            case _:
                raise InvalidName(
                    f"the name {_quote_name(text)} has {len(parts)} parts",
                    hint="write `table` or `namespace.table`.",
                )

    @property
    def as_tuple(self) -> tuple[str, str]:
        """Namespace and table."""
        return (self.namespace, self.table)

    def __str__(self) -> str:
        return self.table if self.namespace == DEFAULT_NAMESPACE else f"{self.namespace}.{self.table}"


def check_column_name(name: object) -> str:
    """A column's (or struct field's) name, unchanged, or an `InvalidName`."""
    if not isinstance(name, str):
        raise InvalidName(f"a column name must be text, not {type(name).__name__}")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidName(
            f"the column name {_quote_name(name)} is too long",
            detail=f"{len(name)} characters; {MAX_NAME_LENGTH} are allowed.",
        )
    if not _COLUMN.fullmatch(name):
        raise InvalidName(
            f"the column name {_quote_name(name)} is not a plain identifier",
            hint="letters, digits and underscores; in a query, give the column an alias (AS name).",
        )
    if name.startswith(HIDDEN_PREFIX):
        raise InvalidName(
            f"the column name {_quote_name(name)} begins with two underscores",
            hint="those names are kept for anabranch's own columns.",
        )
    return name


def check_hidden_name(name: str) -> str:
    """The name of a column that a stream table stores for itself."""
    if not _HIDDEN_COLUMN.fullmatch(name):
        raise InvalidName(f"the column name {_quote_name(name)} is not that of a hidden column")
    return name


def fold(name: str) -> str:
    """A column's name as Spark compares it: letter by letter, in upper and then in lower case.

    >>> fold("Größe"), fold("ı"), fold("ſ")
    ('größe', 'i', 's')
    """
    return "".join((c.upper() if len(c.upper()) == 1 else c).lower()[0] for c in name)


def _check_table_part(part: str, what: str) -> None:
    if len(part) > MAX_NAME_LENGTH:
        raise InvalidName(
            f"the {what} name {_quote_name(part)} is too long",
            detail=f"{len(part)} characters; {MAX_NAME_LENGTH} are allowed.",
        )
    if not _TABLE_PART.fullmatch(part):
        raise InvalidName(
            f"the {what} name {_quote_name(part)} is not a plain identifier",
            hint="use letters a-z, digits and underscores, and begin with a letter.",
        )
    if part.startswith(HIDDEN_PREFIX):
        raise InvalidName(
            f"the {what} name {_quote_name(part)} begins with two underscores",
            hint="those names are kept for anabranch's own tables.",
        )
    if part in RESERVED:
        raise InvalidName(
            f"the {what} name {_quote_name(part)} is a reserved word of SQL",
            hint=f"choose another one, for example {part}_table.",
        )


def _quote_name(text: str) -> str:
    short = text if len(text) <= 40 else text[:37] + "..."
    return ascii(short).replace("'", '"', 1)[:-1] + '"'
