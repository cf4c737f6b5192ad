"""Spec files: what one stage makes of one query, as text beside the code.

A file is a comment that says what it shows, the tables, the views, the query, and under `----` the
result. Where a stage is told which tables changed, a line `-- changed: …` says which (`nothing` is
allowed). The folder names the stage:

    lowering          the query's plan, behind the tables of its recursions and their plans
    differentiating   the plan of its change
    simplifying       the same, given which tables changed
    rendering         that plan as SQL for Spark; without a `changed` line, the query's own plan
    explaining        the query's plan, with the strategy of every operator and why it was chosen
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from anabranch.algebra.plan import Aggregate, Plan
from anabranch.algebra.plan_text import node_text, plan_text
from anabranch.delta import differentiate
from anabranch.delta.aggregate_state import exact_state
from anabranch.delta.explain_strategies import operators, root_strategy, strategies, tree_text
from anabranch.delta.hidden_state import AUTO, split_hidden_state
from anabranch.delta.maintenance_plan import plan_maintenance
from anabranch.delta.order_of_rows import depends_on_order
from anabranch.delta.simplify import simplify
from anabranch.engine.render.dialect import SPARK
from anabranch.engine.render.statement import render
from anabranch.inspect.explain_query import one_cte_per_line
from anabranch.names import TableName
from anabranch.sql.ddl import parse_schema
from anabranch.sql.lower import LoweredQuery, lower

ROOT = Path(__file__).parent
RULE = "----"
_CREATE = re.compile(r"CREATE (TABLE|VIEW) (\w+) (?:AS )?(.*?);\n", re.DOTALL)
_CHANGED = re.compile(r"^-- changed: (.*)$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Spec:
    """One file, read."""

    path: Path
    asked: str
    """Everything above the rule."""
    expected: str
    tables: Mapping[str, str]
    views: Mapping[str, str]
    query: str
    changed: frozenset[str] | None

    @property
    def stage(self) -> str:
        return self.path.parent.name


def paths() -> list[Path]:
    """All spec files, in order."""
    return sorted(ROOT.glob("*/*.spec"))


def read(path: Path) -> Spec:
    """A file as it stands; without a rule, its result is still to be written."""
    asked, _, expected = path.read_text().partition(f"{RULE}\n")
    if not asked.startswith("-- "):
        raise ValueError(f"{path.name} doesn't begin with a comment that says what it shows")
    tables: dict[str, str] = {}
    views: dict[str, str] = {}
    for kind, name, body in _CREATE.findall(asked):
        if kind == "TABLE":
            tables[name] = body.strip()[1:-1]
        else:
            views[name] = body
    told = _CHANGED.search(asked)
    changed = None if told is None else frozenset(told[1].replace("nothing", "").replace(",", " ").split())
    if changed is not None and not changed <= set(tables):
        raise ValueError(f"{path.name} says that {sorted(changed)} changed; there are {sorted(tables)}")
    query = _CREATE.sub("", _COMMENT.sub("", asked)).strip()
    return Spec(path, asked, expected, tables, views, query, changed)


def lowered(spec: Spec) -> LoweredQuery:
    """The query's plan."""
    schemas = {TableName.parse(name): parse_schema(ddl) for name, ddl in spec.tables.items()}
    views = {TableName.parse(name): text for name, text in spec.views.items()}
    return lower(spec.query, schemas, views)


def result(spec: Spec) -> str:
    """What the code makes of the query."""
    return STAGES[spec.stage](spec, lowered(spec)) + "\n"


def rewritten(spec: Spec) -> str:
    """The file with the result as it is now."""
    return f"{spec.asked}{RULE}\n{result(spec)}"


def _lowering(_: Spec, lowered: LoweredQuery) -> str:
    tables = [
        f"{found.table}: {', '.join(found.columns)}\n{plan_text(found.plan)}" for found in lowered.recursions
    ]
    return "\n\n".join([*tables, plan_text(lowered.plan)])


def _differentiating(_: Spec, lowered: LoweredQuery) -> str:
    return plan_text(differentiate(lowered.plan))


def _simplified(spec: Spec, lowered: LoweredQuery) -> Plan:
    return simplify(differentiate(lowered.plan), changed=spec.changed)


def _simplifying(spec: Spec, lowered: LoweredQuery) -> str:
    return plan_text(_simplified(spec, lowered))


def _rendering(spec: Spec, lowered: LoweredQuery) -> str:
    plan = lowered.plan if spec.changed is None else _simplified(spec, lowered)
    rendered = render(plan, SPARK, lowered.columns)
    leaves = [f"{{{hole}}} is {node_text(leaf).partition(':')[0]}" for hole, leaf in rendered.leaves]
    return "\n".join([one_cte_per_line(rendered.template), *leaves])


_TYPES = {"count": "bigint", "sum": "decimal(20,2)", "avg": "decimal(14,6)"}


def _types(plan: Plan) -> Mapping[str, str]:
    """What Spark would say, given that the files sum and average decimals of the tables only."""
    calls = dict(plan.calls) if isinstance(plan, Aggregate) else {}
    return {
        name: _TYPES.get(calls[name].function, "") if name in calls else "decimal(10,2)"
        for name in plan.names
    }


def _explaining(_: Spec, lowered: LoweredQuery) -> str:
    trees = []
    pieces = split_hidden_state(
        lowered.plan, lowered.columns, "result", AUTO, lambda part: depends_on_order(part, _types)
    )
    for piece in pieces:
        kept = plan_maintenance(piece.plan, piece.columns, _types)
        choices = strategies(
            piece.plan,
            root_strategy(piece.plan, kept, _types),
            lambda aggregate: exact_state(aggregate, _types),
        )
        trees.append(f"{piece.table}\n{tree_text(operators(piece.plan, choices))}")
    return "\n\n".join(trees)


STAGES: Mapping[str, Callable[[Spec, LoweredQuery], str]] = {
    "lowering": _lowering,
    "differentiating": _differentiating,
    "simplifying": _simplifying,
    "rendering": _rendering,
    "explaining": _explaining,
}
