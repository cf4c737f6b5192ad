"""A plan as one SELECT: every distinct subplan becomes one common table expression, once.

The text is the same for the same plan, byte for byte. Tables stay open: `Rendered.leaves` says
which relation each placeholder stands for, and the engine binds it to files at a version.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from anabranch.algebra.plan import (
    Aggregate,
    Delta,
    Distinct,
    Filter,
    Generate,
    Join,
    Negate,
    Net,
    Plan,
    Project,
    Scan,
    SetOp,
    Stored,
    Support,
    Top,
    UnionAll,
    Values,
    Window,
)
from anabranch.render.dialect import Dialect
from anabranch.render.grouping import aggregate_sql, top_sql, window_sql
from anabranch.render.scalars import column, raw, scalar_sql
from anabranch.render.weights import is_weighted

WEIGHT = "__w"
Leaf = Scan | Delta | Stored


@dataclass(frozen=True)
class Rendered:
    """A statement in which `{leaf_0}`, `{leaf_1}`, … stand for tables, and what they stand for.

    A leaf's relation has the table's own columns; that of a `Delta` also has `__weight`.
    """

    template: str
    leaves: tuple[tuple[str, Leaf], ...]


def render(plan: Plan, dialect: Dialect, columns: tuple[str, ...] | None = None) -> Rendered:
    """The statement for a plan; `columns` are the names of the result (by default the plan's own)."""
    return _Rendering(dialect).statement(plan, columns or plan.names)


class _Rendering:
    """One statement in the making."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._parts: list[tuple[str, exp.Query]] = []
        self._known: dict[Plan, str] = {}
        self._leaves: dict[tuple[str, ...], tuple[str, Leaf]] = {}

    def statement(self, plan: Plan, columns: tuple[str, ...]) -> Rendered:
        top = self._relation(plan)
        items = [
            column(name).as_(exp.to_identifier(shown, quoted=True))
            for name, shown in zip(plan.names, columns, strict=True)
        ]
        if is_weighted(plan):
            items.append(column(WEIGHT))
        query: exp.Query = exp.select(*items).from_(exp.to_identifier(top))
        for name, part in self._parts:
            query = query.with_(exp.to_identifier(name), as_=part, copy=False)
        text = query.sql(dialect=self._dialect.name).replace("{", "{{").replace("}", "}}")
        for placeholder, _ in self._leaves.values():
            text = text.replace(_leaf_name(placeholder), "{" + placeholder + "}")
        return Rendered(text, tuple(self._leaves.values()))

    def _relation(self, plan: Plan) -> str:
        found = self._known.get(plan)
        if found is None:
            query = self._query(plan)
            found = self._known[plan] = f"p{len(self._parts)}"
            self._parts.append((found, query))
        return found

    # -- one node -----------------------------------------------------------------------------

    def _query(self, plan: Plan) -> exp.Query:
        match plan:
            case Scan() | Delta() | Stored():
                return self._leaf(plan)
            case Values():
                return self._values(plan)
            case Filter(source, condition):
                return self._over(source).where(self._scalar(condition), copy=False)
            case Project(source, items):
                chosen = [self._named(name, self._scalar(scalar)) for name, scalar in items]
                return self._select(chosen, source, weight=True)
            case UnionAll():
                return self._union(plan)
            case Negate(source):
                weight = exp.Neg(this=self._weight(source))
                return self._select(self._all(source), source).select(self._named(WEIGHT, weight), copy=False)
            case Net(source):
                return self._net(plan)
            case Support(source) | Distinct(source):
                return self._select(self._all(source), source).distinct(copy=False)
            case Join():
                return self._join(plan)
            case SetOp():
                return self._set_operation(plan)
            case Generate():
                return self._generate(plan)
            case Aggregate(source):
                return aggregate_sql(plan, self._relation(source), self._dialect)
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
            case Stored():
                key = ("stored",)
        placeholder, _ = self._leaves.setdefault(key, (f"leaf_{len(self._leaves)}", plan))
        items = [self._named(name, column(own)) for name, own in plan.columns]
        if isinstance(plan, Delta):
            items.append(self._named(WEIGHT, column("__weight")))
        return exp.select(*items).from_(raw(_leaf_name(placeholder)))

    def _values(self, plan: Values) -> exp.Select:
        if not plan.rows:
            return exp.select(*[self._named(name, exp.Null()) for name in plan.columns]).where(exp.false())
        rows = [
            exp.select(*[self._named(n, self._scalar(s)) for n, s in zip(plan.columns, row, strict=True)])
            for row in plan.rows
        ]
        together = exp.union(*rows, distinct=False) if len(rows) > 1 else rows[0]
        return exp.select("*").from_(together.subquery("v"))

    def _union(self, plan: UnionAll) -> exp.Query:
        weighted = is_weighted(plan)
        selects = []
        for part in plan.parts:
            items = [self._named(name, column(own)) for name, own in zip(plan.names, part.names, strict=True)]
            if weighted:
                items.append(self._named(WEIGHT, self._weight(part)))
            selects.append(exp.select(*items).from_(self._relation(part)))
        return exp.union(*selects, distinct=False) if len(selects) > 1 else selects[0]

    def _net(self, plan: Net) -> exp.Query:
        if not is_weighted(plan.input):
            return self._over(plan.input)
        total = exp.Sum(this=column(WEIGHT))
        names = [column(name) for name in plan.names]
        return (
            exp.select(*names, self._named(WEIGHT, total))
            .from_(self._relation(plan.input))
            .group_by(*[name.copy() for name in names], copy=False)
            .having(exp.NEQ(this=total.copy(), expression=exp.Literal.number(0)), copy=False)
        )

    def _join(self, plan: Join) -> exp.Query:
        left, right = self._relation(plan.left), self._relation(plan.right)
        items: list[exp.Expr] = [column(name) for name in plan.names]
        weights = [
            column(WEIGHT, relation)
            for relation, side in ((left, plan.left), (right, plan.right))
            if is_weighted(side)
        ]
        if weights:
            product = weights[0] if len(weights) == 1 else exp.Mul(this=weights[0], expression=weights[1])
            items.append(self._named(WEIGHT, product))
        kinds = {
            "inner": "INNER",
            "left": "LEFT",
            "full": "FULL",
            "semi": self._dialect.semi_join,
            "anti": self._dialect.anti_join,
        }
        condition = self._scalar(plan.on)
        join = raw(f"{left} {kinds[plan.kind]} JOIN {right} ON {condition.sql(self._dialect.name)}")
        return exp.select(*items).from_(join)

    def _set_operation(self, plan: SetOp) -> exp.Query:
        sides = [self._select(self._all(side), side) for side in (plan.left, plan.right)]
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
            items.append(raw(f"UNNEST({padded if plan.outer else argument}) AS {names[0]}"))
        if is_weighted(plan.input):
            items.append(column(WEIGHT))
        return exp.select(*items).from_(raw(source))

    # -- pieces -------------------------------------------------------------------------------

    def _over(self, source: Plan) -> exp.Select:
        return self._select(self._all(source), source, weight=True)

    def _select(self, items: list[exp.Expr], source: Plan, *, weight: bool = False) -> exp.Select:
        if weight and is_weighted(source):
            items = [*items, column(WEIGHT)]
        return exp.select(*items).from_(self._relation(source))

    def _all(self, source: Plan) -> list[exp.Expr]:
        return [column(name) for name in source.names]

    def _weight(self, source: Plan) -> exp.Expr:
        return column(WEIGHT) if is_weighted(source) else exp.Literal.number(1)

    def _named(self, name: str, value: exp.Expr) -> exp.Expr:
        return exp.alias_(value, name, quoted=True)

    def _scalar(self, scalar: object) -> exp.Expr:
        return scalar_sql(scalar, self._dialect)  # type: ignore[arg-type]


def _leaf_name(placeholder: str) -> str:
    return f"__{placeholder}__"
