"""A transaction over five tables is seen whole, or not at all, from every other process."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from tests.consistency.processes import role, run_together
from tests.consistency.worker import FIVE, GLANCES, create_five, expected

TRANSACTIONS = 200
ENOUGH_POLLS = 100
ENOUGH_MARKERS = 10


@pytest.mark.slow_on("sqlite")
def test_readers_in_other_processes_never_see_a_mixture_of_five_tables(
    place: Path, tmp_path: Path, catalog: str | None, uri: str, address: dict[str, str | None]
) -> None:
    """Each transaction writes one number into all five tables, in some after emptying them."""
    looks = tmp_path / "looks"
    looks.mkdir()
    with ab.connect(place, catalog=catalog) as lake:
        create_five(lake)
        written, *readers, foreign = run_together(
            role("transact", **address, count=TRANSACTIONS, looks=str(looks), enough=ENOUGH_POLLS),
            role("watch", **address, last=TRANSACTIONS, looks=str(looks)),
            role("watch", **address, last=TRANSACTIONS, looks=str(looks)),
            role("watch_foreign", place=str(place), uri=uri, last=TRANSACTIONS),
        )
        assert written["lsns"] == list(range(2, TRANSACTIONS + 2))
        assert [reader["problems"] for reader in (*readers, foreign)] == [[], [], []]
        # Too few looks, or all at the same state, would prove nothing.
        assert sum(reader["polls"] for reader in readers) >= ENOUGH_POLLS
        assert sum(reader["glances"] for reader in readers) >= GLANCES * ENOUGH_POLLS
        assert min(reader["markers"] for reader in readers) >= ENOUGH_MARKERS
        assert foreign["polls"] >= ENOUGH_MARKERS * len(FIVE)

        for marker, lsn in list(enumerate([1, *written["lsns"]]))[::8]:
            held = {table: sorted(lake.arrow(table, as_of=lsn)["n"].to_pylist()) for table in FIVE}
            assert held == {table: expected(table, marker) for table in FIVE}
