"""Many readers while a diamond is refreshed: each sees its members at one moment, and never an older one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import anabranch as ab
from tests.streams.at_every_version import Watch
from tests.streams.shop import DIAMOND as NAMES
from tests.streams.shop import diamond, sell, stock

READERS = 8
AT_ONCE = 4


def sums(read: Callable[[str], Any]) -> tuple[Any, ...]:
    """The revenue by region, by product, and both as the summary has them; and how many sales there were."""
    regions, products, summary = (read(name).to_pydict() for name in NAMES)
    (regional,), (by_product,) = summary["regional_total"], summary["product_total"]
    return sum(regions["revenue"]), sum(products["revenue"]), regional, by_product, sum(regions["n"])


def watch_readers(lake: ab.Lake, clock: ab.ManualClock, refreshes: int) -> None:
    diamond(lake)
    over = threading.Event()
    glances = threading.Semaphore(0)

    def read() -> int:
        last, looks = (0, 0), 0
        while glances.acquire() and not over.is_set():
            with lake.snapshot() as snapshot:
                regions, products, regional, by_product, sales = sums(snapshot.arrow)
                assert regions == products == regional == by_product, f"mixed at {snapshot.lsn}"
                assert (snapshot.lsn, sales) >= last
                assert sales >= last[1], "an older state than was read before"
                last = snapshot.lsn, sales
            looks += 1
        return looks

    def publish() -> None:
        try:
            for number in range(refreshes):
                sell(lake, 100 + number, region="north south east".split()[number % 3], product=number % 4)
                clock.advance(60)
                glances.release(AT_ONCE)  # these look while the tick runs
                assert len(lake.tick().refreshed) == len(NAMES)
        finally:
            over.set()
            glances.release(READERS)

    with ThreadPoolExecutor(READERS + 1) as pool:
        readers = [pool.submit(read) for _ in range(READERS)]
        writer = pool.submit(publish)
        writer.result()
        assert sum(each.result() for each in readers) >= refreshes // 2
    (epoch,) = {each.epoch for each in lake.diamond_groups()}
    assert epoch == refreshes + 1
    watch = Watch(lake)
    watch.look()
    assert watch.checked >= len(NAMES) * refreshes


def test_readers_never_see_a_mixture_and_never_go_back(shop, clock):
    watch_readers(shop, clock, 20)


@pytest.mark.slow
def test_readers_of_many_versions_never_see_a_mixture_and_never_go_back(shop, clock):
    watch_readers(shop, clock, 100)


@pytest.fixture
def spark_shop(place, spark, clock) -> Iterator[ab.Lake]:
    with ab.connect(place, spark=spark, clock=clock) as lake:
        stock(lake)
        yield lake


def test_on_spark_readers_never_see_a_mixture_and_never_go_back(spark_shop, clock):
    watch_readers(spark_shop, clock, 10)
