"""A plan as one SELECT: every distinct subplan becomes one common table expression, once.

Projections and filters that are read once have none of their own: they become columns and conditions of the
SELECT that they take their rows from.

The text is the same for the same plan, byte for byte. Tables are placeholders: `RenderedStatement.leaves`
says which relation each stands for, and the engine binds it to files at a version.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlglot import exp

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Filter,
    Generate,
    Join,
    Materialised,
    Negate,
    Net,
    Plan,
    Project,
    Rows,
    Scan,
    SetOp,
    StoredResult,
    Support,
    Tally,
    Top,
    UnionAll,
    Values,
    Window,
    subplans,
)
from anabranch.algebra.prune_columns import wanted_columns
from anabranch.algebra.scalar import Ref
from anabranch.algebra.weights import HasWeightColumn
from anabranch.delta.single_partition import RelationFacts
from anabranch.delta.small_subplans import has_distinct_rows
from anabranch.engine.render.aggregate_and_window_sql import aggregate_sql, tally_sql, top_sql, window_sql
from anabranch.engine.render.dialect import Dialect
from anabranch.engine.render.hints import Hints
from anabranch.engine.render.scalar_sql import alias_as, column, raw_sql, scalar_sql, select
from anabranch.engine.render.select_block import SelectBlock, add_hint
from anabranch.names import WEIGHT

C = TypeVar("C")
TIMES = "__t"
Leaf = Scan | Delta | StoredResult | Materialised


@dataclass(frozen=True)
class RenderedStatement:
    """A statement in which `{leaf_0}`, `{leaf_1}`, … stand for tables, and what they stand for.

    A leaf lists the columns that are read of it, under the table's own names, which its relation
    must have; that of a `Delta` or of a weighted `Materialised` also has `__weight`.
    """

    template: str
    leaves: tuple[tuple[str, Leaf], ...]


def render(
    plan: Plan,
    dialect: Dialect,
    columns: tuple[str, ...] | None = None,
    *,
    known: RelationFacts | None = None,
) -> RenderedStatement:
    """The statement for a plan; `columns` are the names of the result (by default the plan's own).

    `known`: what is known of the sizes of what it reads, for hints where to compute it.
    """
    hints = Hints(known) if known is not None and known.few and dialect.has_hints else None
    return _Rendering(plan, dialect, hints).statement(columns or plan.names)


class _Rendering:
    """Builds one statement."""

    def __init__(self, plan: Plan, dialect: Dialect, hints: Hints | None) -> None:
        self._plan = plan
        self._dialect = dialect
        self._hints = hints
        self._wanted = wanted_columns(plan)
        self._uses = Counter(below for part in subplans(plan) for below in part.inputs)
        self._only_matched = _only_matched(plan)
        self._weighted = HasWeightColumn()
        self._parts: list[tuple[str, exp.Query]] = []
        self._known: dict[Plan, str] = {}
        self._gathered: dict[Plan, str] = {}
        self._leaves: dict[tuple[str, ...], tuple[str, Leaf]] = {}

    def statement(self, columns: tuple[str, ...]) -> RenderedStatement:
        plan, dialect = self._plan, self._dialect.name
        if columns == plan.names and not isinstance(plan, Values):
            query = self._query(plan)
        else:
            block = self._block(plan) or self._named_block(plan)
            renamed = block.rename(list(zip(columns, plan.names, strict=True)))
            query = renamed.query(self._dialect, columns, weighted=self._weighted(plan))
        parts = ", ".join(f"{name} AS ({part.sql(dialect, copy=False)})" for name, part in self._parts)
        text = f"{f'WITH {parts} ' if parts else ''}{query.sql(dialect, copy=False)}"
        text = text.replace("{", "{{").replace("}", "}}")
        for placeholder, _ in self._leaves.values():
            text = text.replace(_leaf_name(placeholder), "{" + placeholder + "}")
        return RenderedStatement(text, tuple(self._leaves.values()))

    def _relation(self, plan: Plan) -> str:
        found = self._known.get(plan)
        if found is None:
            found = self._known[plan] = self._add_cte(self._query(plan))
        return found

    def _add_cte(self, query: exp.Query) -> str:
        self._parts.append((f"p{len(self._parts)}", query))
        return self._parts[-1][0]

    def _single_partition_relation(self, plan: Plan) -> str:
        """A relation whose rows are compared with one another: few rows are put into one partition."""
        hint = None if self._hints is None else self._hints.gather_hint(plan)
        if hint is None:
            return self._relation(plan)
        if plan not in self._gathered:
            self._gathered[plan] = self._add_cte(add_hint(select([exp.Star()], self._relation(plan)), hint))
        return self._gathered[plan]

    # -- one node -----------------------------------------------------------------------------

    def _query(self, plan: Plan) -> exp.Query:
        block = self._block(plan)
        if block is not None:
            return block.query(self._dialect, self._wanted[plan], weighted=self._weighted(plan))
        match plan:
            case Values():
                return self._values(plan)
            case UnionAll():
                return self._union(plan)
            case Net() | Support() | Distinct() | Rows():
                return self._multiplicity_query(plan)
            case SetOp():
                return self._set_operation(plan)
            case Generate():
                return self._generate(plan)
            case Aggregate(source, _, calls):
                grouped = replace(plan, calls=self._wanted_calls(plan, calls))
                return aggregate_sql(grouped, self._relation(source), self._dialect)
            case Tally(source, _, calls):
                tally = replace(plan, calls=self._wanted_calls(plan, calls))
                relation = self._single_partition_relation(source)
                return tally_sql(tally, relation, self._weight(source), self._dialect)
            case Window(source, calls):
                kept = [name for name in self._wanted[plan] if name in source.names]
                return window_sql(
                    kept, self._wanted_calls(plan, calls), self._relation(source), self._dialect
                )
            case Top(source):
                return top_sql(plan, list(self._wanted[source]), self._relation(source), self._dialect)
        raise TypeError(f"{type(plan).__name__} has no SELECT")

    def _block(self, plan: Plan) -> SelectBlock | None:
        """The SELECT of a plan, if more can be added to it."""
        match plan:
            case Scan() | Delta() | StoredResult() | Materialised():
                return self._leaf(plan)
            case Project(source, items):
                wanted = [(name, scalar) for name, scalar in items if name in self._wanted[plan]]
                return self._open_block(source).project(wanted) or self._named_block(source).project(wanted)
            case Filter(source, condition):
                last = self._hints is not None and self._hints.must_filter_after_join(plan)
                found = self._open_block(source).filter(condition, last=last)
                return found or self._named_block(source).filter(condition, last=last)
            case Negate(source):
                return self._open_block(source).negate()
            case Join():
                return self._join(plan)
            case _:
                return None

    def _open_block(self, plan: Plan) -> SelectBlock:
        """The SELECT of a plan to add to: its own if nothing else reads it, else one from its relation."""
        own = None
        if isinstance(plan, Leaf) or (self._uses[plan] == 1 and plan not in self._known):
            own = self._block(plan)
        return own or self._named_block(plan)

    def _named_block(self, plan: Plan) -> SelectBlock:
        weight = column(WEIGHT).sql(self._dialect.name) if self._weighted(plan) else None
        return SelectBlock(self._relation(plan), {name: Ref(name) for name in self._wanted[plan]}, weight)

    def _leaf(self, plan: Leaf) -> SelectBlock:
        match plan:
            case Scan(table, _, at):
                key: tuple[str, ...] = ("scan", table, at.name)
            case Delta(table, _):
                key = ("delta", table)
            case StoredResult():
                key = ("stored",)
            case Materialised(name):
                key = ("cut", name)
        wanted = tuple((name, own) for name, own in plan.columns if name in self._wanted[plan])
        placeholder, seen = self._leaves.get(key, (f"leaf_{len(self._leaves)}", replace(plan, columns=())))
        own = dict.fromkeys([*(name for _, name in seen.columns), *(name for _, name in wanted)])
        self._leaves[key] = (placeholder, replace(plan, columns=tuple((name, name) for name in own)))
        weighted = isinstance(plan, Delta) or (isinstance(plan, Materialised) and plan.weighted)
        return SelectBlock(
            _leaf_name(placeholder),
            {name: Ref(own) for name, own in wanted},
            column(WEIGHT).sql(self._dialect.name) if weighted else None,
            hint=None if self._hints is None else self._hints.leaf_hint(plan),
        )

    def _values(self, plan: Values) -> exp.Select:
        if not plan.rows:
            nothing = exp.Select(expressions=[alias_as(name, exp.Null()) for name in plan.columns])
            return nothing.where(exp.false(), copy=False)
        rows: list[exp.Query] = [
            exp.Select(
                expressions=[alias_as(n, self._scalar(s)) for n, s in zip(plan.columns, row, strict=True)]
            )
            for row in plan.rows
        ]
        return select([exp.Star()], _union_all(rows).subquery("v", copy=False))

    def _union(self, plan: UnionAll) -> exp.Query:
        weighted, wanted = self._weighted(plan), self._wanted[plan]
        selects: list[exp.Query] = []
        for part in plan.parts:
            pairs = zip(plan.names, part.names, strict=True)
            block = self._open_block(part).rename([(name, own) for name, own in pairs if name in wanted])
            selects.append(block.query(self._dialect, wanted, weighted=weighted))
        hint = None if self._hints is None else self._hints.union_hint(plan)
        if hint is None:
            return _union_all(selects)
        return add_hint(select([exp.Star()], _union_all(selects).subquery("u", copy=False)), hint)

    def _multiplicity_query(self, plan: Net | Support | Distinct | Rows) -> exp.Query:
        match plan:
            case Net():
                return self._net(plan)
            case Rows():
                return self._repeat_by_weight(plan)
            case _:
                return self._distinct(plan)

    def _distinct(self, plan: Support | Distinct) -> exp.Query:
        match plan:
            case Distinct(Project(Support(source), items)):
                # One DISTINCT instead of two: over the projected values.
                chosen = [alias_as(name, self._scalar(scalar)) for name, scalar in items]
                query = select(chosen, self._single_partition_relation(source))
            case Support(source):
                # Narrower rows would be fewer: it matters where more is asked than whether there is one.
                names = self._wanted[plan] if plan in self._only_matched else source.names
                query = select([column(name) for name in names], self._single_partition_relation(source))
            case Distinct(source):
                query = self._open_block(source).query(self._dialect, source.names, weighted=False)
        return query.distinct(copy=False)

    def _repeat_by_weight(self, plan: Rows) -> exp.Query:
        """Each row as often as its weight says."""
        relation = self._relation(plan.input)
        if not self._weighted(plan.input):
            return select(self._columns(plan), relation)
        if self._dialect.has_lateral_view:
            times = f"explode(array_repeat(0, CAST({WEIGHT} AS INT)))"
            return select(self._columns(plan), f"{relation} LATERAL VIEW {times} g AS {TIMES}")
        items = [*self._columns(plan), raw_sql(f"UNNEST(range(CAST({WEIGHT} AS BIGINT))) AS {TIMES}")]
        return select(self._columns(plan), select(items, relation).subquery("g", copy=False))

    def _net(self, plan: Net) -> exp.Query:
        if not self._weighted(plan.input):
            return select(self._columns(plan), self._relation(plan.input))
        items = [*self._columns(plan), alias_as(WEIGHT, exp.Sum(this=column(WEIGHT)))]
        return (
            select(items, self._single_partition_relation(plan.input))
            .group_by(*self._columns(plan), copy=False)
            .having(raw_sql(f"SUM({WEIGHT}) <> 0"), copy=False)
        )

    def _join(self, plan: Join) -> SelectBlock:
        left, right = self._relation(plan.left), self._relation(plan.right)
        weights = [
            column(WEIGHT, relation).sql(self._dialect.name)
            for relation, side in ((left, plan.left), (right, plan.right))
            if self._weighted(side)
        ]
        kinds = {
            "inner": "INNER",
            "left": "LEFT",
            "full": "FULL",
            "semi": self._dialect.semi_join,
            "anti": self._dialect.anti_join,
        }
        kind = plan.kind
        if kind == "semi" and self._hints is not None and self._hints.can_be_inner_join(plan):
            kind = "inner"
            if not has_distinct_rows(plan.right):
                right = self._add_cte(select([exp.Star()], right).distinct(copy=False))
        on = self._scalar(plan.on).sql(self._dialect.name, copy=False)
        return SelectBlock(
            f"{left} {kinds[kind]} JOIN {right} ON {on}",
            {name: Ref(name) for name in self._wanted[plan]},
            f"({' * '.join(weights)})" if len(weights) > 1 else next(iter(weights), None),
            hint=None if self._hints is None else self._hints.join_hint(plan, left, right),
        )

    def _set_operation(self, plan: SetOp) -> exp.Query:
        sides = [
            self._open_block(side).query(self._dialect, side.names, weighted=False)
            for side in (plan.left, plan.right)
        ]
        kind = exp.Intersect if plan.kind == "intersect" else exp.Except
        return kind(this=sides[0], expression=sides[1], distinct=not plan.all)

    def _generate(self, plan: Generate) -> exp.Query:
        source, argument = self._relation(plan.input), self._scalar(plan.argument).sql(self._dialect.name)
        items: list[exp.Expr] = [column(name) for name in self._wanted[plan] if name in plan.input.names]
        names = [exp.to_identifier(name, quoted=True).sql(self._dialect.name) for name in plan.columns]
        if self._dialect.has_lateral_view:
            outer = "OUTER " if plan.outer else ""
            source = f"{source} LATERAL VIEW {outer}{plan.function}({argument}) g AS {', '.join(names)}"
            items += [column(name) for name in plan.columns]
        else:
            padded = f"CASE WHEN len({argument}) > 0 THEN {argument} ELSE [NULL] END"
            items.append(raw_sql(f"UNNEST({padded if plan.outer else argument}) AS {names[0]}"))
        if self._weighted(plan.input):
            items.append(column(WEIGHT))
        return select(items, source)

    # -- parts of a SELECT --------------------------------------------------------------------

    def _wanted_calls(self, plan: Plan, calls: tuple[tuple[str, C], ...]) -> tuple[tuple[str, C], ...]:
        return tuple((name, call) for name, call in calls if name in self._wanted[plan])

    def _columns(self, plan: Plan) -> list[exp.Expr]:
        return [column(name) for name in self._wanted[plan]]

    def _weight(self, source: Plan) -> exp.Expr:
        return column(WEIGHT) if self._weighted(source) else exp.Literal.number(1)

    def _scalar(self, scalar: object) -> exp.Expr:
        return scalar_sql(scalar, self._dialect)  # type: ignore[arg-type]


def _only_matched(plan: Plan) -> set[Plan]:
    """The subplans of which nothing but matching rows is asked: right sides of semi and anti joins."""
    asked: dict[Plan, bool] = {}
    for part in subplans(plan):
        for below in part.inputs:
            matched = isinstance(part, Join) and part.kind in ("semi", "anti") and below is part.right
            asked[below] = asked.get(below, True) and matched
    return {below for below, matched in asked.items() if matched}


def _union_all(queries: list[exp.Query]) -> exp.Query:
    result = queries[0]
    for query in queries[1:]:
        result = exp.Union(this=result, expression=query, distinct=False)
    return result


def _leaf_name(placeholder: str) -> str:
    return f"__{placeholder}__"
