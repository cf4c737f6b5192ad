"""`python -m bench [topic …]`: measure some topics, or all that are short; save and print the numbers."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import closure, commits, fill, graphs, idle, maintenance, memory, pipelines, wide
from bench.harness import Row, save, table

LONG = ("memory", "closure", "pipelines")
"""Topics that take long, and are measured only when they are named."""
TOPICS = {
    "commits": commits.measure,
    "idle": idle.measure,
    "graphs": graphs.measure,
    "fill": fill.measure,
    "wide": wide.measure,
    "memory": memory.measure,
    "closure": closure.measure,
    "pipelines": pipelines.measure,
}


def main() -> None:
    """Measure every topic in a folder of its own."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("topics", nargs="*", choices=[*TOPICS, "maintenance"], metavar="topic")
    wanted = parser.parse_args().topics or [*(topic for topic in TOPICS if topic not in LONG), "maintenance"]
    measured: dict[str, list[Row]] = {}
    for topic in wanted:
        if topic in TOPICS:
            print(topic, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                measured[topic] = TOPICS[topic](Path(folder))
            save(topic, measured[topic])
    if measured:
        print()
        print(table(measured))
        print()
    if "maintenance" in wanted:
        maintenance.main([])


if __name__ == "__main__":
    main()
