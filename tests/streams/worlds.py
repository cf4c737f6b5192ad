"""Random worlds: sources, stream tables in any shape over them, and all that people do to both.

Every table has a key and a value, so that any query can read any table. Queries mean the same to Spark and
DuckDB.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anabranch as ab
from anabranch.errors import EngineFailed, InvalidOption, RefreshHeld
from tests.streams.at_every_version import Watch

COLUMNS = "id BIGINT, k BIGINT, v BIGINT, d BIGINT"
KEYS = 6
WIDE = 120
"""Rows above which a join is made narrow again."""
PLAIN = 1000
"""What values are taken modulo of; with 0 instead, what depends on it fails."""

ONE = [
    ("SELECT k, v FROM {a} WHERE v > 3", 0.8),
    ("SELECT k % 3 AS k, v + 1 AS v FROM {a} WHERE k <> 4", 0.8),
    ("SELECT k, CAST(SUM(v) AS BIGINT) AS v FROM {a} GROUP BY k", 0),
    ("SELECT k, CAST(COUNT(*) AS BIGINT) AS v FROM {a} GROUP BY k", 0),
    ("SELECT k, MIN(v) AS v FROM {a} GROUP BY k", 0),
    ("SELECT k, MAX(v) AS v FROM {a} GROUP BY k HAVING COUNT(*) > 1", 0),
    ("SELECT CAST(COUNT(*) AS BIGINT) AS k, CAST(SUM(v) AS BIGINT) AS v FROM {a}", 0),
    ("SELECT DISTINCT k, v FROM {a}", 1),
    ("SELECT DISTINCT k, v % 4 AS v FROM {a}", 0.5),
]
TWO = [
    ("SELECT a.k, a.v + b.v AS v FROM {a} AS a JOIN {b} AS b ON a.k = b.k", 2),
    ("SELECT a.k, COALESCE(b.v, -1) AS v FROM {a} AS a LEFT JOIN {b} AS b ON a.k = b.k", 2),
    ("SELECT COALESCE(a.k, b.k) AS k, COALESCE(a.v, 0) - COALESCE(b.v, 0) AS v "
     "FROM {a} AS a FULL OUTER JOIN {b} AS b ON a.k = b.k", 2),
    ("SELECT k, v FROM {a} UNION ALL SELECT k, v FROM {b}", 1),
    ("SELECT k, v FROM {a} EXCEPT SELECT k, v FROM {b}", 1),
    ("SELECT k, v FROM {a} UNION SELECT k, v FROM {b}", 1),
    ("SELECT a.k, a.v FROM {a} AS a WHERE EXISTS (SELECT 1 FROM {b} AS b WHERE b.k = a.k AND b.v > a.v)", 1),
    ("SELECT a.k, a.v FROM {a} AS a WHERE NOT EXISTS (SELECT 1 FROM {b} AS b WHERE b.k = a.k)", 1),
]  # fmt: skip
NARROW = "SELECT DISTINCT k, v % 7 AS v FROM ({query}) AS wide"
FRAGILE = "SELECT k, CAST(SUM(v % d) AS BIGINT) AS v FROM {a} GROUP BY k"
SCHEDULES = ("10s", "1m", "5m", "calculated", None, "*/2 * * * *")


class World:
    """One lake, and somebody who does things to it at random."""

    def __init__(self, lake: ab.Lake, clock: ab.ManualClock, seed: int) -> None:
        self.lake = lake
        self.clock = clock
        self.chance = random.Random(seed)
        self.sizes: dict[str, float] = {}
        self.queries: dict[str, str] = {}
        self.reads: dict[str, frozenset[str]] = {}
        self.sources: list[str] = []
        self.ids = 0
        self.names = 0
        self.story: list[str] = []
        self.gated: set[str] = set()
        self.ignoring: set[str] = set()
        """Stream tables that take no notice of gates."""
        self.mixed = self.chance.random() < 0.35
        self.watch = Watch(lake, strict=not self.mixed)

    # -- making -------------------------------------------------------------------------------

    def begin(self) -> None:
        """The sources and the first stream tables."""
        chance = self.chance
        self.lake.set("parallelism", chance.choice([1, 4]))
        if chance.random() < 0.3:
            self.lake.set("tick_watermark_enabled", False)
        for number in range(chance.randint(2, 3)):
            name = f"s{number}"
            self.lake.create_table(name, COLUMNS)
            self.lake.insert(name, self.rows(chance.randint(0, 12)))
            self.sources.append(name)
            self.sizes[name] = 15
        if chance.random() < 0.5:
            specs = [self.drawn() for _ in range(chance.randint(3, 8))]
            self.story.append(f"create {specs}")
            self.lake.create_stream_tables(specs)
            self.watch.look()
            return
        for _ in range(chance.randint(3, 8)):
            self.create()

    def rows(self, count: int) -> list[tuple[Any, ...]]:
        """New rows of a source."""
        made = []
        for _ in range(count):
            self.ids += 1
            value = None if self.chance.random() < 0.1 else self.chance.randint(0, 12)
            made.append((self.ids, self.chance.randrange(KEYS), value, PLAIN))
        return made

    def query(self, below: list[str]) -> tuple[str, frozenset[str], float]:
        """A query over some of these tables."""
        chance = self.chance
        one = self.pick(below)
        other = self.pick([each for each in below if each != one])
        if one in self.sources and chance.random() < 0.3:
            return FRAGILE.format(a=one), frozenset([one]), KEYS
        if chance.random() < 0.4:
            text, factor = chance.choice(ONE)
            return text.format(a=one), frozenset([one]), self.sizes[one] * factor or KEYS
        text, factor = chance.choice(TWO)
        text = text.format(a=one, b=other)
        size = self.sizes[one] + self.sizes[other]
        if factor > 1:
            size = max(size, self.sizes[one] * self.sizes[other] / KEYS)
        if size > WIDE:
            text, size = NARROW.format(query=text), KEYS * 8
        return text, frozenset([one, other]), size

    def pick(self, names: list[str]) -> str:
        """A table, rather one that was made lately: so graphs get deep."""
        return names[max(self.chance.randrange(len(names)) for _ in range(2))]

    def options(self) -> dict[str, Any]:
        """Options of a stream table."""
        chance = self.chance
        options: dict[str, Any] = {
            "schedule": chance.choice(SCHEDULES),
            "refresh_mode": chance.choice(["auto", "auto", "differential", "full"]),
        }
        if self.mixed and chance.random() < 0.4:
            options["diamond_consistency"] = "none"
        elif chance.random() < 0.2:
            options["diamond_schedule_policy"] = "slowest"
        if chance.random() < 0.3:
            options |= {"fuse": chance.choice(["on", "auto", "off"]), "fuse_ceiling": chance.randint(1, 20)}
            options["fuse_sensitivity"] = chance.choice([1, 1, 2])
        return options

    def drawn(self) -> dict[str, Any]:
        """A new stream table, as `create_stream_tables` takes it."""
        name = f"t{self.names}"
        self.names += 1
        query, reads, size = self.query([*self.sources, *self.queries])
        self.queries[name], self.reads[name], self.sizes[name] = query, reads, size
        spec = {"name": name, "query": query, **self.options()}
        if self.chance.random() < 0.1:
            spec["initialize"] = False
        self.ignoring.discard(name)
        if self.chance.random() < 0.1:
            spec["bootstrap_gating"] = "ignore"
            self.ignoring.add(name)
        return spec

    def create(self) -> None:
        """One more stream table, unless what it reads can't be computed now."""
        spec = self.drawn()
        self.story.append(f"create {spec}")
        name = spec["name"]
        try:
            self.lake.create_stream_tables([spec])
        except (RefreshHeld, EngineFailed) as error:
            self.story.append(f"  refused: {error.code}")
            del self.queries[name], self.reads[name], self.sizes[name]
        self.watch.look()

    # -- steps --------------------------------------------------------------------------------

    def live(self, steps: int) -> None:
        """That many things happen."""
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        """Something happens, and the watch looks."""
        ways: list[tuple[Callable[[], None], int]] = [
            (self.write, 30), (self.together, 8), (self.advance, 14), (self.tick, 26), (self.refresh, 10),
            (self.suspend, 3), (self.resume, 5), (self.alter_option, 4), (self.alter_query, 6),
            (self.drop, 3), (self.create, 3), (self.breaks, 5), (self.mend, 5), (self.maintain, 2),
            (self.compact, 3), (self.reset, 6), (self.gate, 4), (self.ungate, 6), (self.load, 3),
            (self.align, 3),
        ]  # fmt: skip
        way = self.chance.choices([each for each, _ in ways], [weight for _, weight in ways])[0]
        self.story.append(way.__name__)
        way()
        self.watch.look()

    def write(self) -> None:
        """A source changes."""
        self.story.append(f"  {self.change(self.lake, self.chance.choice(self.sources))}")

    def together(self) -> None:
        """Several sources change at once."""
        with self.lake.transaction() as transaction:
            for source in self.chance.sample(self.sources, self.chance.randint(2, len(self.sources))):
                self.story.append(f"  {self.change(transaction, source)}")

    def change(self, writer: Any, source: str) -> str:
        """One change, by the lake or a transaction."""
        chance = self.chance
        kind = chance.choices(["insert", "update", "delete", "truncate"], [6, 3, 3, 1])[0]
        if kind == "insert":
            rows = self.rows(chance.randint(1, 5))
            writer.insert(source, rows)
            return f"insert {source} {rows}"
        if kind == "truncate":
            writer.truncate(source)
            return f"truncate {source}"
        where = f"{chance.choice(['k', 'v', 'id % 6'])} = {chance.randrange(KEYS)}"
        if kind == "delete":
            writer.delete(source, where=where)
            return f"delete {source} where {where}"
        value = chance.choice(["v + 1", "k", "NULL", "v"])
        writer.update(source, {"v": value}, where=where)
        return f"update {source} set v = {value} where {where}"

    def advance(self) -> None:
        """Time passes."""
        seconds = self.chance.choice([1, 10, 60, 60, 300, 300, 3600])
        self.story.append(f"  {seconds} s")
        self.clock.advance(seconds)

    def tick(self) -> None:
        """The scheduler passes; mostly when something may be due."""
        self.clock.advance(self.chance.choice([0, 60, 300]))
        report = self.lake.tick()
        self.story.append(f"  {report}")
        for name in report.refreshed:
            waits = self.above(name) & self.gated if name not in self.ignoring else ()
            assert not waits, f"{name} was refreshed, although {waits} is gated"

    def refresh(self) -> None:
        """By hand."""
        if name := self.some():
            full, upstream = self.chance.random() < 0.3, self.chance.random() < 0.8
            self.story.append(f"  {name} full={full} upstream={upstream}")
            self.tried(lambda: self.lake.refresh_stream_table(name, full=full, upstream=upstream))

    def suspend(self) -> None:
        """Somebody suspends one."""
        if name := self.some():
            self.story.append(f"  {name}")
            self.lake.suspend_stream_table(name)

    def resume(self) -> None:
        """Somebody resumes all."""
        for name in self.queries:
            self.lake.resume_stream_table(name)

    def reset(self) -> None:
        """Somebody decides about the fuses that have blown."""
        for fuse in self.lake.fuse_status():
            if fuse.state == "blown" and self.chance.random() < 0.8:
                action = self.chance.choice(["apply", "apply", "reinitialize"])
                self.story.append(f"  {fuse.name} {action}: {fuse.reason}")
                self.lake.reset_fuse(fuse.name, action)

    def alter_option(self) -> None:
        """Other options."""
        if name := self.some():
            options = self.options()
            if self.chance.random() < 0.5:
                del options["refresh_mode"]
            options.pop("diamond_schedule_policy", None)
            if self.mixed:
                options.setdefault("diamond_consistency", self.chance.choice([None, "atomic"]))
            if options.get("diamond_consistency") == "none":
                options["diamond_schedule_policy"] = None  # it would be refused if it was slowest
            self.story.append(f"  {name} {options}")
            try:
                self.tried(lambda: self.lake.alter_stream_table(name, **options))
            except InvalidOption as error:
                # A convergence table that waits for the slowest can't go on its own.
                if options.get("diamond_consistency") != "none" or "slowest" not in error.message:
                    raise
                self.story.append(f"  refused: {error.code}")

    def alter_query(self) -> None:
        """Another query, over what doesn't read it."""
        if name := self.some():
            below = [*self.sources, *(each for each in self.queries if name not in self.above(each))]
            query, reads, size = self.query([each for each in below if each != name])
            self.story.append(f"  {name} {query}")
            if self.tried(lambda: self.lake.alter_stream_table(name, query=query)):
                self.queries[name], self.reads[name], self.sizes[name] = query, reads, size

    def above(self, name: str) -> frozenset[str]:
        """All that a table is made from, itself included."""
        return frozenset([name]).union(*(self.above(read) for read in self.reads.get(name, ())))

    def drop(self) -> None:
        """A leaf goes, and sometimes comes back as another."""
        leaves = [name for name in self.queries if not any(name in reads for reads in self.reads.values())]
        if len(self.queries) < 3 or not leaves:
            return
        name = self.chance.choice(leaves)
        self.story.append(f"  {name}")
        self.lake.drop_stream_table(name)
        del self.queries[name], self.reads[name], self.sizes[name]
        self.watch.look()
        self.watch.created(name)
        if self.chance.random() < 0.7:
            names, self.names = self.names, int(name[1:])
            self.create()
            self.names = names

    def breaks(self) -> None:
        """A row comes that some branches can't take."""
        source = self.chance.choice(self.sources)
        self.story.append(f"  {source}")
        self.ids += 1
        self.lake.insert(source, [(self.ids, self.chance.randrange(KEYS), 5, 0)])

    def mend(self) -> None:
        """All such rows are mended."""
        for source in self.sources:
            self.lake.update(source, {"d": str(PLAIN)}, where="d = 0")

    def maintain(self) -> None:
        """Housekeeping, which may compact tables."""
        before = self.lake.lsn
        self.lake.maintain()
        self.watch.compacted(before)

    def compact(self) -> None:
        """Some table's files become one."""
        name = self.chance.choice([*self.sources, *self.queries])
        self.story.append(f"  {name}")
        before = self.lake.lsn
        self.lake.compact(name)
        self.watch.compacted(before)

    def gate(self) -> None:
        """A source, or several, are not ready."""
        names = self.chance.sample(self.sources, self.chance.randint(1, 2))
        self.story.append(f"  {names}")
        self.lake.gate_sources(names)
        self.gated.update(names)

    def ungate(self) -> None:
        """A source is ready."""
        name = self.chance.choice(self.sources)
        self.story.append(f"  {name}")
        self.lake.ungate_source(name)
        self.gated.discard(name)

    def load(self) -> None:
        """A source is loaded anew behind its gate, up to a time; some of it, if it breaks off, not at all."""
        name, broken = self.chance.choice(self.sources), self.chance.random() < 0.3
        self.story.append(f"  {name} {'breaks off' if broken else ''}")
        with suppress(ZeroDivisionError), self.lake.transaction() as transaction:
            transaction.truncate(name)
            transaction.insert(name, self.rows(self.chance.randint(1, 5)))
            transaction.ungate_source(name)
            transaction.advance_watermark(name, self.clock.now())
            if broken:
                raise ZeroDivisionError
        if not broken:
            self.gated.discard(name)

    def align(self) -> None:
        """Sources are to be loaded alike, or no longer."""
        if self.lake.watermark_groups():
            self.lake.drop_watermark_group("group")
        else:
            missing = self.chance.choice(["gated", "ignore"])
            self.lake.create_watermark_group("group", self.sources, self.chance.choice(["0s", "5m"]), missing)

    def some(self) -> str | None:
        """A stream table."""
        return self.chance.choice(list(self.queries)) if self.queries else None

    def tried(self, work: Callable[[], object]) -> bool:
        """Whether it could be done: what is held or fails to compute can't, and anything else is wrong."""
        try:
            work()
        except (RefreshHeld, EngineFailed) as error:
            self.story.append(f"  refused: {error.code} {error.message}")
            return False
        return True

    # -- the end ------------------------------------------------------------------------------

    def end(self) -> None:
        """All is mended and caught up; everything is right, and fresh."""
        self.story.append("end")
        self.mend()
        self.resume()
        self.lake.ungate_sources(self.sources)
        self.watch.look()
        for name in self.queries:
            self.lake.refresh_stream_table(name)
            self.watch.look()
        for name in self.queries:
            found = self.lake.verify(name)
            assert found.ok, f"{name}: {found}"
        newest = {name: self.watch.now(name) for name in self.queries}
        for name, (rows, wanted) in newest.items():
            assert rows == wanted, f"{name} is not what its query gives now: {rows} instead of {wanted}"
        self.watch.look_back()


def live_through(lake: ab.Lake, clock: ab.ManualClock, seed: int, steps: int | None = None) -> Watch:
    """A world from beginning to end; what went wrong says how to see it again."""
    world = World(lake, clock, seed)
    try:
        world.begin()
        world.live(world.chance.randint(15, 30) if steps is None else steps)
        world.end()
    except Exception as error:
        error.add_note(f"seed {seed}:\n" + "\n".join(world.story))
        raise
    return world.watch
