"""A transaction over five tables is seen whole, or not at all, from every other process."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from tests.consistency.processes import role, run_together
from tests.consistency.worker import FIVE, GLANCES, create_five, expected

ENOUGH_MARKERS = 10


@pytest.mark.slow_on("sqlite")
@pytest.mark.parametrize(
    ("transactions", "polls"), [(40, 20), pytest.param(200, 100, marks=pytest.mark.slow)]
)
def test_readers_in_other_processes_never_see_a_mixture_of_five_tables(
    place: Path,
    tmp_path: Path,
    catalog: str | None,
    uri: str,
    address: dict[str, str | None],
    transactions: int,
    polls: int,
) -> None:
    """Each transaction writes one number into all five tables, in some after emptying them."""
    looks = tmp_path / "looks"
    looks.mkdir()
    with ab.connect(place, catalog=catalog) as lake:
        create_five(lake)
        written, *readers, foreign = run_together(
            role("transact", **address, count=transactions, looks=str(looks), enough=polls),
            role("watch", **address, last=transactions, looks=str(looks)),
            role("watch", **address, last=transactions, looks=str(looks)),
            role("watch_foreign", place=str(place), uri=uri, last=transactions),
        )
        assert written["lsns"] == list(range(2, transactions + 2))
        assert [reader["problems"] for reader in (*readers, foreign)] == [[], [], []]
        # Too few looks, or all at the same state, would prove nothing.
        assert sum(reader["polls"] for reader in readers) >= polls
        assert sum(reader["glances"] for reader in readers) >= GLANCES * polls
        assert min(reader["markers"] for reader in readers) >= ENOUGH_MARKERS
        assert foreign["polls"] >= ENOUGH_MARKERS * len(FIVE)

        for marker, lsn in list(enumerate([1, *written["lsns"]]))[::8]:
            held = {table: sorted(lake.arrow(table, as_of=lsn)["n"].to_pylist()) for table in FIVE}
            assert held == {table: expected(table, marker) for table in FIVE}
