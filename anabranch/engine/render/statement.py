"""A plan as one SELECT: every distinct subplan becomes one common table expression, once.

The text is the same for the same plan, byte for byte. Tables are placeholders: `RenderedStatement.leaves`
says which relation each stands for, and the engine binds it to files at a version.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
)
from anabranch.algebra.weights import HasWeightColumn
from anabranch.delta.single_partition import RelationFacts
from anabranch.delta.small_subplans import has_distinct_rows
from anabranch.engine.render.aggregate_and_window_sql import aggregate_sql, tally_sql, top_sql, window_sql
from anabranch.engine.render.dialect import Dialect
from anabranch.engine.render.hints import Hints
from anabranch.engine.render.scalar_sql import alias_as, column, raw_sql, scalar_sql, select
from anabranch.names import WEIGHT

TIMES = "__t"
ALWAYS = "monotonically_increasing_id() >= 0"
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
    return _Rendering(dialect, hints).statement(plan, columns or plan.names)


class _Rendering:
    """Builds one statement."""

    def __init__(self, dialect: Dialect, hints: Hints | None) -> None:
        self._dialect = dialect
        self._hints = hints
        self._weighted = HasWeightColumn()
        self._parts: list[tuple[str, exp.Query]] = []
        self._known: dict[Plan, str] = {}
        self._gathered: dict[Plan, str] = {}
        self._leaves: dict[tuple[str, ...], tuple[str, Leaf]] = {}

    def statement(self, plan: Plan, columns: tuple[str, ...]) -> RenderedStatement:
        top = self._relation(plan)
        items = [alias_as(shown, column(name)) for name, shown in zip(plan.names, columns, strict=True)]
        if self._weighted(plan):
            items.append(column(WEIGHT))
        dialect = self._dialect.name
        parts = ", ".join(f"{name} AS ({part.sql(dialect, copy=False)})" for name, part in self._parts)
        text = f"WITH {parts} {select(items, top).sql(dialect, copy=False)}"
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
            self._gathered[plan] = self._add_cte(_add_hint(select([exp.Star()], self._relation(plan)), hint))
        return self._gathered[plan]

    # -- one node -----------------------------------------------------------------------------

    def _query(self, plan: Plan) -> exp.Query:
        match plan:
            case Scan() | Delta() | StoredResult() | Materialised():
                return self._leaf(plan)
            case Values():
                return self._values(plan)
            case Filter():
                return self._filter(plan)
            case Project(source, items):
                chosen = [alias_as(name, self._scalar(scalar)) for name, scalar in items]
                return self._select(chosen, source, weight=True)
            case UnionAll():
                return self._union(plan)
            case Negate(source):
                weight = exp.Neg(this=self._weight(source))
                return select([*self._all_columns(source), alias_as(WEIGHT, weight)], self._relation(source))
            case Net() | Support() | Distinct() | Rows():
                return self._multiplicity_query(plan)
            case Join():
                return self._join(plan)
            case SetOp():
                return self._set_operation(plan)
            case Generate():
                return self._generate(plan)
            case Aggregate(source):
                return aggregate_sql(plan, self._relation(source), self._dialect)
            case Tally(source):
                return tally_sql(
                    plan, self._single_partition_relation(source), self._weight(source), self._dialect
                )
            case Window(source):
                return window_sql(plan, self._relation(source), self._dialect)
            case Top(source):
                return top_sql(plan, self._relation(source), self._dialect)

    def _leaf(self, plan: Leaf) -> exp.Select:
        match plan:
            case Scan(table, _, at):
                key: tuple[str, ...] = ("scan", table, at.name)
            case Delta(table, _):
                key = ("delta", table)
            case StoredResult():
                key = ("stored",)
            case Materialised(name):
                key = ("cut", name)
        placeholder, seen = self._leaves.get(key, (f"leaf_{len(self._leaves)}", plan))
        own = dict.fromkeys(name for leaf in (seen, plan) for _, name in leaf.columns)
        self._leaves[key] = (placeholder, replace(plan, columns=tuple((name, name) for name in own)))
        items = [alias_as(name, column(own)) for name, own in plan.columns]
        if isinstance(plan, Delta) or (isinstance(plan, Materialised) and plan.weighted):
            items.append(column(WEIGHT))
        query = select(items, _leaf_name(placeholder))
        return query if self._hints is None else _add_hint(query, self._hints.leaf_hint(plan))

    def _filter(self, plan: Filter) -> exp.Select:
        condition = self._scalar(plan.condition)
        if self._hints is not None and self._hints.must_filter_after_join(plan):
            # Spark doesn't move nondeterministic conditions. This one only seems nondeterministic.
            condition = raw_sql(f"IF({ALWAYS}, {condition.sql(self._dialect.name)}, FALSE)")
        return self._select_all(plan.input).where(condition, copy=False)

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
        weighted = self._weighted(plan)
        selects: list[exp.Query] = []
        for part in plan.parts:
            items = [alias_as(name, column(own)) for name, own in zip(plan.names, part.names, strict=True)]
            if weighted:
                items.append(alias_as(WEIGHT, self._weight(part)))
            selects.append(select(items, self._relation(part)))
        hint = None if self._hints is None else self._hints.union_hint(plan)
        if hint is None:
            return _union_all(selects)
        return _add_hint(select([exp.Star()], _union_all(selects).subquery("u", copy=False)), hint)

    def _multiplicity_query(self, plan: Net | Support | Distinct | Rows) -> exp.Query:
        match plan:
            case Net():
                return self._net(plan)
            case Rows(source):
                return self._repeat_by_weight(source)
            case _:
                return self._distinct(plan)

    def _distinct(self, plan: Support | Distinct) -> exp.Query:
        match plan:
            case Distinct(Project(Support(source), items)):
                # One DISTINCT instead of two: over the projected values.
                chosen = [alias_as(name, self._scalar(scalar)) for name, scalar in items]
                query = select(chosen, self._single_partition_relation(source))
            case Support(source):
                query = select(self._all_columns(source), self._single_partition_relation(source))
            case Distinct(source):
                query = self._select(self._all_columns(source), source)
        return query.distinct(copy=False)

    def _repeat_by_weight(self, source: Plan) -> exp.Query:
        """Each row as often as its weight says."""
        if not self._weighted(source):
            return self._select_all(source)
        relation = self._relation(source)
        if self._dialect.has_lateral_view:
            times = f"explode(array_repeat(0, CAST({WEIGHT} AS INT)))"
            return select(self._all_columns(source), f"{relation} LATERAL VIEW {times} g AS {TIMES}")
        items = [*self._all_columns(source), raw_sql(f"UNNEST(range(CAST({WEIGHT} AS BIGINT))) AS {TIMES}")]
        return select(self._all_columns(source), select(items, relation).subquery("g", copy=False))

    def _net(self, plan: Net) -> exp.Query:
        if not self._weighted(plan.input):
            return self._select_all(plan.input)
        items = [*self._all_columns(plan), alias_as(WEIGHT, exp.Sum(this=column(WEIGHT)))]
        return (
            select(items, self._single_partition_relation(plan.input))
            .group_by(*self._all_columns(plan), copy=False)
            .having(raw_sql(f"SUM({WEIGHT}) <> 0"), copy=False)
        )

    def _join(self, plan: Join) -> exp.Query:
        left, right = self._relation(plan.left), self._relation(plan.right)
        items: list[exp.Expr] = [column(name) for name in plan.names]
        weights = [
            column(WEIGHT, relation)
            for relation, side in ((left, plan.left), (right, plan.right))
            if self._weighted(side)
        ]
        if weights:
            product = weights[0] if len(weights) == 1 else exp.Mul(this=weights[0], expression=weights[1])
            items.append(alias_as(WEIGHT, product))
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
        condition = self._scalar(plan.on)
        on = condition.sql(self._dialect.name, copy=False)
        query = select(items, f"{left} {kinds[kind]} JOIN {right} ON {on}")
        return query if self._hints is None else _add_hint(query, self._hints.join_hint(plan, left, right))

    def _set_operation(self, plan: SetOp) -> exp.Query:
        sides = [self._select(self._all_columns(side), side) for side in (plan.left, plan.right)]
        kind = exp.Intersect if plan.kind == "intersect" else exp.Except
        return kind(this=sides[0], expression=sides[1], distinct=not plan.all)

    def _generate(self, plan: Generate) -> exp.Query:
        source, argument = self._relation(plan.input), self._scalar(plan.argument).sql(self._dialect.name)
        items: list[exp.Expr] = [column(name) for name in plan.input.names]
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

    def _select_all(self, source: Plan) -> exp.Select:
        return self._select(self._all_columns(source), source, weight=True)

    def _select(self, items: list[exp.Expr], source: Plan, *, weight: bool = False) -> exp.Select:
        if weight and self._weighted(source):
            items = [*items, column(WEIGHT)]
        return select(items, self._relation(source))

    def _all_columns(self, source: Plan) -> list[exp.Expr]:
        return [column(name) for name in source.names]

    def _weight(self, source: Plan) -> exp.Expr:
        return column(WEIGHT) if self._weighted(source) else exp.Literal.number(1)

    def _scalar(self, scalar: object) -> exp.Expr:
        return scalar_sql(scalar, self._dialect)  # type: ignore[arg-type]


def _union_all(queries: list[exp.Query]) -> exp.Query:
    result = queries[0]
    for query in queries[1:]:
        result = exp.Union(this=result, expression=query, distinct=False)
    return result


def _add_hint(query: exp.Select, hint: str | None) -> exp.Select:
    if hint is not None:
        query.set("hint", exp.Hint(expressions=[raw_sql(hint)]))
    return query


def _leaf_name(placeholder: str) -> str:
    return f"__{placeholder}__"
