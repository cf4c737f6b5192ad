"""Rounds of changes to TPC-H's tables, as values: drawn from a seed, replayed on Arrow, applied to a lake.

A round never splits a key: of the rows that agree in the key, all are deleted or none. So a lake can
apply it by key, and the bags still agree: after = before - deleted + updated + inserted.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import anabranch as ab

Row = dict[str, Any]
Contents = Mapping[str, pa.Table]
Keys = Mapping[str, tuple[str, ...]]

KEYS: Keys = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
GONE = "gone"
_PLACE = "__place"

# -- rounds as values -------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """What happens to one table. Every key of `updated` is also in `deleted`; `inserted` may have any."""

    key: tuple[str, ...]
    deleted: pa.Table
    updated: pa.Table
    inserted: pa.Table

    @property
    def rows(self) -> int:
        """How many rows go or come."""
        return sum(rows.num_rows for rows in (self.deleted, self.updated, self.inserted))


@dataclass(frozen=True)
class Round:
    """What happens to all tables in one transaction."""

    changes: Mapping[str, Change]

    @property
    def rows(self) -> int:
        """How many rows go or come."""
        return sum(change.rows for change in self.changes.values())


def contents_of(lake: ab.Lake, keys: Keys = KEYS) -> Contents:
    """What the tables hold now, all at one lsn."""
    with lake.snapshot() as snapshot:
        return {name: snapshot.arrow(name) for name in keys}


def replayed(contents: Contents, change_round: Round) -> Contents:
    """The contents after a round."""
    after = dict(contents)
    for name, change in change_round.changes.items():
        kept = _without_keys(after[name], change.deleted, change.key)
        after[name] = pa.concat_tables([kept, change.updated, change.inserted]).combine_chunks()
    return after


def apply_round(lake: ab.Lake, change_round: Round) -> int | None:
    """Do to a lake what a round says, in one transaction: per table at most one merge and one insert."""
    with lake.transaction() as tx:
        for name, change in change_round.changes.items():
            if change.deleted.num_rows:
                tx.merge(name, _merged(change), on=list(change.key), delete_when=GONE)
            if change.inserted.num_rows:
                tx.insert(name, change.inserted)
    return tx.lsn


def _merged(change: Change) -> pa.Table:
    """A row per key: its new values, or what was there, marked as gone."""
    gone = _first_of_key(_without_keys(change.deleted, change.updated, change.key), change.key)
    marked = [
        rows.append_column(GONE, pa.array([flag] * rows.num_rows, pa.bool_()))
        for rows, flag in ((change.updated, False), (gone, True))
    ]
    return pa.concat_tables(marked)


def _with_keys(rows: pa.Table, others: pa.Table, key: Sequence[str]) -> pa.Table:
    """The rows whose key is among the others'."""
    found = _numbered(rows, key).join(others.select(key), keys=list(key), join_type="left semi")
    return rows.take(found[_PLACE].combine_chunks().sort())


def _without_keys(rows: pa.Table, others: pa.Table, key: Sequence[str]) -> pa.Table:
    """The rows whose key is not among the others'."""
    found = _numbered(rows, key).join(others.select(key), keys=list(key), join_type="left anti")
    return rows.take(found[_PLACE].combine_chunks().sort())


def _first_of_key(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """The first row of every key."""
    first = _numbered(rows, key).group_by(list(key)).aggregate([(_PLACE, "min")])
    return rows.take(first[f"{_PLACE}_min"].combine_chunks().sort())


def _numbered(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """The keys with their places: joins give back no order, and don't take every type along."""
    return rows.select(key).append_column(_PLACE, pa.array(np.arange(rows.num_rows)))


# -- drawing a round --------------------------------------------------------------------------


class Draft:
    """A round in the making: picks rows of the contents, and notes what becomes of them."""

    def __init__(
        self,
        contents: Contents,
        keys: Keys,
        chance: random.Random,
        sampled: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`sampled`: the tables of which the contents are a part: one of so many."""
        # A lake gives rows back in any order; the same rows must give the same round.
        self.contents = {
            name: contents[name].sort_by([(column, "ascending") for column in key])
            for name, key in keys.items()
        }
        self.chance = chance
        self._sampled = sampled
        self._keys = keys
        self._fates: dict[str, dict[tuple[Any, ...], Row | None]] = {name: {} for name in keys}
        self._inserted: dict[str, list[Row]] = {name: [] for name in keys}
        self._numbers: dict[tuple[str, str], Iterator[int]] = {}
        self._twins: dict[str, list[Row]] = {}

    def pick(self, table: str, count: int, where: pc.Expression | None = None) -> list[Row]:
        """Up to `count` rows of different keys that nothing was decided about yet."""
        found = self.contents[table] if where is None else self.contents[table].filter(where)
        picked: dict[tuple[Any, ...], Row] = {}
        tries = min(found.num_rows, 2 * count + 20)
        places = self.chance.sample(range(found.num_rows), tries)
        for row in found.take(pa.array(places, pa.int64())).to_pylist():
            if len(picked) < count and (key := self._key(table, row)) not in self._fates[table]:
                picked.setdefault(key, row)
        return list(picked.values())

    def all(self, table: str, where: pc.Expression) -> list[Row]:
        """Every row that a condition holds for and that is not gone, a row per key, with its new values."""
        rows = {self._key(table, row): row for row in self.contents[table].filter(where).to_pylist()}
        fated = (self._fates[table].get(key, row) for key, row in rows.items())
        return [row for row in fated if row is not None]

    def of(self, table: str, column: str, values: Iterable[Any]) -> dict[Any, list[Row]]:
        """The same for every row whose column has one of the values, by value."""
        found: dict[Any, list[Row]] = {value: [] for value in values}
        for row in self.all(table, pc.field(column).isin(list(found))):
            found[row[column]].append(row)
        return found

    def share(self, table: str, share: float) -> int:
        """That share of a table in rows, one at least."""
        return max(1, int(self.contents[table].num_rows * self._sampled.get(table, 1) * share + 0.5))

    def next_number(self, table: str, column: str) -> int:
        """A number above all that stand in a column, another one each time."""
        place = (table, column)
        if place not in self._numbers:
            self._numbers[place] = itertools.count((pc.max(self.contents[table][column]).as_py() or 0) + 1)
        return next(self._numbers[place])

    def update(self, table: str, row: Row, **values: Any) -> None:
        """Give a row new values, or none: then it is updated to itself."""
        key = self._key(table, row)
        now = self._fates[table].get(key, row)
        if now is not None:
            self._fates[table][key] = {**now, **values}

    def delete(self, table: str, row: Row) -> None:
        """Remove a row, and all that share its key."""
        self._fates[table][self._key(table, row)] = None

    def insert(self, table: str, row: Row, **values: Any) -> None:
        """Add a row; if there is one of its key, beside it."""
        self._inserted[table].append({**row, **values})

    def reinsert(self, table: str, row: Row) -> None:
        """Remove a row with all that share its key, and add it anew, once."""
        self.delete(table, row)
        self.insert(table, row)

    def twins(self, table: str) -> list[Row]:
        """One row of each key that stands there more than once."""
        if table not in self._twins:
            held, key = self.contents[table], list(self._keys[table])
            counts = held.select(key).group_by(key).aggregate([([], "count_all")])
            several = _with_keys(held, counts.filter(pc.field("count_all") > 1), key)
            self._twins[table] = _first_of_key(several, key).to_pylist()
        return self._twins[table]

    def finish(self) -> Round:
        """The round, with all rows of every key that is touched."""
        return Round({name: self._change(name) for name in self._keys})

    def _key(self, table: str, row: Row) -> tuple[Any, ...]:
        return tuple(row[column] for column in self._keys[table])

    def _change(self, table: str) -> Change:
        held, fates, key = self.contents[table], self._fates[table], self._keys[table]
        columns = [pa.array(values, held.schema.field(c).type) for c, values in self._columns(table, fates)]
        touched = pa.table(columns, names=list(key))
        several = {self._key(table, row) for row in self.twins(table)}
        new = {place: row for place, row in fates.items() if row is not None}
        # A merge would give every copy the new values; a row that had twins has none afterwards.
        added = [row for place, row in new.items() if place in several] + self._inserted[table]
        updated = [row for place, row in new.items() if place not in several]
        return Change(
            key,
            _with_keys(held, touched, key),
            pa.Table.from_pylist(updated, schema=held.schema),
            pa.Table.from_pylist(added, schema=held.schema),
        )

    def _columns(self, table: str, fates: Iterable[tuple[Any, ...]]) -> list[tuple[str, list[Any]]]:
        return [(c, [place[i] for place in fates]) for i, c in enumerate(self._keys[table])]


# -- TPC-H's refresh functions ----------------------------------------------------------------


def refresh_functions(contents: Contents, number: int, fraction: float, seed: int = 0) -> Round:
    """RF1 and RF2: a fraction of new orders with their lineitems comes, as many old ones go."""
    orders, lines = contents["orders"], contents["lineitem"]
    chance = np.random.default_rng([seed, number])
    known = np.unique(orders["o_orderkey"].to_numpy())
    count = min(max(1, round(len(known) * fraction)), len(known) // 2)
    drawn = chance.choice(known, 2 * count, replace=False)
    models, old = np.sort(drawn[:count]), np.sort(drawn[count:])
    shift = int(chance.integers(-60, 61))
    fresh = partial(_renumbered, models=models, first=int(known[-1]) + 1, shift=shift, number=number)
    changes = {
        "orders": (orders, "o_orderkey", ["o_orderdate"], "o_totalprice"),
        "lineitem": (lines, "l_orderkey", ["l_shipdate", "l_commitdate", "l_receiptdate"], "l_extendedprice"),
    }
    drafted = {}
    for name, (rows, key, dates, price) in changes.items():
        gone = rows.filter(pc.is_in(rows[key], pa.array(old)))
        drafted[name] = Change(KEYS[name], gone, rows.slice(0, 0), fresh(rows, key, dates, price, KEYS[name]))
    return Round(drafted)


def _renumbered(
    rows: pa.Table,
    key: str,
    dates: Sequence[str],
    price: str,
    whole_key: Sequence[str],
    *,
    models: np.ndarray,
    first: int,
    shift: int,
    number: int,
) -> pa.Table:
    """The rows of some orders under new keys, on other dates and at other prices."""
    found = _first_of_key(rows.filter(pc.is_in(rows[key], pa.array(models))), whole_key)
    numbers = np.searchsorted(models, found[key].to_numpy()) + first
    found = _with(found, key, pa.array(numbers, pa.int64()))
    for date in dates:
        days = pc.add(found[date].cast(pa.int32()), pa.scalar(shift, pa.int32()))
        found = _with(found, date, days.cast(pa.date32()))
    dearer = pc.add(found[price], pa.scalar(Decimal(number * 7 + 1) / 100, pa.decimal128(15, 2)))
    return _with(found, price, dearer.cast(pa.decimal128(15, 2)))


def _with(rows: pa.Table, name: str, values: Any) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), values)


# -- changes that every query sees ------------------------------------------------------------

SEGMENTS = "AUTOMOBILE BUILDING FURNITURE HOUSEHOLD MACHINERY".split()
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "AIR REG", "FOB", "MAIL", "RAIL", "SHIP", "TRUCK"]
INSTRUCTIONS = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
CONTAINERS = ["SM CASE", "MED BOX", "MED BAG", "LG CASE", "LG PKG", "JUMBO JAR", "WRAP CAN"]
BRANDS = ["Brand#12", "Brand#23", "Brand#34", "Brand#45", "Brand#51"]
TYPES = [
    "ECONOMY ANODIZED STEEL",
    "PROMO BURNISHED COPPER",
    "MEDIUM POLISHED TIN",
    "SMALL PLATED BRASS",
    "STANDARD BRUSHED NICKEL",
]
SIZES = [1, 3, 5, 9, 14, 15, 19, 23, 36, 45, 49, 50]
CODES = [13, 31, 23, 29, 30, 18, 17]
"""The country codes that q22 counts; a phone's code is the nation's key + 10."""

HOMES = [0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1]
"""The region of each nation, as generated."""
BRAZIL, CANADA, FRANCE, GERMANY, CHINA, SAUDI_ARABIA, PERU, KENYA = 2, 3, 6, 7, 18, 20, 17, 14
ASKED_FOR = [CANADA, GERMANY, SAUDI_ARABIA, FRANCE, BRAZIL, CHINA]
"""Nations that queries ask for, by name or through their region."""

FIRST_DAY, LAST_DAY = dt.date(1992, 1, 1), dt.date(1998, 8, 2)
DEAR = Decimal("150000.00")
"""Above any generated price of a lineitem."""


def every_table(
    contents: Contents,
    number: int,
    share: float = 0.005,
    seed: int = 0,
    *,
    sampled: Mapping[str, int] = MappingProxyType({}),
) -> Round:
    """About a share of every table changes, and some rows that each of the 22 queries asks for.

    `sampled`: the tables of which the contents are a part: one of so many.
    """
    draft = Draft(contents, KEYS, random.Random(f"{seed}/{number}"), sampled)
    for scene in SCENES:
        scene(draft, number, share)
    return draft.finish()


def _fewer_twins(draft: Draft, number: int, share: float) -> None:
    """Of the rows that an earlier round doubled, every other one stands alone again."""
    for table in ("customer", "orders", "lineitem"):
        for row in draft.twins(table)[::2]:
            draft.reinsert(table, row)


def _geography(draft: Draft, number: int, share: float) -> None:
    """A nation moves to another region and a name changes; what the round before did is undone."""
    away, back = (ASKED_FOR[(number + step) % len(ASKED_FOR)] for step in (0, -1))
    renamed, restored = (ASKED_FOR[(number + step) % len(ASKED_FOR)] for step in (3, 2))
    for row in draft.all("nation", pc.field("n_nationkey").isin([away, back, renamed, restored])):
        key, name = row["n_nationkey"], row["n_name"].removeprefix("NEW ")
        region = (HOMES[key] + 1) % 5 if key == away else HOMES[key]
        draft.update("nation", row, n_regionkey=region, n_name=f"NEW {name}" if key == renamed else name)
    for row in draft.all("region", pc.field("r_regionkey") == 2):
        asia = "ASIA AND PACIFIC" if number % 4 == 2 else "ASIA"
        draft.update("region", row, r_name=asia, r_comment=f"{row['r_comment'][:40]} {number}")


def _suppliers(draft: Draft, number: int, share: float) -> None:
    """Suppliers move into nations that are asked for, and out; one opens, one closes."""
    for place, nation in enumerate(ASKED_FOR[:5]):
        if (place + number) % 2:
            for row in draft.pick("supplier", 1, pc.field("s_nationkey") != nation):
                draft.update("supplier", row, s_nationkey=nation, s_phone=_phone(draft, nation))
        else:
            for row in draft.pick("supplier", 1, pc.field("s_nationkey") == nation):
                draft.update("supplier", row, s_nationkey=PERU, s_phone=_phone(draft, PERU))
    for row in draft.pick("supplier", draft.share("supplier", share)):
        complaint = "" if "Complaints" in row["s_comment"] else "Customer dull Complaints "
        comment = complaint + row["s_comment"].replace("Complaints", "Praise")
        draft.update("supplier", row, s_comment=comment, s_acctbal=_money(draft, -900, 9900))
    for row in draft.pick("supplier", 1):
        key = draft.next_number("supplier", "s_suppkey")
        draft.insert("supplier", row, s_suppkey=key, s_name=f"Supplier#{key:09d}")
        for pair in draft.pick("partsupp", 3):
            draft.insert("partsupp", pair, ps_suppkey=key, ps_supplycost=_money(draft, 1, 50))
    if number % 3 == 2:
        for row in draft.pick("supplier", 1):
            draft.delete("supplier", row)
            for pair in draft.all("partsupp", pc.field("ps_suppkey") == row["s_suppkey"]):
                draft.delete("partsupp", pair)


def _customers(draft: Draft, number: int, share: float) -> None:
    """Customers move between segments and nations, come without orders, and go with and without."""
    buyers = pc.unique(draft.contents["orders"]["o_custkey"])
    without_orders = ~pc.field("c_custkey").isin(buyers)
    count = draft.share("customer", share)
    for place, row in enumerate(draft.pick("customer", count + 2)):
        if place % 2:
            draft.update("customer", row, c_mktsegment=draft.chance.choice(SEGMENTS))
        else:
            nation = draft.chance.choice([FRANCE, GERMANY, CHINA, BRAZIL, CANADA, KENYA])
            draft.update("customer", row, c_nationkey=nation, c_phone=_phone(draft, nation))
    for row in draft.pick("customer", 2):
        draft.update("customer", row, c_acctbal=_money(draft, -900, 9900))
    for row in [*draft.pick("customer", 1, without_orders), *draft.pick("customer", 1, ~without_orders)]:
        draft.delete("customer", row)
    for row in draft.pick("customer", count // 4 + 1):
        key, nation = draft.next_number("customer", "c_custkey"), draft.chance.choice(CODES) - 10
        home = {"c_nationkey": nation, "c_phone": _phone(draft, nation)}
        name, balance = f"Customer#{key:09d}", _money(draft, 8000, 9900)
        draft.insert("customer", row, c_custkey=key, c_name=name, c_acctbal=balance, **home)


def _parts(draft: Draft, number: int, share: float) -> None:
    """Parts change in all that is asked about them; one comes with its suppliers, one goes with them."""
    chance = draft.chance
    for place, row in enumerate(draft.pick("part", draft.share("part", share) + 5)):
        colour = "green" if "green" not in row["p_name"] else "peru"
        changes: list[Row] = [
            {"p_brand": chance.choice(BRANDS)},
            {"p_type": chance.choice(TYPES)},
            {"p_size": chance.choice(SIZES)},
            {"p_container": chance.choice(CONTAINERS)},
            {"p_name": f"{colour} {row['p_name'].replace('green', 'lime')}"},
        ]
        draft.update("part", row, **changes[place % len(changes)])
    for row in draft.pick("part", 1):
        key = draft.next_number("part", "p_partkey")
        draft.insert("part", row, p_partkey=key, p_size=15, p_type="LARGE PLATED BRASS")
        for pair in draft.all("partsupp", pc.field("ps_partkey") == row["p_partkey"]):
            draft.insert("partsupp", pair, ps_partkey=key)
    for row in draft.pick("part", 1):
        draft.delete("part", row)
        for pair in draft.all("partsupp", pc.field("ps_partkey") == row["p_partkey"]):
            draft.delete("partsupp", pair)


def _asked_for_parts(draft: Draft, number: int, share: float) -> None:
    """q02, q17 and q19: parts come into the filters with lineitems that count, others leave."""
    kind, brand, box = pc.field("p_type"), pc.field("p_brand"), pc.field("p_container")
    brass = pc.match_substring_regex(kind, "BRASS$") & (pc.field("p_size") == 15)
    for row in draft.pick("part", 1, brass):
        draft.update("part", row, p_size=16)
    for row in draft.pick("part", 2, ~brass):
        draft.update("part", row, p_size=15, p_type="SMALL PLATED BRASS")
        for pair in draft.all("partsupp", pc.field("ps_partkey") == row["p_partkey"])[number % 2 :: 2]:
            draft.update("partsupp", pair, ps_supplycost=_money(draft, 1, 20))
    boxed = (brand == "Brand#23") & (box == "MED BOX")
    for row in draft.pick("part", 1, boxed):
        draft.update("part", row, p_container="JUMBO JAR")
    for row in draft.pick("part", 2, ~boxed):
        draft.update("part", row, p_brand="Brand#23", p_container="MED BOX", p_size=5)
        lines = draft.all("lineitem", pc.field("l_partkey") == row["p_partkey"])
        for place, line in enumerate(lines[:4]):
            quantity = Decimal(1) if place % 2 else Decimal(15)
            by_air = {"l_shipmode": "AIR", "l_shipinstruct": "DELIVER IN PERSON"}
            draft.update("lineitem", line, l_quantity=quantity, **by_air)


def _partsupp(draft: Draft, number: int, share: float) -> None:
    """Costs and stock change; pairs come and go."""
    count = draft.share("partsupp", share)
    for place, row in enumerate(draft.pick("partsupp", count + 2)):
        if place % 2:
            draft.update("partsupp", row, ps_supplycost=_money(draft, 1, 1000))
        else:
            draft.update("partsupp", row, ps_availqty=draft.chance.randint(1, 9999))
    for row in draft.pick("partsupp", max(1, count // 4)):
        draft.delete("partsupp", row)
    suppliers = draft.contents["supplier"]["s_suppkey"].to_pylist()
    models = draft.pick("partsupp", max(1, count // 4))
    parts = {row["ps_partkey"]: row for row in models}
    for part, pairs in draft.of("partsupp", "ps_partkey", parts).items():
        taken = {pair["ps_suppkey"] for pair in pairs}
        if free := [key for key in draft.chance.sample(suppliers, 20) if key not in taken]:
            draft.insert("partsupp", parts[part], ps_suppkey=free[0])


def _canadian_forest(draft: Draft, number: int, share: float) -> None:
    """q20: a part whose supplier sold some of it in 1994 is renamed, and the supplier moves to Canada."""
    for line in draft.pick("lineitem", 2, _between("l_shipdate", dt.date(1994, 1, 1), dt.date(1994, 12, 31))):
        part, supplier = line["l_partkey"], line["l_suppkey"]
        for row in draft.all("part", pc.field("p_partkey") == part):
            draft.update("part", row, p_name=f"forest {row['p_name']}"[:55])
        for row in draft.all("supplier", pc.field("s_suppkey") == supplier):
            draft.update("supplier", row, s_nationkey=CANADA, s_phone=_phone(draft, CANADA))
        pair = (pc.field("ps_partkey") == part) & (pc.field("ps_suppkey") == supplier)
        for row in draft.all("partsupp", pair):
            draft.update("partsupp", row, ps_availqty=9999)
    for row in draft.pick("part", 1, pc.starts_with(pc.field("p_name"), "forest")):
        draft.update("part", row, p_name=row["p_name"].replace("forest", "wood"))


def _best_supplier(draft: Draft, number: int, share: float) -> None:
    """q15: a supplier sells more than all others in the first quarter of 1996; the one before no longer."""
    quarter = _between("l_shipdate", dt.date(1996, 1, 1), dt.date(1996, 3, 31))
    dear = pc.field("l_extendedprice") >= pa.scalar(DEAR, pa.decimal128(15, 2))
    for line in draft.pick("lineitem", 100, quarter & dear):
        draft.update("lineitem", line, l_extendedprice=line["l_extendedprice"] / 10)
    for seller in draft.pick("supplier", 1):
        for line in draft.pick("lineitem", 10, quarter & ~dear):
            draft.update("lineitem", line, l_suppkey=seller["s_suppkey"], l_extendedprice=DEAR)


def _dear_orders(draft: Draft, number: int, share: float) -> None:
    """q03 and q10: an order each comes to the top, and an earlier one is cheap again."""
    dear = pc.field("l_extendedprice") >= pa.scalar(DEAR, pa.decimal128(15, 2))
    for line in draft.pick("lineitem", 3, dear):
        draft.update("lineitem", line, l_extendedprice=line["l_extendedprice"] / 10)
    drawn = draft.pick("orders", 2)
    lines = draft.of("lineitem", "l_orderkey", (row["o_orderkey"] for row in drawn))
    price = DEAR + 1000 * number
    for row, ordered, shipped in zip(
        drawn,
        (dt.date(1995, 3, 1), dt.date(1993, 11, 1)),
        (dt.date(1995, 4, 1), dt.date(1993, 12, 1)),
        strict=True,
    ):
        draft.update("orders", row, o_orderdate=ordered)
        for line in lines[row["o_orderkey"]]:
            draft.update("lineitem", line, l_extendedprice=price, l_shipdate=shipped, l_returnflag="R")
        for buyer in draft.all("customer", pc.field("c_custkey") == row["o_custkey"]):
            draft.update("customer", buyer, c_mktsegment="BUILDING")


def _american_steel(draft: Draft, number: int, share: float) -> None:
    """q08: what a Canadian bought is steel from Brazil; another part is steel no more."""
    steel = "ECONOMY ANODIZED STEEL"
    for row in draft.pick("part", 1, pc.field("p_type") == steel):
        draft.update("part", row, p_type="ECONOMY ANODIZED TIN")
    drawn = draft.pick("orders", 2, _between("o_orderdate", dt.date(1995, 1, 1), dt.date(1996, 12, 31)))
    lines = draft.of("lineitem", "l_orderkey", (row["o_orderkey"] for row in drawn))
    for row in drawn:
        for buyer in draft.all("customer", pc.field("c_custkey") == row["o_custkey"]):
            draft.update("customer", buyer, c_nationkey=CANADA, c_phone=_phone(draft, CANADA))
        for line in lines[row["o_orderkey"]][:1]:
            for part in draft.all("part", pc.field("p_partkey") == line["l_partkey"]):
                draft.update("part", part, p_type=steel)
            for seller in draft.all("supplier", pc.field("s_suppkey") == line["l_suppkey"]):
                draft.update("supplier", seller, s_nationkey=BRAZIL, s_phone=_phone(draft, BRAZIL))


def _waiting(draft: Draft, number: int, share: float) -> None:
    """q21: of an order's lineitems only the first is late, and its supplier moves to Saudi Arabia."""
    drawn = draft.pick("orders", 2, pc.field("o_orderstatus") == "F")
    for lines in draft.of("lineitem", "l_orderkey", (row["o_orderkey"] for row in drawn)).values():
        for place, line in enumerate(lines):
            days = -1 if place else 3
            draft.update("lineitem", line, l_receiptdate=_moved(line["l_commitdate"], days))
        for line in lines[:1]:
            for seller in draft.all("supplier", pc.field("s_suppkey") == line["l_suppkey"]):
                draft.update(
                    "supplier", seller, s_nationkey=SAUDI_ARABIA, s_phone=_phone(draft, SAUDI_ARABIA)
                )


def _large_orders(draft: Draft, number: int, share: float) -> None:
    """q18: orders of seven lineitems become large, and one that was becomes small."""
    sums = draft.contents["lineitem"].group_by("l_orderkey").aggregate([("l_quantity", "sum")])
    large = sums.filter(pc.field("l_quantity_sum") > pa.scalar(Decimal(300)))["l_orderkey"]
    is_large = pc.field("l_orderkey").isin(large.combine_chunks().sort())
    seventh = pc.field("l_linenumber") == 7
    for picked, quantity in (
        (draft.pick("lineitem", 1, is_large), Decimal(4)),
        (draft.pick("lineitem", 2, seventh & ~is_large), Decimal(50)),
    ):
        for lines in draft.of("lineitem", "l_orderkey", (row["l_orderkey"] for row in picked)).values():
            for line in lines:
                draft.update("lineitem", line, l_quantity=quantity)


def _orders(draft: Draft, number: int, share: float) -> None:
    """Orders change; whole ones go with their lineitems, others come with theirs."""
    chance, count = draft.chance, draft.share("orders", share)
    buyers = [row["c_custkey"] for row in draft.pick("customer", 10)]
    for place, row in enumerate(draft.pick("orders", count + 5)):
        special = "special requests" in row["o_comment"]
        changes: list[Row] = [
            {"o_orderdate": _moved(row["o_orderdate"], chance.randint(-400, 400))},
            {"o_orderpriority": chance.choice(PRIORITIES)},
            {"o_orderstatus": chance.choice("FOP")},
            {"o_comment": "as usual" if special else "special requests"},
            {"o_custkey": chance.choice(buyers)},
        ]
        draft.update("orders", row, **changes[place % len(changes)])
    drawn = draft.pick("orders", 2 * max(1, count // 4))
    going, models = drawn[::2], drawn[1::2]
    lines = draft.of("lineitem", "l_orderkey", (row["o_orderkey"] for row in (*going, *models)))
    for row in going:
        draft.delete("orders", row)
        for line in lines[row["o_orderkey"]]:
            draft.delete("lineitem", line)
    for row in models:
        key, days = draft.next_number("orders", "o_orderkey"), chance.randint(-200, 200)
        draft.insert("orders", row, o_orderkey=key, o_orderdate=_moved(row["o_orderdate"], days))
        for line in lines[row["o_orderkey"]]:
            draft.insert("lineitem", line, l_orderkey=key, **_dates(line, days))


def _lineitems(draft: Draft, number: int, share: float) -> None:
    """Lineitems change in all that queries filter, group or add up."""
    chance, count = draft.chance, draft.share("lineitem", share)
    for place, row in enumerate(draft.pick("lineitem", count + 8)):
        late = row["l_receiptdate"] > row["l_commitdate"]
        changes: list[Row] = [
            _dates(row, chance.randint(-400, 400)),
            {"l_receiptdate": _moved(row["l_commitdate"], -1 if late else 3)},
            {"l_quantity": Decimal(chance.randint(1, 50))},
            {"l_discount": Decimal(chance.randint(0, 10)) / 100},
            {"l_shipmode": chance.choice(MODES)},
            {"l_shipinstruct": chance.choice(INSTRUCTIONS)},
            {"l_returnflag": chance.choice("ANR"), "l_linestatus": chance.choice("FO")},
            {"l_extendedprice": _money(draft, 1000, 90000), "l_tax": Decimal(chance.randint(0, 8)) / 100},
        ]
        draft.update("lineitem", row, **changes[place % len(changes)])


def _nothing_and_copies(draft: Draft, number: int, share: float) -> None:
    """Rows are updated to themselves, removed and added again, and doubled."""
    for table in KEYS:
        for row in draft.pick(table, 1):
            draft.update(table, row)
    for table in ("supplier", "partsupp", "orders", "lineitem"):
        for row in draft.pick(table, 1):
            draft.reinsert(table, row)
    for table in ("customer", "orders", "lineitem"):
        for row in draft.pick(table, 2):
            draft.insert(table, row)


SCENES = [
    _fewer_twins,
    _geography,
    _suppliers,
    _customers,
    _asked_for_parts,
    _canadian_forest,
    _best_supplier,
    _dear_orders,
    _american_steel,
    _waiting,
    _large_orders,
    _parts,
    _partsupp,
    _orders,
    _lineitems,
    _nothing_and_copies,
]
"""What is aimed at a query comes before what is spread, so that it finds its rows undecided."""


def _between(column: str, first: dt.date, last: dt.date) -> pc.Expression:
    return (pc.field(column) >= first) & (pc.field(column) <= last)


def _moved(date: dt.date, days: int) -> dt.date:
    return min(max(date + dt.timedelta(days=days), FIRST_DAY), LAST_DAY)


def _dates(line: Row, days: int) -> Row:
    return {
        name: line[name] + dt.timedelta(days=days) for name in ("l_shipdate", "l_commitdate", "l_receiptdate")
    }


def _money(draft: Draft, low: int, high: int) -> Decimal:
    return Decimal(draft.chance.randint(100 * low, 100 * high)) / 100


def _phone(draft: Draft, nation: int) -> str:
    digits = draft.chance.randint(0, 9_999_999_999)
    return f"{nation + 10}-{digits // 10**7:03d}-{digits // 10**4 % 1000:03d}-{digits % 10**4:04d}"
