"""`make demo`: writing, time travel and changes, in half a minute."""

from __future__ import annotations

import tempfile

import anabranch as ab


def main() -> None:
    """Run the demonstration in a lake that is thrown away afterwards."""
    with tempfile.TemporaryDirectory(prefix="anabranch-demo-") as folder, ab.connect(folder) as lake:
        _write(lake)
        _travel(lake)
        _see_changes(lake)
        _ask(lake)
    _say("Done. The lake was a temporary folder; yours is one call away: ab.connect('./lake').")


def _write(lake: ab.Lake) -> None:
    _say("A lake is a folder and a catalog. Two tables, and one transaction over both:")
    lake.create_table("orders", "id BIGINT NOT NULL, region STRING, amount DECIMAL(12,2)")
    lake.create_table("order_lines", "order_id BIGINT NOT NULL, product STRING, quantity INT")
    with lake.transaction() as transaction:
        transaction.insert("orders", [(1, "north", 120), (2, "south", 75.5), (3, "south", 20)])
        transaction.insert("order_lines", [(1, "oar", 2), (2, "rope", 5), (3, "float", 1)])
    _say(f"  committed as lsn {transaction.lsn}: both tables, or neither. No Spark was needed so far.")


def _travel(lake: ab.Lake) -> None:
    before = lake.lsn
    _say("Updates, deletes and upserts run on Spark (it starts now, which takes a moment):")
    lake.update("orders", {"amount": "amount * 2"}, where="region = 'south'")
    lake.delete("orders", where="id = 3")
    lake.merge(
        "orders",
        [{"id": 1, "region": "north", "amount": 99}, {"id": 4, "region": "west", "amount": 7}],
        on=["id"],
    )
    _say(f"  orders now, at lsn {lake.lsn}:")
    lake.table("orders").orderBy("id").show()
    _say(f"  and as they were at lsn {before}:")
    lake.table("orders", as_of=before).orderBy("id").show()


def _see_changes(lake: ab.Lake) -> None:
    _say("What changed in between, as weighted rows: +n came, -n went.")
    lake.changes("orders", since=3).orderBy("id", "_weight").show()


def _ask(lake: ab.Lake) -> None:
    _say("Queries see all tables at one lsn:")
    lake.sql(
        "SELECT o.region, SUM(o.amount) AS total, SUM(l.quantity) AS pieces "
        "FROM orders o JOIN order_lines l ON l.order_id = o.id GROUP BY o.region ORDER BY o.region"
    ).show()


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
