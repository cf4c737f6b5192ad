"""A SELECT that projections and filters can still be added to, so that they need no SELECT of their own.

An engine takes its time for every level of a statement, and over few rows that is most of the time it takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from anabranch.algebra.scalar import Literal, Ref, Scalar, Verbatim, children, refs, replace_refs
from anabranch.engine.render.dialect import Dialect
from anabranch.engine.render.scalar_sql import alias_as, raw_sql, scalar_sql, select
from anabranch.names import WEIGHT

ALWAYS = "monotonically_increasing_id() >= 0"


@dataclass(frozen=True)
class SelectBlock:
    """SELECT columns FROM source WHERE conditions, each over the columns of the source."""

    source: str
    columns: Mapping[str, Scalar]
    """What each column is computed from."""
    weight: str | None = None
    """How often a row counts, as SQL; None: once."""
    conditions: tuple[Scalar, ...] = ()
    last_conditions: tuple[Scalar, ...] = ()
    """Conditions that the engine must not move below what the source joins."""
    hint: str | None = None

    def project(self, items: Iterable[tuple[str, Scalar]]) -> SelectBlock | None:
        """With other columns; None if a value would be computed twice, or can't stand where it is read."""
        chosen = tuple(items)
        if not self._can_inline([scalar for _, scalar in chosen]):
            return None
        return replace(self, columns={name: self._inline(scalar) for name, scalar in chosen})

    def filter(self, condition: Scalar, *, last: bool = False) -> SelectBlock | None:
        """With a further condition; None if it reads a value that is computed."""
        if not all(isinstance(self.columns[name], Ref) for name in refs(condition)):
            return None
        inside = self._inline(condition)
        if last:
            return replace(self, last_conditions=(*self.last_conditions, inside))
        return replace(self, conditions=(*self.conditions, inside))

    def negate(self) -> SelectBlock:
        """With all weights of the other sign."""
        return replace(self, weight=f"-{self.weight or 1}")

    def rename(self, names: Sequence[tuple[str, str]]) -> SelectBlock:
        """With some of its columns, each under a new name: (new, old)."""
        return replace(self, columns={new: self.columns[old] for new, old in names})

    def _inline(self, scalar: Scalar) -> Scalar:
        return replace_refs(scalar, lambda ref: self.columns[ref.name])

    def _can_inline(self, scalars: Sequence[Scalar]) -> bool:
        uses = Counter(name for scalar in scalars for name in refs(scalar))
        in_text = {name for scalar in scalars for name in _refs_in_text(scalar)}
        for name, count in uses.items():
            value = self.columns[name]
            if isinstance(value, Ref) or (isinstance(value, Literal) and name not in in_text):
                continue
            if count > 1 or name in in_text:
                return False
        return True

    def query(self, dialect: Dialect, names: Iterable[str], *, weighted: bool) -> exp.Select:
        """The statement: some of its columns, and with `weighted` the weight."""
        items = [alias_as(name, scalar_sql(self.columns[name], dialect)) for name in names]
        if weighted:
            items.append(alias_as(WEIGHT, raw_sql(self.weight or "1")))
        query = select(items, self.source)
        for condition in self.conditions:
            query = query.where(scalar_sql(condition, dialect), copy=False)
        for condition in self.last_conditions:
            # Spark doesn't move nondeterministic conditions. This one only seems nondeterministic.
            text = scalar_sql(condition, dialect).sql(dialect.name)
            query = query.where(raw_sql(f"IF({ALWAYS}, {text}, FALSE)"), copy=False)
        return add_hint(query, self.hint)


def add_hint(query: exp.Select, hint: str | None) -> exp.Select:
    """A SELECT with a hint, if there is one."""
    if hint is not None:
        query.set("hint", exp.Hint(expressions=[raw_sql(hint)]))
    return query


def _refs_in_text(scalar: Scalar) -> Iterable[str]:
    if isinstance(scalar, Verbatim):
        yield from refs(scalar)
    else:
        for child in children(scalar):
            yield from _refs_in_text(child)
