"""Drawing the text of a query that Spark and DuckDB read alike.

Every name of a column is new, every column of a relation is qualified (except the `k` that USING
makes), and every order that cuts is total.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")
INT, STRING, DECIMAL, OTHER = "INT", "STRING", "DECIMAL(6,2)", "OTHER"
KINDS = (INT, STRING, DECIMAL)
Schema = Mapping[str, Mapping[str, str]]
"""The kind of every column of every table."""

FEATURES = frozenset(
    """
    inner join, left join, right join, full join, semi join, anti join, cross join, inner join using,
    left join using, right join using, full join using, natural join, self join, join without equality,
    derived table, values, in, not in, exists, not exists, in correlated, not in correlated,
    exists correlated, not exists correlated, in of pairs, in under or, not in under or,
    scalar subquery, scalar subquery correlated, scalar subquery ordered, exists as value, group by,
    aggregate of all rows, having, having with subquery, count distinct, filter, rollup, grouping sets,
    distinct, union, union all, intersect, intersect all, except, except all, cte, cte used twice,
    window rank, window row, window frame, window aggregate, window over groups, qualify, limit, offset,
    case, coalesce
    """.replace("\n    ", " ")
    .strip()
    .split(", ")
)
"""What a run of texts must have met."""


@dataclass(frozen=True)
class Column:
    """How a column is written, and what is in it."""

    text: str
    kind: str


@dataclass(frozen=True)
class Named:
    """A relation that FROM can name: a table or a CTE."""

    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Block:
    """A query and the columns it gives, by name."""

    text: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class From:
    """A FROM clause; `sources` are the tables in it, by name."""

    text: str
    columns: tuple[Column, ...]
    sources: tuple[str, ...]

    @property
    def outer(self) -> tuple[Column, ...]:
        """What a subquery may name: an unqualified `k` would mean the subquery's own."""
        return tuple(column for column in self.columns if "." in column.text)


class Texts:
    """One text in the making."""

    def __init__(self, chance: random.Random, schema: Schema) -> None:
        self.chance = chance
        self.features: set[str] = set()
        self._tables = [
            Named(name, tuple(Column(column, kind) for column, kind in columns.items()))
            for name, columns in schema.items()
        ]
        self._shared: list[Named] = []
        self._number = 0

    def whole(self) -> str:
        """The text, with its CTEs before it."""
        parts = []
        for _ in range(self._of({0: 6, 1: 3, 2: 1})):
            block = self._query(1)
            name = self._fresh("q")
            parts.append(f"{name} AS ({block.text})")
            self._shared.append(Named(name, block.columns))
        text = self._query(self.chance.randint(1, 2)).text
        for shared in self._shared:
            times = (text + " ".join(parts)).count(f" {shared.name} AS ") - 1
            self.features |= {"cte"} if times else set()
            self.features |= {"cte used twice"} if times > 1 else set()
        return f"WITH {', '.join(parts)} {text}" if parts else text

    def _query(self, depth: int) -> Block:
        if depth and self._maybe(0.2):
            return self._set_operation(depth)
        return self._block(depth)

    def _set_operation(self, depth: int) -> Block:
        kinds = [self.chance.choice(KINDS) for _ in range(self.chance.randint(1, 2))]
        names = [self._fresh("c") for _ in kinds]
        operator = self.chance.choice(("UNION", "INTERSECT", "EXCEPT")) + self.chance.choice(("", " ALL"))
        self._met(operator.lower())
        left, right = self._plain(depth - 1, kinds, names), self._plain(depth - 1, kinds, names)
        text = f"{left} {operator} {right}"
        if self._maybe(0.2):
            other = self.chance.choice(("UNION", "INTERSECT", "EXCEPT")) + self.chance.choice(("", " ALL"))
            self._met(other.lower())
            text = f"({text}) {other} {self._plain(0, kinds, names)}"
        return Block(text, tuple(Column(name, kind) for name, kind in zip(names, kinds, strict=True)))

    def _plain(self, depth: int, kinds: list[str], names: list[str]) -> str:
        source = self._from(depth)
        items = [
            f"{self._scalar(source.columns, kind)} AS {name}" for name, kind in zip(names, kinds, strict=True)
        ]
        return f"SELECT {', '.join(items)} FROM {source.text}{self._where(source, depth)}"

    def _block(self, depth: int) -> Block:
        source = self._from(depth)
        shapes = {
            self._rows: 4,
            self._grouped: 4,
            self._grouping_sets: 1,
            self._total: 1,
            self._window: 2,
            self._distinct: 1,
        }
        return self._of(shapes)(source, depth)

    # -- shapes of a block --------------------------------------------------------------------

    def _rows(self, source: From, depth: int) -> Block:
        items = [self._item(source, depth) for _ in range(self.chance.randint(1, 3))]
        block = self._select(items, source, self._where(source, depth))
        return self._first(block) if self._maybe(0.25) else block

    def _distinct(self, source: From, depth: int) -> Block:
        self._met("distinct")
        block = self._rows(source, depth)
        return replace(block, text=block.text.replace("SELECT", "SELECT DISTINCT", 1))

    def _grouped(self, source: From, depth: int) -> Block:
        self._met("group by")
        keys = self._keys(source, self.chance.randint(1, 2))
        calls = [self._aggregate(source.columns) for _ in range(self.chance.randint(0, 2))]
        if self._maybe(0.1):
            self._met("window over groups")
            order = ", ".join(self._ordered(key.text) for key in keys)
            inner = self._aggregate(source.columns, plain=True, kind=INT)
            calls.append(Column(f"sum({inner.text}) OVER (ORDER BY {order})", inner.kind))
        shown = [key for key in keys if self._maybe(0.85)]
        end = f"{self._where(source, depth)} GROUP BY {', '.join(key.text for key in keys)}"
        block = self._select([*shown, *calls] or keys, source, end + self._having(source, depth))
        return self._first(block) if self._maybe(0.15) else block

    def _grouping_sets(self, source: From, depth: int) -> Block:
        keys = self._keys(source, 2)
        first, last = keys[0].text, keys[-1].text
        sets = f"ROLLUP ({first})"
        if first != last:
            sets = self.chance.choice(
                (
                    f"ROLLUP ({first}, {last})",
                    f"GROUPING SETS (({first}, {last}), ({last}), ())",
                    f"{first}, ROLLUP ({last})",
                )
            )
        self._met("rollup" if "ROLLUP" in sets else "grouping sets")
        calls = [self._aggregate(source.columns) for _ in range(self.chance.randint(1, 2))]
        if self._maybe(0.5) and first != last:
            calls.append(Column(f"grouping({last})", INT))
        # Over no rows the standard has a grand total, and Spark none.
        end = f"{self._where(source, depth)} GROUP BY {sets} HAVING count(*) > 0"
        return self._select([*dict.fromkeys(keys), *calls], source, end)

    def _total(self, source: From, depth: int) -> Block:
        self._met("aggregate of all rows")
        calls = [self._aggregate(source.columns) for _ in range(self.chance.randint(1, 2))]
        having = self._having(source, 0) if self._maybe(0.2) else ""
        return self._select(calls, source, self._where(source, depth) + having)

    def _window(self, source: From, depth: int) -> Block:
        items = [self.chance.choice(source.columns), self._window_call(source)]
        items += [self._window_call(source)] if self._maybe(0.3) else []
        end = self._where(source, depth)
        if self._maybe(0.2):
            self._met("qualify")
            call = self._row_call(source)
            end += f" QUALIFY {call.text} {self.chance.choice(('<= 2', '= 1', '> 1'))}"
        return self._select(items, source, end)

    def _select(self, items: Sequence[Column], source: From, end: str) -> Block:
        columns = tuple(Column(self._fresh("c"), item.kind) for item in items)
        shown = [f"{item.text} AS {column.text}" for item, column in zip(items, columns, strict=True)]
        return Block(f"SELECT {', '.join(shown)} FROM {source.text}{end}", columns)

    def _first(self, block: Block) -> Block:
        self._met("limit")
        names = [column.text for column in block.columns]
        order = ", ".join(self._ordered(name) for name in self.chance.sample(names, len(names)))
        skip = ""
        if self._maybe(0.3):
            self._met("offset")
            skip = f" OFFSET {self.chance.randint(0, 2)}"
        return replace(block, text=f"{block.text} ORDER BY {order} LIMIT {self.chance.randint(1, 4)}{skip}")

    # -- FROM ---------------------------------------------------------------------------------

    def _from(self, depth: int) -> From:
        first = self._source(depth)
        count = self._of({0: 3, 1: 5, 2: 1})
        if not count:
            return first
        if self._maybe(0.25) and (merged := self._using()):
            return merged
        whole = first
        for _ in range(count):
            whole = self._joined(whole, self._source(depth - 1))
        return whole

    def _source(self, depth: int) -> From:
        alias = self._fresh("x")
        if depth > 0 and self._maybe(0.2):
            self._met("derived table")
            block = self._query(depth - 1)
            return From(f"({block.text}) AS {alias}", self._of_alias(alias, block.columns), ())
        if self._maybe(0.05):
            self._met("values")
            names = (Column(self._fresh("v"), INT), Column(self._fresh("v"), STRING))
            shown = ", ".join(name.text for name in names)
            return From(
                f"(VALUES (1, 'a'), (2, NULL), (1, 'b')) AS {alias}({shown})",
                self._of_alias(alias, names),
                (),
            )
        named = self.chance.choice([*self._tables, *self._shared, *self._shared])
        return From(f"{named.name} AS {alias}", self._of_alias(alias, named.columns), (named.name,))

    def _of_alias(self, alias: str, columns: Sequence[Column]) -> tuple[Column, ...]:
        return tuple(Column(f"{alias}.{column.text}", column.kind) for column in columns)

    def _joined(self, left: From, right: From) -> From:
        word = self._of({"INNER": 4, "LEFT": 4, "RIGHT": 2, "FULL": 3, "SEMI": 1, "ANTI": 2, "CROSS": 1})
        self._met(f"{word.lower()} join")
        if set(left.sources) & set(right.sources):
            self._met("self join")
        both = left.columns + right.columns
        on = "" if word == "CROSS" else f" ON {self._on(left.columns, right.columns)}"
        kept = left.columns if word in ("SEMI", "ANTI") else both
        return From(f"{left.text} {word} JOIN {right.text}{on}", kept, left.sources + right.sources)

    def _on(self, left: Sequence[Column], right: Sequence[Column]) -> str:
        pairs = [(one, other) for one in left for other in right if one.kind == other.kind != OTHER]
        if not pairs:
            return "TRUE"
        one, other = self.chance.choice(pairs)
        choice = self.chance.random()
        if choice < 0.15:
            self._met("join without equality")
            return f"{one.text} {self.chance.choice(('<', '>=', '<>'))} {other.text}"
        equality = f"{one.text} = {other.text}"
        if choice < 0.25:
            return f"{one.text} IS NOT DISTINCT FROM {other.text}"
        if choice < 0.45:
            return f"{equality} AND {self._condition((*left, *right), 0)}"
        if choice < 0.5:
            return f"({equality} OR {self._condition((*left, *right), 0)})"
        return equality

    def _using(self) -> From | None:
        one, other = self.chance.choice(self._tables), self.chance.choice(self._tables)
        if one == other:
            return None
        left, right = self._fresh("x"), self._fresh("x")
        word = self._of({"INNER": 2, "LEFT": 2, "RIGHT": 1, "FULL": 2, "NATURAL": 1})
        self._met("natural join" if word == "NATURAL" else f"{word.lower()} join using")
        using = "" if word == "NATURAL" else " USING (k)"
        columns = (
            Column("k", INT),
            *self._of_alias(left, one.columns),
            *self._of_alias(right, other.columns),
        )
        text = f"{one.name} AS {left} {word} JOIN {other.name} AS {right}{using}"
        return From(text, columns, (one.name, other.name))

    # -- conditions ---------------------------------------------------------------------------

    def _where(self, source: From, depth: int) -> str:
        if not self._maybe(0.6):
            return ""
        if depth > 0 and self._maybe(0.6):
            condition = self._asking(source)
            if self._maybe(0.3):
                condition += f" AND {self._condition(source.columns, 1)}"
            return f" WHERE {condition}"
        return f" WHERE {self._condition(source.columns, 1)}"

    def _condition(self, columns: Sequence[Column], depth: int) -> str:
        choice = self.chance.random()
        if depth and choice < 0.25:
            word = self.chance.choice(("AND", "OR"))
            return f"({self._condition(columns, 0)} {word} {self._condition(columns, 0)})"
        if depth and choice < 0.35:
            return f"NOT ({self._condition(columns, 0)})"
        kind = self._kind(columns)
        value = self._scalar(columns, kind, depth)
        if choice < 0.45:
            return f"{value} IS {self.chance.choice(('', 'NOT '))}NULL"
        if choice < 0.55:
            items = ", ".join(self._literal(kind) for _ in range(2))
            return f"{value} {self.chance.choice(('', 'NOT '))}IN ({items})"
        if choice < 0.6 and kind == STRING:
            return f"{value} LIKE {self.chance.choice(('a%', '%b', '_')).join(chr(39) * 2)}"
        if choice < 0.65:
            return f"{value} BETWEEN {self._literal(kind)} AND {self._scalar(columns, kind, 0)}"
        if choice < 0.7:
            word = self.chance.choice(("", "NOT "))
            return f"{value} IS {word}DISTINCT FROM {self._scalar(columns, kind, 0)}"
        operator = self.chance.choice(("=", "<>", "<", "<=", ">", ">="))
        return f"{value} {operator} {self._scalar(columns, kind, 0)}"

    def _asking(self, source: From) -> str:
        """A condition with a subquery."""
        kinds = {self._exists: 3, self._in: 4, self._pairs: 1, self._compared: 3}
        return self._of(kinds)(source)

    def _exists(self, source: From) -> str:
        word = self.chance.choice(("EXISTS", "NOT EXISTS"))
        inner = self._source(0)
        related = self._related(inner, source, 0.8)
        self._met(f"{word.lower()}{' correlated' if related else ''}")
        more = []
        if related and self._maybe(0.3):
            outer = self.chance.choice(source.outer)
            pairs = [column for column in inner.columns if column.kind == outer.kind != OTHER]
            more = [f"{self.chance.choice(pairs).text} <= {outer.text}"] if pairs else []
        return f"{word} (SELECT 1 FROM {inner.text}{self._inner_where(inner, [*related, *more])})"

    def _in(self, source: From) -> str:
        word = self.chance.choice(("IN", "NOT IN"))
        kind = self._kind(source.columns)
        value = self._scalar(source.columns, kind, 0)
        inner = self._source(0)
        related = self._related(inner, source, 0.3)
        self._met(f"{word.lower()}{' correlated' if related else ''}")
        item = self._scalar(inner.columns, kind, 0)
        text = f"SELECT {item} AS {self._fresh('c')} FROM {inner.text}{self._inner_where(inner, related)}"
        if not related and self._maybe(0.2):
            other = self._source(0)
            text += f" UNION SELECT {self._scalar(other.columns, kind, 0)} FROM {other.text}"
        condition = f"{value} {word} ({text})"
        if self._maybe(0.2):
            self._met(f"{word.lower()} under or")
            return f"({self._condition(source.columns, 0)} OR {condition})"
        return condition

    def _pairs(self, source: From) -> str:
        self._met("in of pairs")
        kinds = [self._kind(source.columns), INT]
        inner = self._source(0)
        ours = ", ".join(self._scalar(source.columns, kind, 0) for kind in kinds)
        theirs = ", ".join(f"{self._scalar(inner.columns, kind, 0)} AS {self._fresh('c')}" for kind in kinds)
        return f"({ours}) IN (SELECT {theirs} FROM {inner.text}{self._inner_where(inner, [])})"

    def _compared(self, source: From) -> str:
        subquery = self._one_value(source)
        kind = INT if subquery.kind == OTHER else subquery.kind
        operator = self.chance.choice(("=", "<", ">=", "<>"))
        return f"{self._scalar(source.columns, kind, 0)} {operator} {subquery.text}"

    def _one_value(self, source: From) -> Column:
        """A subquery of one row at most."""
        inner = self._source(0)
        if self._maybe(0.2):
            self._met("scalar subquery ordered")
            column = self.chance.choice(inner.columns)
            order = f"ORDER BY {self._ordered(column.text)} LIMIT 1"
            where = self._inner_where(inner, [])
            return Column(f"(SELECT {column.text} FROM {inner.text}{where} {order})", column.kind)
        related = self._related(inner, source, 0.6)
        self._met(f"scalar subquery{' correlated' if related else ''}")
        call = self._aggregate(inner.columns, plain=True)
        return Column(f"(SELECT {call.text} FROM {inner.text}{self._inner_where(inner, related)})", call.kind)

    def _related(self, inner: From, source: From, odds: float) -> list[str]:
        pairs = [(a, b) for a in inner.columns for b in source.outer if a.kind == b.kind != OTHER]
        if not pairs or not self._maybe(odds):
            return []
        own, outer = self.chance.choice(pairs)
        return [f"{own.text} = {outer.text}"]

    def _inner_where(self, inner: From, conditions: list[str]) -> str:
        if self._maybe(0.3):
            conditions = [*conditions, self._condition(inner.columns, 0)]
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _having(self, source: From, depth: int) -> str:
        if not self._maybe(0.35):
            return ""
        self._met("having")
        call = self._aggregate(source.columns, plain=True)
        if depth > 0 and self._maybe(0.3):
            self._met("having with subquery")
            inner = self._source(0)
            other = self._aggregate(inner.columns, plain=True, kind=call.kind)
            return f" HAVING {call.text} >= (SELECT {other.text} FROM {inner.text})"
        return f" HAVING {call.text} {self.chance.choice(('>', '<=', '<>'))} {self._literal(call.kind)}"

    # -- values -------------------------------------------------------------------------------

    def _item(self, source: From, depth: int) -> Column:
        choice = self.chance.random()
        if depth > 0 and choice < 0.15:
            return self._one_value(source)
        if depth > 0 and choice < 0.2:
            self._met("exists as value")
            return Column(self._exists(source), OTHER)
        if choice < 0.25:
            return Column(self._condition(source.columns, 0), OTHER)
        kind = self._kind(source.columns)
        return Column(self._scalar(source.columns, kind), kind)

    def _scalar(self, columns: Sequence[Column], kind: str, depth: int = 1) -> str:
        """A value of a kind; without depth a column where there is one."""
        fitting = [column.text for column in columns if column.kind == kind]
        if depth and self._maybe(0.35):
            return self._computed(columns, kind)
        if fitting and self._maybe(0.9):
            return self.chance.choice(fitting)
        return self._literal(kind)

    def _computed(self, columns: Sequence[Column], kind: str) -> str:
        one, other = self._scalar(columns, kind, 0), self._scalar(columns, kind, 0)
        choice = self.chance.random()
        if choice < 0.25:
            self._met("coalesce")
            return f"coalesce({one}, {other}, {self._literal(kind)})"
        if choice < 0.5:
            self._met("case")
            default = f" ELSE {other}" if self._maybe(0.7) else ""
            return f"CASE WHEN {self._condition(columns, 0)} THEN {one}{default} END"
        if choice < 0.6:
            return f"nullif({one}, {other})"
        if kind == STRING:
            return self.chance.choice((f"upper({one})", f"({one} || {other})", f"lower({one})"))
        if kind == DECIMAL:
            return self.chance.choice((f"({one} + {other})", f"({one} - {other})", f"abs({one})"))
        texts = [column.text for column in columns if column.kind == STRING]
        length = [f"length({self.chance.choice(texts)})"] if texts else []
        return self.chance.choice(
            [f"({one} + {other})", f"({one} - {other})", f"({one} * 2)", f"({one} % 2)", *length]
        )

    def _kind(self, columns: Sequence[Column]) -> str:
        """A kind that some column has, mostly."""
        return self.chance.choice([*(column.kind for column in columns if column.kind != OTHER)] or KINDS)

    def _literal(self, kind: str) -> str:
        if kind == STRING:
            return self.chance.choice(("'a'", "'b'", "'ab'"))
        return self.chance.choice(("0.50", "1.00", "2.50") if kind == DECIMAL else ("0", "1", "2"))

    def _keys(self, source: From, count: int) -> list[Column]:
        """Group keys: never a bare number, which would be a place in the SELECT list."""
        keys = []
        for _ in range(count):
            column = self.chance.choice(source.columns)
            if column.kind == INT and self._maybe(0.2):
                column = Column(f"({column.text} % 2)", INT)
            keys.append(column)
        return list(dict.fromkeys(keys))

    def _aggregate(
        self, columns: Sequence[Column], *, plain: bool = False, kind: str | None = None
    ) -> Column:
        kind = kind or self._kind(columns)
        value = self._scalar(columns, kind)
        functions = {"min": 2, "max": 2} if kind == STRING else {"sum": 4, "min": 2, "max": 2}
        function = self._of(functions)
        if not plain and self._maybe(0.35):
            function, kind = self._of({"count": 3, "avg": 1}), INT
            value = self._scalar(columns, INT) if function == "avg" else value
        if kind == INT and self._maybe(0.25):
            return Column("count(*)" + self._filter(columns, plain), INT)
        if plain or function in ("min", "max", "avg"):
            text = f"{function}({value})" + self._filter(columns, plain)
        elif self._maybe(0.3):
            self._met("count distinct")
            text = f"{function}(DISTINCT {value})"
        else:
            text = f"{function}({value})" + self._filter(columns, plain)
        return Column(text, OTHER if function == "avg" else kind)

    def _filter(self, columns: Sequence[Column], plain: bool) -> str:
        if plain or not self._maybe(0.2):
            return ""
        self._met("filter")
        return f" FILTER (WHERE {self._condition(columns, 0)})"

    # -- windows ------------------------------------------------------------------------------

    def _window_call(self, source: From) -> Column:
        choice = self.chance.random()
        kind = self.chance.choice((INT, DECIMAL))
        value = self._scalar(source.columns, kind)
        if choice < 0.25:
            self._met("window rank")
            order = self._ordered(self.chance.choice(source.columns).text)
            function = self.chance.choice(("rank", "dense_rank"))
            return Column(f"{function}() OVER ({self._partition(source)}ORDER BY {order})", INT)
        if choice < 0.5:
            return self._row_call(source)
        if choice < 0.75:
            self._met("window aggregate")
            order = self._ordered(self.chance.choice(source.columns).text)
            function = self.chance.choice(("sum", "max"))
            end = f"ORDER BY {order}" if self._maybe(0.5) else ""
            return Column(f"{function}({value}) OVER ({self._partition(source)}{end})", kind)
        self._met("window frame")
        frame = self.chance.choice(
            (
                "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
                "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            )
        )
        function = self.chance.choice(("sum", "min", "first_value", "last_value"))
        return Column(
            f"{function}({value}) OVER ({self._partition(source)}{self._total_order(source)} {frame})", kind
        )

    def _row_call(self, source: From) -> Column:
        self._met("window row")
        column = self.chance.choice(source.columns)
        calls = {
            Column("row_number()", INT): 2,
            Column(f"lag({column.text})", column.kind): 1,
            Column(f"lead({column.text}, 2)", column.kind): 1,
        }
        call = self._of(calls)
        if call.kind not in (INT, DECIMAL):
            call = Column("row_number()", INT)
        return Column(f"{call.text} OVER ({self._partition(source)}{self._total_order(source)})", call.kind)

    def _partition(self, source: From) -> str:
        return f"PARTITION BY {self.chance.choice(source.columns).text} " if self._maybe(0.6) else ""

    def _total_order(self, source: From) -> str:
        columns = self.chance.sample(source.columns, len(source.columns))
        return "ORDER BY " + ", ".join(self._ordered(column.text) for column in columns)

    def _ordered(self, text: str) -> str:
        direction = self.chance.choice(("ASC", "DESC"))
        return f"{text} {direction} NULLS {self.chance.choice(('FIRST', 'LAST'))}"

    # -- chance -------------------------------------------------------------------------------

    def _maybe(self, odds: float) -> bool:
        return self.chance.random() < odds

    def _of(self, odds: Mapping[T, int]) -> T:
        return self.chance.choices(list(odds), list(odds.values()))[0]

    def _fresh(self, letter: str) -> str:
        self._number += 1
        return f"{letter}{self._number}"

    def _met(self, feature: str) -> None:
        self.features.add(feature)
