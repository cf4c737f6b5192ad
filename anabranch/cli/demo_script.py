"""`make demo`: two branches of one source that meet again, and agree at every version."""

from __future__ import annotations

import itertools
import tempfile
import threading
import warnings
from decimal import Decimal

import anabranch as ab

REGIONS = ("north", "south", "west")
BY_REGION = "SELECT region, SUM(amount) AS revenue, COUNT(*) AS sales FROM sales GROUP BY region"
BY_PRODUCT = """
    SELECT product, SUM(amount) AS revenue, MIN(amount / pieces) AS lowest_price
    FROM sales GROUP BY product
"""
SUMMARY = """
    SELECT (SELECT SUM(revenue) FROM revenue_by_region) AS regional_total,
           (SELECT SUM(revenue) FROM revenue_by_product) AS product_total
"""
ROUNDS = 4


def main() -> None:
    """Run the demonstration in a lake that is thrown away afterwards."""
    with tempfile.TemporaryDirectory(prefix="anabranch-demo-") as folder, ab.connect(folder) as lake:
        _define(lake)
        _keep_fresh(lake)
        _fail_and_recover(lake)
        agreed = _check_all_versions(lake)
    _say(f"Done: {agreed} versions, and the two totals agreed in every one of them.")


def _define(lake: ab.Lake) -> None:
    _say("Sales, summed up by region and by product, and both sums in one summary. (Spark starts; a moment.)")
    lake.create_table("sales", "id BIGINT, region STRING, product BIGINT, pieces INT, amount DECIMAL(12,2)")
    lake.insert("sales", [(id, REGIONS[id % 3], id % 4, 1, 10 * id) for id in range(1, 10)])
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always", ab.Notice)
        lake.create_stream_tables(
            [
                {"name": "revenue_by_region", "query": BY_REGION, "schedule": "1s"},
                {"name": "revenue_by_product", "query": BY_PRODUCT, "schedule": "1s"},
                {"name": "exec_summary", "query": SUMMARY, "schedule": "1s"},
            ]
        )
    for notice in notices:
        _say(f"  Notice: {notice.message}")
    _say(_indent(str(lake.dependency_tree())))
    _show(lake)


def _keep_fresh(lake: ab.Lake) -> None:
    _say("Somebody sells, all the time; the scheduler ticks. What is read stays in step:")
    stop = threading.Event()
    seller = threading.Thread(target=_sell, args=(lake, stop))
    seller.start()
    try:
        for _ in range(ROUNDS):
            stop.wait(1.0)
            lake.tick()
            _show(lake)
    finally:
        stop.set()
        seller.join()


def _sell(lake: ab.Lake, stop: threading.Event) -> None:
    for id in itertools.count(10):
        lake.insert("sales", [(id, REGIONS[id % 3], id % 4, 2, Decimal(id) / 2)])
        if stop.wait(0.25):
            return


def _fail_and_recover(lake: ab.Lake) -> None:
    _say("A sale of zero pieces comes in: one branch divides by it, and fails.")
    lake.insert("sales", [(9999, "north", 1, 0, 1000)])
    _wait_until_due()
    for name, why in lake.tick().failed:
        _say(f"  {name}: {why.splitlines()[0]}")
    for entry in lake.refresh_history(limit=3):
        _say(f"  {entry.stream_table:<20} {entry.status:<12} group {entry.group_id}")
    _show(lake)
    _say("  Nothing of the group moved: no reader ever sees one branch ahead of the other.")
    _say("The sale is mended, and the group is tried again: all three advance together.")
    lake.update("sales", {"pieces": "1"}, where="pieces = 0")
    while True:
        _wait_until_due()
        if lake.tick().refreshed:
            break
    _show(lake)


def _wait_until_due() -> None:
    threading.Event().wait(1.1)


def _check_all_versions(lake: ab.Lake) -> int:
    versions = [entry.lsn for entry in lake.refresh_history("exec_summary") if entry.lsn is not None]
    for lsn in versions:
        regional, product = lake.arrow("exec_summary", as_of=lsn).to_pylist()[0].values()
        if regional != product:
            raise AssertionError(f"at lsn {lsn} the totals are {regional} and {product}")
    return len(versions)


def _show(lake: ab.Lake) -> None:
    with lake.snapshot() as snapshot:
        row = snapshot.arrow("exec_summary").to_pylist()[0]
        sales = snapshot.arrow("sales").num_rows
    epoch = lake.diamond_groups()[0].epoch
    _say(
        f"  epoch {epoch}: by region {row['regional_total']}, by product {row['product_total']}  "
        f"({sales} sales so far, lsn {lake.lsn})"
    )


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
