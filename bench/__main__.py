"""`python -m bench [topic …]`: measure some topics, or all that are short; print and save the numbers."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.harness import Report, Size

SHORT = ("commits", "idle", "graphs", "maintenance")
"""What is measured if no topic is named: it fits into twenty minutes on two cores."""
LONG = (
    "shares",
    "crossover",
    "full",
    "tpcds",
    "every",
    "every_on_spark",
    "growth",
    "fill",
    "wide",
    "closure",
    "pipelines",
    "memory",
    "cluster",
)
"""What is measured only when it is named: it takes long."""


def main() -> int:
    """Measure each topic in a process and a folder of its own; 1 if one of them fails."""
    asked = parse_arguments(sys.argv[1:])
    if len(asked.topics) == 1:
        size = Size(asked.scale, asked.rounds, tuple(asked.queries), tuple(asked.shares))
        _measure(asked.topics[0], size, asked.keep).save(size)
        return 0
    # One Spark after the other, and none begins with the memory and the warmth that another one left.
    options = [f"--scale={asked.scale}", *([f"--rounds={asked.rounds}"] if asked.rounds else [])]
    options += ["--queries", *asked.queries] if asked.queries else []
    options += ["--shares", *map(str, asked.shares)] if asked.shares else []
    options += [f"--keep={asked.keep}"] if asked.keep else []
    failed = [
        topic
        for topic in asked.topics
        if subprocess.run([sys.executable, "-m", "bench", topic, *options], check=False).returncode
    ]
    print(*(f"{topic} failed" for topic in failed), sep="\n", end="\n" if failed else "")
    return 1 if failed else 0


def parse_arguments(given: list[str]) -> argparse.Namespace:
    """What is asked for; no topic at all means those that are short."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    known = f"{', '.join(SHORT)}; only when named: {', '.join(LONG)}"
    parser.add_argument("topics", nargs="*", type=_parse_topic, metavar="topic", help=known)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's or TPC-DS's, or the share of rows")
    parser.add_argument("--rounds", type=int, help="measured rounds, after those that warm up")
    parser.add_argument("--queries", nargs="+", default=[], help="TPC-H's or TPC-DS's, as in q01 q18")
    parser.add_argument(
        "--shares",
        nargs="+",
        type=float,
        default=[],
        help="of changed rows, as in 0.01 0.05, where there are several",
    )
    parser.add_argument("--keep", type=Path, help="a folder whose lakes are used again, or made")
    asked = parser.parse_args(given)
    asked.topics = asked.topics or list(SHORT)
    return asked


def _parse_topic(name: str) -> str:
    if name not in {*SHORT, *LONG}:
        raise argparse.ArgumentTypeError(f"there is no topic {name!r}")
    return name


def _measure(topic: str, size: Size, keep: Path | None) -> Report:
    print(f"{topic}, scale {size.scale:g}", flush=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report: Report = importlib.import_module(f"bench.{topic}").measure(keep or Path(folder), size)
    print(f"\n{report.text}\n\n{topic} took {(time.perf_counter() - start) / 60:.1f} minutes\n", flush=True)
    return report


if __name__ == "__main__":
    sys.exit(main())
