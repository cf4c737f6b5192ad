"""Which stream tables are meant: `name`, `+name` with what it is made from, `name+` with its readers.

A name may be a pattern with `*`, `?` and `[…]`. Several selectors are a union.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from anabranch.errors import InvalidSelector, NothingSelected, UnknownStreamTable

MAX_SELECTOR = 300
_PATTERN = re.compile(r"[a-z0-9_.*?\[\]!-]+")
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Selector:
    """One selector, read.

    >>> Selector.parse("+Sales.*")
    Selector(pattern='sales.*', upstream=True, downstream=False)
    """

    pattern: str
    upstream: bool = False
    downstream: bool = False

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Read a selector, or say how one is written."""
        pattern = text.strip().lower()
        upstream, downstream = pattern.startswith("+"), pattern.endswith("+")
        pattern = pattern.removeprefix("+").removesuffix("+").removeprefix("main.")
        if len(pattern) > MAX_SELECTOR or not _PATTERN.fullmatch(pattern):
            raise InvalidSelector(
                f"{text[:60]!a} selects no stream tables",
                hint="write name, +name, name+ or +name+; * and ? in a name stand for anything.",
            )
        return cls(pattern, upstream, downstream)

    @property
    def is_wild(self) -> bool:
        """Whether it is a pattern."""
        return _WILD.search(self.pattern) is not None

    def matching_names(self, names: Iterable[str]) -> list[str]:
        """The names that it means, before what is around them is taken in."""
        return [name for name in names if fnmatchcase(name, self.pattern)]


@dataclass(frozen=True)
class DependencyMap:
    """Who reads whom: stream tables in the order in which they refresh, each with what it reads."""

    inputs: Mapping[str, Sequence[str]]

    @property
    def sources(self) -> frozenset[str]:
        """What is read and isn't a stream table."""
        return frozenset(name for read in self.inputs.values() for name in read) - self.inputs.keys()


def select(selectors: Sequence[str], tables: DependencyMap) -> list[str]:
    """The stream tables that any of the selectors means, in the order in which they refresh."""
    readers: dict[str, list[str]] = defaultdict(list)
    for name, read in tables.inputs.items():
        for source in read:
            readers[source].append(name)
    found: set[str] = set()
    for text in selectors:
        selector = Selector.parse(text)
        # What is made from a source is a question that makes sense; a source alone is not selected.
        starts = selector.matching_names([*tables.inputs, *tables.sources])
        reached = set(starts)
        if selector.upstream:
            reached |= _reachable_tables(starts, tables.inputs)
        if selector.downstream:
            reached |= _reachable_tables(starts, readers)
        if not reached & tables.inputs.keys():
            raise _nothing_selected_error(text, selector, tables)
        found |= reached
    return [name for name in tables.inputs if name in found]


def _reachable_tables(starts: Iterable[str], next_to: Mapping[str, Sequence[str]]) -> set[str]:
    seen: set[str] = set()
    pending = list(starts)
    while pending:
        for name in next_to.get(pending.pop(), ()):
            if name not in seen:
                seen.add(name)
                pending.append(name)
    return seen


def _nothing_selected_error(
    text: str, selector: Selector, tables: DependencyMap
) -> NothingSelected | UnknownStreamTable:
    if selector.pattern in tables.sources:
        return NothingSelected(
            f'"{selector.pattern}" is a source, and no stream table that is selected comes with it',
            hint=f"{selector.pattern}+ selects what is made from it.",
        )
    if not selector.is_wild:
        return UnknownStreamTable(
            f'there is no stream table "{selector.pattern}"', hint="`anabranch status` lists them."
        )
    return NothingSelected(f"{text!a} selects no stream table", hint="`anabranch status` lists them.")
