"""A lake with TPC-H's tables, and stream tables over them: made once, and used again if it is kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anabranch as ab
from bench.harness import measure_seconds
from tests.tpch.data import generate, load

QUERIES = Path(__file__).parent.parent / "tests" / "tpch" / "queries"


@contextmanager
def open_tpch_lake(folder: Path, scale: float, **settings: object) -> Iterator[ab.Lake]:
    """A lake in a folder; it is loaded if it isn't there. Without notices: who reads numbers knows them."""
    with open_generated_lake(folder / f"{scale:g}", scale, generate, load, **settings) as lake:
        yield lake


@contextmanager
def open_generated_lake(
    place: Path,
    scale: float,
    generate: Callable[[Path, float], object],
    load: Callable[[ab.Lake, Path], int],
    **settings: object,
) -> Iterator[ab.Lake]:
    """The same with the tables of any generator."""
    there = (place / "lake").exists()
    if not there:
        generate(place / "data", scale)
    with ab.connect(place / "lake", **settings) as lake, warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        if not there:
            seconds = measure_seconds(lambda: load(lake, place / "data"))
            print(f"  scale {scale:g}: loaded in {seconds:.0f} s", flush=True)
        yield lake


def read_queries(queries: tuple[str, ...]) -> dict[str, str]:
    """The text of each query; of all, if none is named."""
    paths = sorted(QUERIES.glob("*.sql"))
    return {path.stem: path.read_text() for path in paths if path.stem in queries or not queries}


def stream_name(query: str, mode: str) -> str:
    """The stream table that keeps a query in a mode."""
    return query if mode == "differential" else f"{query}_{mode}"


def create_stream(
    lake: ab.Lake, query: str, mode: str, *, initialize: bool = True, text: str | None = None
) -> None:
    """Create the stream table of a query, unless it is there; without a text it is TPC-H's."""
    name = stream_name(query, mode)
    if not any(stream.name == name for stream in lake.status()):
        text = read_queries((query,))[query] if text is None else text
        lake.create_stream_table(name, text, refresh_mode=mode, schedule=None, initialize=initialize)
