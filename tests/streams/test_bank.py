"""Money moves between accounts all the while; none is ever made or lost, in whatever is read.

After "Internal consistency in streaming systems": a balance is what came less what went, so all balances
together are zero, in every snapshot and at every version. Any mixture of two moments would show.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

import anabranch as ab
from tests.streams.at_every_version import Watch

ACCOUNTS = 10
WRITERS = 4
READERS = 2
TABLES = {
    "credits": "SELECT to_account AS account, CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM transfers GROUP BY to_account",
    "debits": "SELECT from_account AS account, CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM transfers GROUP BY from_account",
    "balance": "SELECT COALESCE(c.account, d.account) AS account, "
    "COALESCE(c.amount, 0) - COALESCE(d.amount, 0) AS balance "
    "FROM credits AS c FULL OUTER JOIN debits AS d ON c.account = d.account",
    "total": "SELECT CAST(COALESCE(SUM(balance), 0) AS BIGINT) AS total FROM balance",
}


def open_bank(lake: ab.Lake) -> None:
    lake.create_table("transfers", "id BIGINT, from_account BIGINT, to_account BIGINT, amount BIGINT")
    lake.create_stream_tables(
        [{"name": name, "query": query, "schedule": "1s"} for name, query in TABLES.items()]
    )


def total(read: Callable[[str], object]) -> tuple[list[int], int]:
    """The stored total, and the sum of the stored balances."""
    return read("total")["total"].to_pylist(), sum(read("balance")["balance"].to_pylist())


def versions(lake: ab.Lake) -> list[int]:
    """The commits under which balances were published."""
    entries = lake.refresh_history("balance", limit=100_000)
    return sorted(entry.lsn for entry in entries if entry.lsn is not None)


def trade(lake: ab.Lake, clock: ab.ManualClock, wanted: int) -> tuple[int, int]:
    """Transfers, ticks and reads side by side until there are enough versions; reads, and transfers made.

    A tick lets as many transfers and reads begin as there are threads for them: they run while it does.
    """
    enough = threading.Event()
    written = threading.Semaphore(0)
    allowed = threading.Semaphore(WRITERS)
    glances = threading.Semaphore(READERS)

    def write(writer: int) -> int:
        chance = random.Random(writer)
        made = 0
        while allowed.acquire() and not enough.is_set():
            made += 1
            one, other = chance.sample(range(ACCOUNTS), 2)
            lake.insert("transfers", [(made * WRITERS + writer, one, other, chance.randint(1, 100))])
            written.release()
        return made

    def schedule() -> None:
        try:
            while len(versions(lake)) < wanted:
                written.acquire()
                clock.advance(1)
                allowed.release(WRITERS)
                glances.release(READERS)
                assert lake.tick().failed == ()
        finally:
            enough.set()
            allowed.release(WRITERS)
            glances.release(READERS)

    def read(_: int) -> int:
        seen, last = 0, 0
        while glances.acquire() and not enough.is_set():
            with lake.snapshot() as snapshot:
                found = total(snapshot.arrow)
                assert found == ([0], 0), f"at {snapshot.lsn}: {found}"
                assert snapshot.lsn >= last
                last = snapshot.lsn
            seen += 1
        return seen

    with ThreadPoolExecutor(WRITERS + READERS + 1) as pool:
        scheduler = pool.submit(schedule)
        writers = [pool.submit(write, number) for number in range(WRITERS)]
        readers = [pool.submit(read, number) for number in range(READERS)]
        for each in (scheduler, *readers, *writers):
            each.result()
        return sum(each.result() for each in readers), sum(each.result() for each in writers)


def audit(lake: ab.Lake, wanted: int) -> None:
    """Nothing is lost at any version, and each is its query at its frontier."""
    found = versions(lake)
    assert len(found) >= wanted
    for lsn in found:
        assert total(lambda name, lsn=lsn: lake.arrow(name, as_of=lsn)) == ([0], 0), f"at {lsn}"
    frontiers = [entry.until for entry in reversed(lake.refresh_history("total", limit=100_000))]
    assert all(one["transfers"] <= other["transfers"] for one, other in pairwise(frontiers))
    watch = Watch(lake)
    watch.look()
    assert watch.checked >= wanted


def run_bank(lake: ab.Lake, clock: ab.ManualClock, wanted: int) -> None:
    open_bank(lake)
    reads, transfers = trade(lake, clock, wanted)
    assert reads
    assert transfers >= wanted - 1
    audit(lake, wanted)
    for name in TABLES:
        assert lake.verify(name).ok


def test_in_every_snapshot_and_at_every_version_the_total_is_zero(duck_lake, clock):
    run_bank(duck_lake, clock, 12)


@pytest.mark.slow
def test_in_every_snapshot_and_at_many_versions_the_total_is_zero(duck_lake, clock):
    run_bank(duck_lake, clock, 50)


@pytest.fixture
def spark_bank(place, spark, clock):
    with ab.connect(place, spark=spark, clock=clock) as lake:
        yield lake


def test_on_spark_the_total_is_zero_too(spark_bank, clock):
    run_bank(spark_bank, clock, 6)


@pytest.mark.slow
def test_on_spark_the_total_is_zero_over_many_versions(spark_bank, clock):
    run_bank(spark_bank, clock, 50)
