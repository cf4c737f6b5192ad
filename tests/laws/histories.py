"""Random histories: small key spaces, NULLs, duplicates, changes that cancel, batches that empty a table."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.laws.model import (
    ASSIGNMENTS,
    CONDITIONS,
    Compact,
    Delete,
    Insert,
    Maintain,
    Merge,
    Row,
    Step,
    Together,
    Truncate,
    Update,
    Verb,
)

TABLES = st.sampled_from(("t", "t", "t", "u"))
KEYS = st.sampled_from((None, 1, 2, 3))
VALUES = st.sampled_from((None, 0, 1, 2, 3))
ROWS: st.SearchStrategy[Row] = st.tuples(KEYS, KEYS, VALUES)
WHERE = st.none() | st.sampled_from(sorted(CONDITIONS))

INSERTS: st.SearchStrategy[Verb] = st.builds(
    Insert, TABLES, st.lists(ROWS, max_size=6).map(tuple), st.sampled_from(("tuples", "dicts", "arrow"))
)
TRUNCATES: st.SearchStrategy[Verb] = st.builds(Truncate, TABLES)
UPDATES: st.SearchStrategy[Verb] = st.builds(Update, TABLES, st.sampled_from(sorted(ASSIGNMENTS)), WHERE)
DELETES: st.SearchStrategy[Verb] = st.builds(Delete, TABLES, WHERE)


@st.composite
def _merges(draw: st.DrawFn) -> Verb:
    on = draw(st.sampled_from((("k",), ("k", "j"))))
    columns = tuple(name for name in ("k", "j", "v") if name in on or draw(st.booleans()))
    gone = st.sampled_from((True, False, None))
    rows = draw(st.lists(st.tuples(ROWS, gone), max_size=4, unique_by=lambda item: item[0][: len(on)]))
    if draw(st.integers(0, 9)) == 0 and rows:
        rows.append(rows[0])  # claims the same row twice
    return Merge(draw(TABLES), tuple(rows), columns, on, draw(st.booleans()))


MERGES: st.SearchStrategy[Verb] = _merges()


def histories(*verbs: st.SearchStrategy[Verb], longest: int) -> st.SearchStrategy[list[Step]]:
    """Histories made of these verbs, alone and together in transactions, with housekeeping between."""
    verb = st.one_of(*verbs)
    together = st.builds(Together, st.lists(verb, min_size=1, max_size=3).map(tuple), st.booleans())
    housekeeping = st.builds(Compact, TABLES) | st.builds(Maintain, st.integers(0, 4))
    step: st.SearchStrategy[Step] = st.one_of(*verbs, *verbs, together, housekeeping)
    first = st.builds(Insert, st.just("t"), st.lists(ROWS, min_size=3, max_size=8).map(tuple))
    return st.tuples(first, st.lists(step, min_size=2, max_size=longest)).map(
        lambda pair: [pair[0], *pair[1]]
    )


WITHOUT_SPARK = (INSERTS, INSERTS, TRUNCATES, st.builds(Delete, TABLES, st.none()))
WITH_SPARK = (INSERTS, UPDATES, DELETES, MERGES, TRUNCATES)
