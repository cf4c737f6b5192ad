"""Many processes and threads write at once: nothing is lost, and nobody is told to wait."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from anabranch.names import TableName
from tests.consistency.processes import role, run_together

FEW_WRITERS, FEW_COMMITS = 4, 20
WRITERS, COMMITS = 8, 50
SHARED = TableName.parse("shared")


def _create_tables(lake: ab.Lake, writers: int) -> None:
    with lake.transaction() as tx:
        for table in ("shared", *(f"own_{writer}" for writer in range(writers))):
            tx.create_table(table, "writer INT, number INT")


def _rows(lake: ab.Lake, table: str, as_of: int | None = None) -> list[tuple[int, int]]:
    rows = lake.arrow(table, as_of=as_of)
    return sorted(zip(rows["writer"].to_pylist(), rows["number"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("writers", "commits"),
    [(FEW_WRITERS, FEW_COMMITS), pytest.param(WRITERS, COMMITS, marks=pytest.mark.slow)],
)
def test_many_processes_with_many_commits_each_lose_nothing_and_meet_no_error(
    place: Path,
    catalog: str | None,
    address: dict[str, str | None],
    writers: int,
    commits: int,
    record_property: pytest.RecordProperty,
) -> None:
    with ab.connect(place, catalog=catalog) as lake:
        _create_tables(lake, writers)
        results = run_together(
            *(role("append", **address, writer=writer, count=commits) for writer in range(writers))
        )
        retries = sum(result["retries"] for result in results)
        record_property("retries", retries)
        assert [error for result in results for error in result["errors"]] == []

        written = {(writer, number) for writer in range(writers) for number in range(commits)}
        assert _rows(lake, "shared") == sorted(written)
        for writer in range(writers):
            assert _rows(lake, f"own_{writer}") == [(writer, number) for number in range(0, commits, 2)]

        assert retries > 0, "the writers never met; this shows nothing"

        # Each commit has a number of its own, each writer's are in order, and none is left out.
        assert all(result["lsns"] == sorted(result["lsns"]) for result in results)
        lsns = sorted(lsn for result in results for lsn in result["lsns"])
        assert lsns == list(range(2, writers * commits + 2))
        assert [commit.lsn for commit in lake.commits(limit=1000)] == [*reversed(lsns), 1]

        # At every lsn exactly one more row, the one that its writer wrote.
        author = {
            lsn: (writer, number)
            for writer, result in enumerate(results)
            for number, lsn in enumerate(result["lsns"])
        }
        held: list[tuple[int, int]] = []
        for lsn in lsns:
            held.append(author[lsn])
            version = lake._context.catalog.lake_version(lsn).version(SHARED)
            assert (version.lsn, version.rows) == (lsn, len(held))
            if lsn % 20 == 0:
                assert _rows(lake, "shared", as_of=lsn) == sorted(held)


def test_threads_of_several_processes_share_a_lake_as_well(
    place: Path, catalog: str | None, address: dict[str, str | None]
) -> None:
    with ab.connect(place, catalog=catalog) as lake:
        _create_tables(lake, 2)
        results = run_together(
            *(role("append", **address, writer=writer, count=20, threads=4) for writer in range(2))
        )
        assert [error for result in results for error in result["errors"]] == []
        assert _rows(lake, "shared") == [(writer, number) for writer in range(2) for number in range(20)]
        assert sorted(lsn for result in results for lsn in result["lsns"]) == list(range(2, 42))


@pytest.mark.slow_on("sqlite")
def test_processes_that_create_the_same_table_if_it_does_not_exist_all_go_on(
    place: Path, catalog: str | None, address: dict[str, str | None]
) -> None:
    results = run_together(
        *(role("create_and_insert", **address, number=number) for number in range(WRITERS))
    )
    with ab.connect(place, catalog=catalog) as lake:
        assert sorted(lake.arrow("shared")["n"].to_pylist()) == list(range(WRITERS))
        assert sorted(result["lsn"] for result in results) == list(range(2, WRITERS + 2))
        assert lake.lsn == WRITERS + 1
