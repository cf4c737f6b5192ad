"""`python -m bench`: measure everything, save the numbers, and print the table."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench import closure, commits, idle, maintenance
from bench.harness import Row, save, table

TOPICS = {"commits": commits.measure, "idle": idle.measure, "closure": closure.measure}


def main() -> None:
    """Measure every topic in a folder of its own."""
    measured: dict[str, list[Row]] = {}
    for topic, measure in TOPICS.items():
        print(topic, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            measured[topic] = measure(Path(folder))
        save(topic, measured[topic])
    print()
    print(table(measured))
    print()
    maintenance.main([])


if __name__ == "__main__":
    main()
