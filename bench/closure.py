"""The transitive closure of 10,000 edges: kept as edges come and go, against computing it again.

Spark's own recursion knows UNION ALL alone, so it gives a pair once for every path, and never ends on a
circle. That is right on a forest, where there is one path at most: the peer's text would be wrong, or far
slower, on other graphs. Ours is UNION, and right on all. It is kept by two texts: one joins the closure with
the edges, as the peer's does, which takes a pass for every layer; the other joins it with itself, which takes
a few. Spark's recursion can't do that: a step sees the rows of the pass before, not all. All commit; ours
what changed, the peer all rows.
"""

from __future__ import annotations

import random
import warnings
from itertools import pairwise
from pathlib import Path

import anabranch as ab
from bench.harness import Report, Row, Size, measure_seconds, ratio_report, ratio_row

LAYERS, WIDTH = 20, 500
"""Trees of 20 layers below their 500 roots: 10,000 edges, 105,000 pairs."""
CHANGED = 100
ROUNDS = 3
"""After one that warms up."""
AIM = 0.3

TEXTS = {
    "by_itself": "SELECT a, b FROM edges "
    "UNION SELECT x.a, y.b FROM by_itself x JOIN by_itself y ON x.b = y.a",
    "by_edges": "SELECT a, b FROM edges UNION SELECT r.a, e.b FROM by_edges r JOIN edges e ON r.b = e.a",
}
SPARKS = """
    WITH RECURSIVE reach(a, b) AS (
        SELECT a, b FROM edges UNION ALL SELECT r.a, e.b FROM reach r JOIN edges e ON r.b = e.a
    ) SELECT a, b FROM reach
"""
Edge = tuple[int, int]
Seconds = tuple[float, float, float, float]


class Forest:
    """Edges from parents to children, the same ones each time."""

    def __init__(self, width: int) -> None:
        self._chance = random.Random(7)
        layers = [range(width * depth, width * (depth + 1)) for depth in range(LAYERS + 1)]
        self.edges: list[Edge] = [
            (self._chance.choice(above), node) for above, layer in pairwise(layers) for node in layer
        ]
        self._roots = list(layers[0])
        self._next = width * (LAYERS + 1)

    def add_edges(self) -> list[Edge]:
        """A hundred new edges: from new nodes to roots, and to new leaves, by turns."""
        nodes = [node for _, node in self.edges]
        new: list[Edge] = []
        for number in range(CHANGED):
            self._next += 1
            if number % 2:
                new.append((self._chance.choice(nodes), self._next))
            else:
                new.append((self._next, self._roots.pop()))
        self.edges += new
        return new

    def remove_edges(self) -> list[Edge]:
        """A hundred edges that go, anywhere."""
        gone = set(self._chance.sample(self.edges, CHANGED))
        self.edges = [edge for edge in self.edges if edge not in gone]
        return sorted(gone)


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic."""
    forest = Forest(size.scale_count(WIDTH, least=2 * CHANGED))
    edges = len(forest.edges)
    with ab.connect(folder / "lake", allow_circular="true") as lake:
        for name in ("edges", "computed"):
            lake.create_table(name, "a BIGINT, b BIGINT")
        lake.insert("edges", forest.edges)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ab.Notice)
            lake.create_stream_tables([{"name": name, "query": text} for name, text in TEXTS.items()])
        seconds: dict[str, list[Seconds]] = {"added": [], "deleted": []}
        for _ in range(1 + size.measured_rounds(ROUNDS)):
            lake.insert("edges", forest.add_edges())
            seconds["added"].append(_measure_round(lake, "added"))
            lake.delete("edges", where=" OR ".join(f"b = {b}" for _, b in forest.remove_edges()))
            seconds["deleted"].append(_measure_round(lake, "deleted"))
        assert all(lake.verify(name).ok for name in TEXTS)
    rows = [row for what, rounds in seconds.items() for row in _rows(edges, what, rounds[1:])]
    return ratio_report("closure", rows, size)


def _measure_round(lake: ab.Lake, what: str) -> Seconds:
    """Seconds for ours by either text, for Spark's recursion, and for ours from nothing."""
    ours = {name: measure_seconds(lambda name=name: lake.refresh_stream_table(name)) for name in TEXTS}
    newest = {name: lake.refresh_history(name, limit=1)[0] for name in TEXTS}
    assert {entry.action for entry in newest.values()} == {"DIFFERENTIAL"}
    spark = measure_seconds(lambda: _recompute_with_spark(lake))
    assert {lake.arrow(name).num_rows for name in (*TEXTS, "computed")} == {lake.arrow("computed").num_rows}
    full = measure_seconds(lambda: lake.refresh_stream_table("by_itself", full=True))
    for name, entry in newest.items():
        moved = f"{entry.rows_inserted} rows came, {entry.rows_deleted} went"
        print(f"  {what}, {name}: {ours[name]:.2f} s, {moved}, {entry.fixpoint_iteration} passes", flush=True)
    print(f"  Spark's {spark:.2f} s, from nothing {full:.2f} s", flush=True)
    return ours["by_itself"], ours["by_edges"], spark, full


def _recompute_with_spark(lake: ab.Lake) -> None:
    """Spark's own recursion over the same edges, its rows committed in place of those before."""
    edges = lake.table("edges")
    edges.createOrReplaceTempView("edges")
    with lake.transaction() as tx:
        tx.truncate("computed")
        tx.insert("computed", edges.sparkSession.sql(SPARKS))


def _rows(edges: int, what: str, rounds: list[Seconds]) -> list[Row]:
    itself, by_edges, spark, full = zip(*rounds, strict=True)
    title = f"closure of {edges:,} edges, {CHANGED} {what}"
    compared = [
        (f"{title}, joined with itself", "Spark's recursive CTE", itself, spark),
        (f"{title}, joined with the edges", "Spark's recursive CTE", by_edges, spark),
        (f"{title}, joined with itself", "our own fill from nothing", itself, full),
    ]
    return [ratio_row(name, peer, AIM, ours, other) for name, peer, ours, other in compared]
