"""The examples of the documentation, run as they stand there."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from tests.crash.schedulers import eventually
from tests.engines.lakes import duck_lake
from tests.streams.loading import refreshes, skips
from tests.streams.shop import all_right, one, rows
from tests.streams.test_run import SOON, running

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMES = ("order_summary", "line_summary", "order_report")


def examples(page: str) -> list[str]:
    """The Python of a page, block by block."""
    return BLOCK.findall((DOCS / page).read_text("utf-8"))


@pytest.fixture
def lake(place: Path) -> Iterator[ab.Lake]:
    """On the machine's clock: a scheduler runs beside the example."""
    with duck_lake(place) as opened:
        yield opened


class Reader(threading.Thread):
    """Reads what can be read, all the time, and remembers every state."""

    def __init__(self, lake: ab.Lake) -> None:
        super().__init__()
        self.states: dict[str, set[frozenset[object]]] = {name: set() for name in NAMES}
        self.over = threading.Event()
        self._lake = lake

    def run(self) -> None:
        while not self.over.is_set():
            with self._lake.snapshot() as snapshot:
                for name in set(NAMES).intersection(snapshot.tables()):
                    found = snapshot.arrow(name).to_pylist()
                    self.states[name].add(frozenset(tuple(row.values()) for row in found))


def test_the_bootstrap_of_the_docs_refreshes_everything_once_and_nobody_sees_a_part(lake):
    bootstrap, watermarks = examples("gates.md")
    reader = Reader(lake)
    reader.start()
    try:
        with running(lake) as scheduler:
            exec(compile(bootstrap, "gates.md", "exec"), {"lake": lake})
            eventually(lambda: one(lake, "order_report").status == "ACTIVE", SOON)
            scheduler.until("tick_finished", times=scheduler.count("tick_finished") + 2)
    finally:
        reader.over.set()
        reader.join()
    assert scheduler.error is None
    assert rows(lake, "order_report") == {(100, 20): 1}
    for name in NAMES:
        assert refreshes(lake, name) == 1, name
        assert len(skips(lake, name)) <= 1, "it may have been created after the last tick"
        final = frozenset(rows(lake, name))
        assert reader.states[name] <= {frozenset(), final}, name
    exec(compile(watermarks, "gates.md", "exec"), {"lake": lake})
    (group,) = lake.watermark_groups()
    assert (group.aligned, group.lag_seconds) == (True, 1800.0)
    lake.refresh_stream_table("order_report")
    assert rows(lake, "order_report") == {(110, 21): 1}
    assert all_right(lake)
