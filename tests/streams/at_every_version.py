"""The promise, checked from outside: every version of every stream table is its query at its frontier.

The expected rows are computed past the package, by DuckDB over Arrow data: from the base sources alone, the
queries of stream tables upstream put in for what is stored of them; and once more over the versions that the
history says were read. Where members of a diamond refresh on their own, paths from one source may disagree,
and a frontier can't say so: there only the second holds.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

import anabranch as ab
from anabranch.ledger import ledger
from anabranch.ledger.history import NO_DATA, SUCCEEDED, Refresh, read_refreshes
from anabranch.ledger.stream_tables import read_streams
from anabranch.names import TableName
from anabranch.sql.query import parse_query

Bag = Counter[tuple[Any, ...]]
EVERYTHING = 1_000_000


def bag(table: pa.Table) -> Bag:
    """The rows of Arrow data."""
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


@lru_cache(maxsize=4096)
def reads_of(query: str) -> tuple[str, ...]:
    """The tables that a query reads."""
    return tuple(sorted(map(str, parse_query(query).reads)))


@dataclass
class Watch:
    """Looks at a lake, after every step or once at the end, and remembers what it saw."""

    lake: ab.Lake
    strict: bool = True
    """Whether a frontier says it all; else only where the paths that lead to a table agree."""
    seen: int = 0
    """The last entry of the history that was checked."""
    checked: int = 0
    """How many versions were compared."""
    _queries: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    _entries: dict[str, list[Refresh]] = field(default_factory=lambda: defaultdict(list))
    _versions: dict[tuple[str, int], Bag] = field(default_factory=dict)
    _sources: dict[str, dict[int, pa.Table]] = field(default_factory=lambda: defaultdict(dict))
    _stores: dict[str, dict[int, pa.Table]] = field(default_factory=lambda: defaultdict(dict))
    _groups: dict[int, tuple[frozenset[str], int]] = field(default_factory=dict)
    _together: set[frozenset[str]] = field(default_factory=set)
    _moved: set[int] = field(default_factory=set)
    """Commits that changed files and no rows."""
    _made: dict[Any, pa.Table] = field(default_factory=dict)
    _lsns: dict[str, list[int]] = field(default_factory=dict)
    """The versions that each source has had."""
    _makers: dict[int, Refresh] = field(default_factory=dict)
    """For each entry the one that set its frontier."""
    _duck: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    # -- what the watch is told ---------------------------------------------------------------

    def created(self, name: str) -> None:
        """A name begins anew: what comes now has nothing to do with what was there."""
        self._entries.pop(name, None)
        self._stores.pop(name, None)
        self._queries.pop(name, None)

    def compacted(self, since: int) -> None:
        """The commits after some lsn changed files, and no rows."""
        self._moved.update(range(since + 1, self.lake.lsn + 1))

    # -- looking ------------------------------------------------------------------------------

    def look(self) -> None:
        """Check all that came since the last look."""
        self._capture()
        with self.lake._context.catalog.database.begin_read() as connection:
            streams = {str(name): stream for name, stream in read_streams(connection).items()}
            found = read_refreshes(connection, None, EVERYTHING)
        fresh = [entry for entry in reversed(found) if entry.refresh_id > self.seen]
        for name, stream in streams.items():
            known = self._queries[name]
            if not known or known[-1][1] != stream.query:
                # In force from the first entry that this look finds: definitions change at once with one.
                known.append((self.seen + 1, stream.query))
        for entry in fresh:
            if str(entry.stream_table) in streams and entry.status == SUCCEEDED:
                self._check(entry)
        self._check_groups(fresh, streams)
        self.seen = max((entry.refresh_id for entry in fresh), default=self.seen)
        for info in self.lake.tables():
            if info.kind == "stream" and streams[info.name].has_contents and info.lsn not in self._moved:
                lsns = {entry.lsn for entry in self._entries[info.name]} - {None}
                if not lsns:
                    assert info.rows == 0
                    continue
                assert info.lsn in lsns, f"nothing says where version {info.lsn} of {info.name} comes from"

    def look_back(self) -> None:
        """Every version that is still kept reads as it did when it was new."""
        floor = self.lake._context.catalog.lake_version().floor_lsn
        for (name, lsn), rows in self._versions.items():
            if lsn >= floor:
                assert bag(self.lake.arrow(name, as_of=lsn)) == rows, f"{name} at {lsn} reads differently"

    def now(self, name: str) -> tuple[Bag, Bag]:
        """What a stream table holds, and what its query gives over the newest sources."""
        self._capture()
        newest = dict.fromkeys(self._sources, self.lake.lsn)
        return bag(self.lake.arrow(name)), bag(self._made_of(name, newest, None))

    def _capture(self) -> None:
        """Keep the newest of the sources: what is old may be expired before it is looked at."""
        lake_version = self.lake._context.catalog.lake_version()
        sources = [version for version in lake_version.versions.values() if version.kind == "source"]
        with self.lake._context.catalog.database.begin_read() as connection:
            kept = {v.name: [lsn for lsn, _ in ledger.read_versions(connection, v.table_id)] for v in sources}
        for version in sources:
            name, known = str(version.name), self._sources[str(version.name)]
            self._lsns[name] = sorted({*self._lsns.get(name, ()), *kept[version.name], version.lsn})
            if version.lsn not in known:
                known[version.lsn] = self.lake.arrow(name)

    # -- versions -----------------------------------------------------------------------------

    def _check(self, entry: Refresh) -> None:
        name = str(entry.stream_table)
        before = self._entries[name][-1] if self._entries[name] else None
        if before is not None:
            self._check_forward(before, entry)
        self._entries[name].append(entry)
        lsn = next((each.lsn for each in reversed(self._entries[name]) if each.lsn is not None), None)
        if lsn is None:
            # Created to be filled later, and then there was nothing to fill it with.
            rows: Bag = Counter()
        else:
            if (name, lsn) not in self._versions:
                self._versions[name, lsn] = bag(self.lake.arrow(name, as_of=lsn))
            rows = self._versions[name, lsn]
        inputs = {str(read): self._stored(str(read), version.lsn) for read, version in entry.reads.items()}
        _same(
            rows, bag(self._evaluate(self._query(name, entry), inputs)), f"{_shown(entry)}, over what it read"
        )
        made_by = entry
        if before is not None and entry.action == NO_DATA and entry.until == before.until:
            # It leaves the frontier where it was, and with it the queries upstream that were in force then.
            made_by = self._made_by(before)
        self._makers[entry.refresh_id] = made_by
        if self._has_whole_frontier(made_by) and (self.strict or self._agrees(made_by)):
            until = {str(source): at for source, at in entry.until.items()}
            wanted = bag(self._made_of(name, until, made_by))
            _same(rows, wanted, f"{_shown(entry)}, over its sources at {until}")
        self.checked += 1

    def _made_by(self, entry: Refresh) -> Refresh:
        """The entry that set a frontier, if another one only found nothing to do."""
        return self._makers.get(entry.refresh_id, entry)

    def _check_forward(self, before: Refresh, entry: Refresh) -> None:
        """Contents never go back in time."""
        if self.strict:
            back = {str(s): lsn for s, lsn in before.until.items() if entry.until.get(s, lsn) < lsn}
            assert not back, f"{_shown(entry)} went back from {back}"
        for name, read in before.reads.items():
            now = entry.reads.get(name, read)
            assert now.table_id != read.table_id or now.lsn >= read.lsn, (
                f"{_shown(entry)} went back in {name}"
            )

    def _query(self, name: str, entry: Refresh | None) -> str:
        known = reversed(self._queries[name])
        return next(query for since, query in known if entry is None or since <= entry.refresh_id)

    def _stored(self, name: str, lsn: int) -> pa.Table:
        if lsn not in self._stores[name]:
            known = self._sources.get(name, {})
            self._stores[name][lsn] = known[lsn] if lsn in known else self.lake.arrow(name, as_of=lsn)
        return self._stores[name][lsn]

    def _source(self, name: str, lsn: int) -> tuple[int, pa.Table]:
        """A source as of an lsn, and the version that this is."""
        version = max(each for each in self._lsns[name] if each <= lsn)
        known = self._sources[name]
        if version not in known:
            known[version] = self.lake.arrow(name, as_of=version)
        return version, known[version]

    def _made_of(self, name: str, until: Mapping[str, int], entry: Refresh | None) -> pa.Table:
        """What a stream table would hold: its query over sources, and over what upstream would hold.

        Queries are those that were in force when what an entry stands for was made (None: now).
        """
        query = self._query(name, entry)
        inputs = {read: self._above(read, entry) for read in reads_of(query)}
        key = self._key(name, until, entry)
        if key not in self._made:
            rows = {
                read: self._made_of(read, until, above)
                if read in self._queries
                else self._source(read, until[read])[1]
                for read, above in inputs.items()
            }
            self._made[key] = self._evaluate(query, rows)
        return self._made[key]

    def _key(self, name: str, until: Mapping[str, int], entry: Refresh | None) -> Any:
        """What decides the rows: the queries, and the versions of the sources."""
        if name not in self._queries:
            return name, self._source(name, until[name])[0]
        query = self._query(name, entry)
        return query, tuple(self._key(read, until, self._above(read, entry)) for read in reads_of(query))

    def _above(self, name: str, entry: Refresh | None) -> Refresh | None:
        """The entry of a table upstream that made what an entry's refresh read."""
        if entry is None or name not in self._queries:
            return None
        read = entry.reads[TableName.parse(name)]
        known = [
            each
            for each in self._entries[name]
            if each.refresh_id <= entry.refresh_id or each.lsn == read.lsn
        ]
        return self._made_by(known[-1])

    def _evaluate(self, query: str, inputs: Mapping[str, pa.Table]) -> pa.Table:
        """A query's rows. It must mean the same to Spark and DuckDB."""
        for name, rows in inputs.items():
            self._duck.register(name, rows)
        return self._duck.sql(query).to_arrow_table()

    def _has_whole_frontier(self, entry: Refresh) -> bool:
        """Whether a frontier names all sources.

        With nothing to do a frontier stays: it lacks a source that a query further up came to read, as long
        as that changed no row.
        """
        return self._carried(entry).keys() <= {str(source) for source in entry.until}

    def _agrees(self, entry: Refresh) -> bool:
        """Whether all paths from any source to a version carry what the frontier says."""
        until = {str(source): lsn for source, lsn in entry.until.items()}
        carried = self._carried(entry)
        return all(lsns == {self._source(name, until[name])[0]} for name, lsns in carried.items())

    def _carried(self, entry: Refresh) -> dict[str, set[int]]:
        carried: dict[str, set[int]] = defaultdict(set)
        for name, read in entry.reads.items():
            above = self._above(str(name), entry)
            if above is None:
                carried[str(name)].add(read.lsn)
                continue
            for source, lsns in self._carried(above).items():
                carried[source] |= lsns
        return carried

    # -- groups -------------------------------------------------------------------------------

    def _check_groups(self, fresh: Sequence[Refresh], streams: Mapping[str, Any]) -> None:
        groups: dict[int, set[str]] = defaultdict(set)
        epochs: dict[int, int] = {}
        for member in self.lake.diamond_groups():
            if member.schedule_policy != "none":
                groups[member.group_id].add(member.member_name)
                epochs[member.group_id] = member.epoch
        self._check_epochs(fresh, groups, epochs)
        now = {number: frozenset(members) for number, members in groups.items()}
        published = {entry.group_id for entry in fresh if entry.epoch is not None}
        self._together = {
            members for number, members in now.items() if number in published or members in self._together
        }
        for members in self._together:
            for name, other in itertools.permutations(sorted(members), 2):
                # What was never filled shows nothing, and waits for its first refresh.
                filled = streams[name].has_contents and streams[other].has_contents
                if filled and TableName.parse(other) in streams[name].inputs:
                    above, below = streams[other].frontier, streams[name].frontier
                    apart = {str(s): (lsn, below.get(s)) for s, lsn in above.items() if below.get(s) != lsn}
                    assert not apart, f"{name} is published with {other}, and not of one moment: {apart}"
        self._groups = {number: (members, epochs[number]) for number, members in now.items()}

    def _check_epochs(
        self, fresh: Iterable[Refresh], groups: Mapping[int, set[str]], epochs: Mapping[int, int]
    ) -> None:
        """Each publish of a group has all its members, one lsn, and the next epoch."""
        batches: dict[tuple[int, int], list[Refresh]] = defaultdict(list)
        for entry in fresh:
            if entry.group_id is not None and entry.epoch is not None:
                batches[entry.group_id, entry.epoch].append(entry)
        last: dict[int, int] = {}
        for (number, epoch), entries in batches.items():
            members = {str(entry.stream_table) for entry in entries}
            lsns = {entry.lsn for entry in entries} - {None}
            assert len(lsns) == 1, f"group {number} published epoch {epoch} under {lsns}"
            assert len(entries) == len(members), f"group {number} has epoch {epoch} twice"
            if number in groups and epoch == epochs[number]:
                filled = {name for name in groups[number] if self._entries.get(name)}
                assert members == filled, f"of group {number}, {filled}, only {members} were published"
            known, before = self._groups.get(number, (frozenset(), None))
            before = last.get(number, before if known == members else None)
            assert before is None or epoch == before + 1, f"group {number}: epoch {before}, then {epoch}"
            last[number] = epoch
        for number, epoch in last.items():
            assert epochs.get(number, epoch) == epoch


def _same(found: Bag, wanted: Bag, what: str) -> None:
    missing, surplus = wanted - found, found - wanted
    assert found == wanted, f"{what}: missing {dict(missing)}, surplus {dict(surplus)}"


def _shown(entry: Refresh) -> str:
    return f"{entry.stream_table} ({entry.action} {entry.refresh_id}, lsn {entry.lsn}, {entry.initiated_by})"
