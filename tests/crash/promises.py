"""What must hold of a lake's stream tables at every moment, whoever died and wherever."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise

import anabranch as ab
from anabranch.ledger import ledger
from anabranch.ledger.group_epochs import read_epochs
from anabranch.ledger.history import IMMEDIATE, SUCCEEDED, Refresh, read_refreshes
from anabranch.ledger.stream_tables import read_streams
from anabranch.names import TableName
from anabranch.refresh.refresh_member import STATE, STREAM
from anabranch.streams.stream_table import StreamTable
from tests.crash.stream_scripts import Contents
from tests.streams.shop import rows

ALL = 1_000_000


def contents(lake: ab.Lake) -> Contents:
    """What every stream table holds."""
    return {each.name: rows(lake, each.name) for each in lake.status()}


def check_promises(lake: ab.Lake) -> None:
    """Nothing is half there, groups are at one place, the history tells what is visible, rows are right."""
    versions = lake._context.catalog.lake_version().versions
    with lake._context.catalog.database.begin_read() as connection:
        streams, counted = read_streams(connection), read_epochs(connection)
        history = read_refreshes(connection, None, ALL)
        lsns = {
            name: [lsn for lsn, _ in ledger.read_versions(connection, stream.table_id)]
            for name, stream in streams.items()
        }
    kinds = {kind: {name for name, each in versions.items() if each.kind == kind} for kind in (STREAM, STATE)}
    assert kinds[STREAM] == set(streams)
    assert kinds[STATE] == {table for stream in streams.values() for table in stream.state_tables}
    for name, stream in streams.items():
        assert stream.table_id == versions[name].table_id
        assert stream.version_lsn == versions[name].lsn
        _check_history(name, history, lsns[name], stream)
        assert lake.verify(str(name)).ok, name
    _check_groups(streams, counted, history)
    commits = {commit.lsn: commit.kind for commit in lake.commits()}
    shown = [entry for entry in history if entry.lsn is not None and entry.lsn >= min(commits)]
    assert {entry.lsn for entry in shown if entry.action != IMMEDIATE} == {
        lsn for lsn, kind in commits.items() if kind == "refresh"
    }
    assert {commits[entry.lsn or 0] for entry in shown if entry.action == IMMEDIATE} <= {"write"}


def _check_history(name: TableName, history: list[Refresh], lsns: list[int], stream: StreamTable) -> None:
    """Every version has its one entry, every entry its version; they join end to end."""
    mine = [entry for entry in reversed(history) if entry.stream_table == name]
    done = [entry for entry in mine if entry.status == SUCCEEDED]
    told = Counter(entry.lsn for entry in done if entry.lsn is not None and entry.lsn >= min(lsns))
    assert told == Counter(lsns), name
    assert all(entry.lsn is None for entry in mine if entry.status != SUCCEEDED)
    for before, after in pairwise(done):
        assert after.since == before.until, name
    assert done[-1].until == stream.frontier
    assert done[-1].reads == stream.reads


def _check_groups(
    streams: Mapping[TableName, StreamTable], counted: Mapping[int, int], history: list[Refresh]
) -> None:
    groups: dict[int, list[StreamTable]] = defaultdict(list)
    for stream in streams.values():
        if stream.group_id is not None:
            groups[stream.group_id].append(stream)
    assert groups.keys() <= counted.keys()
    assert counted.keys() <= {entry.group_id for entry in history}, "a group that never published"
    for number, members in groups.items():
        assert len(members) > 1
        assert len({tuple(sorted(member.frontier.items())) for member in members}) == 1
        published = [entry for entry in history if entry.group_id == number and entry.epoch is not None]
        assert max(entry.epoch or 0 for entry in published) == counted[number]
        moved: dict[int | None, set[int | None]] = defaultdict(set)
        for entry in published:
            moved[entry.epoch].add(entry.lsn)
        assert all(len(each - {None}) == 1 for each in moved.values()), "an epoch is one commit"
