"""How a query will be maintained, for people: what is stored, what each operator does, which SQL runs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from anabranch.algebra.plan import Delta, IntervalEnd, Materialised, Plan, Scan
from anabranch.algebra.plan_text import INDENT
from anabranch.connection.lake_context import LakeContext
from anabranch.delta.aggregate_state import exact_state
from anabranch.delta.explain_strategies import (
    WIDTH,
    HiddenColumn,
    Operator,
    OperatorStrategy,
    hidden_columns,
    operators,
    root_strategy,
    strategies,
    tree_text,
)
from anabranch.delta.hidden_state import STATE
from anabranch.delta.maintenance_plan import Types
from anabranch.delta.recursion import Seeds, distinct_rows_derived_from, recursive_inputs, semi_naive_gain
from anabranch.delta.simplify import simplify
from anabranch.engine.base import Frame
from anabranch.engine.render.dialect import SPARK
from anabranch.engine.render.statement import Leaf, RenderedStatement, render
from anabranch.errors import NotIncremental
from anabranch.names import TableName
from anabranch.notebook_html import Markup, element, styled_block, table
from anabranch.refresh.define import Definition, StoredTable, define
from anabranch.refresh.execute import change_statements
from anabranch.refresh.recursive_definitions import CycleMemberDefinition, StoredRecursiveTable
from anabranch.sql.query import parse_query
from anabranch.streams.versions import LakeVersion

_WIDEST_CALL = 40
_HOLE = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_BETWEEN_PARTS = re.compile(r"'(?:\\.|[^'\\])*'|`[^`]*`|\(|\)|, (?=p\d+ AS \()| (?=SELECT )")


@dataclass(frozen=True)
class StoredPart:
    """One stored table of a query: its operators, its hidden columns, the SQL of its change."""

    table: str
    tree: tuple[Operator, ...]
    hidden: tuple[HiddenColumn, ...]
    statements: tuple[tuple[str, str], ...]
    """In the order they run when every source changed; all but the last have a name."""


@dataclass(frozen=True)
class Refusal:
    """Why a query can't be maintained incrementally."""

    code: str
    message: str
    detail: str | None
    hint: str | None


@dataclass(frozen=True)
class Explanation:
    """How a query will be maintained, or why it can't be; `str()` is for reading."""

    sources: tuple[str, ...]
    parts: tuple[StoredPart, ...]
    """What is stored, in the order of computation: state that nobody sees, then the result."""
    notices: tuple[str, ...] = ()
    refusal: Refusal | None = None

    @property
    def incremental(self) -> bool:
        """Whether changes of the sources suffice."""
        return self.refusal is None

    def __str__(self) -> str:
        sections = [("Sources", ", ".join(self.sources) or "none")]
        if self.refusal is not None:
            sections.append(("Not maintained incrementally", _refusal_text(self.refusal)))
        for part in self.parts:
            hidden = part is not self.parts[-1]
            what = f"State that nobody sees, {part.table}" if hidden else "Result"
            sections.append((what, tree_text(part.tree, WIDTH - len(INDENT))))
            if part.hidden:
                sections.append(("Hidden columns, stored with it", _hidden_columns_text(part.hidden)))
        if self.notices:
            sections.append(("Notices", "\n".join(self.notices)))
        for part in self.parts:
            of = f" of {part.table}" if len(self.parts) > 1 else ""
            sections.append((f"SQL of the change{of}, when every source changed", _sql_text(part.statements)))
        return "\n\n".join(f"{title}\n{indent(text, INDENT)}" for title, text in sections)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return styled_block(*self.blocks())

    def blocks(self) -> Iterable[Markup]:
        """The same for a notebook: trees as tables, SQL folded away."""
        yield from _block("Sources", ", ".join(self.sources) or "none")
        if self.refusal is not None:
            yield from _block("Not maintained incrementally", _refusal_text(self.refusal))
        for part in self.parts:
            hidden = part is not self.parts[-1]
            yield element("h4", f"State that nobody sees, {part.table}" if hidden else "Result")
            yield table(("operator", "strategy", "why"), map(_operator_cells, part.tree))
            if part.hidden:
                yield element("h4", "Hidden columns, stored with it")
                cells = (
                    [element("td", one.name), element("td", one.holds), element("td", one.reason)]
                    for one in part.hidden
                )
                yield table(("column", "holds", "what for"), cells)
        if self.notices:
            yield from _block("Notices", "\n".join(self.notices))
        for part in self.parts:
            summary = element("summary", f"SQL of the change of {part.table}, when every source changed")
            yield element("details", summary, element("pre", _sql_text(part.statements)))


def explain(
    context: LakeContext, query: str | Definition | CycleMemberDefinition, lake_version: LakeVersion
) -> Explanation:
    """How a query over the tables of a lake version will be maintained."""
    if isinstance(query, Definition):
        return _explain_definition(context, query, lake_version)
    if isinstance(query, CycleMemberDefinition):
        recursive = frozenset(map(str, query.members)) | frozenset(map(str, query.schemas))
        stored = tuple(_recursive_part(looped, recursive) for looped in query.loops)
        return Explanation(_sorted_names(query.tables), stored, query.lowered.notices)
    try:
        definition = define(context, _free_name(lake_version), query, lake_version)
    except NotIncremental as error:
        refusal = Refusal(error.code, error.message, error.detail, error.hint)
        return Explanation(_sorted_names(parse_query(query).reads), (), refusal=refusal)
    return _explain_definition(context, definition, lake_version)


def _explain_definition(
    context: LakeContext, definition: Definition, lake_version: LakeVersion
) -> Explanation:
    lowered = definition.lowered
    types = _column_types(context, definition, lake_version)
    loops = [_recursive_part(looped, frozenset({looped.loop.table})) for looped in definition.loops]
    kept = [_stored_part(kept, types) for kept in definition.stored_tables]
    stored = [*loops, *kept]
    return Explanation(_sorted_names(definition.tables), tuple(stored), lowered.notices)


def _stored_part(kept: StoredTable, types: Types) -> StoredPart:
    choices = strategies(
        kept.query,
        root_strategy(kept.query, kept.maintained, types),
        lambda aggregate: exact_state(aggregate, types),
    )
    changed = frozenset(str(table) for table in kept.reads)
    statements = change_statements(kept.maintained, changed)
    return StoredPart(
        str(kept.table),
        operators(kept.query, choices),
        hidden_columns(kept.maintained),
        tuple(
            (one.step.name if one.step else "", statement_text(one.rendered))
            for one in statements
            if one.rendered is not None
        ),
    )


def _recursive_part(looped: StoredRecursiveTable, recursive: frozenset[str]) -> StoredPart:
    """A recursive table: the SQL derives, in one iteration, rows from the new rows of the tables it reads."""
    plan = looped.loop.plan
    read = frozenset(recursive_inputs(plan, recursive))
    seeds = Seeds(recursive, members=read)
    step = (
        distinct_rows_derived_from(looped.loop, seeds, IntervalEnd.UNTIL)
        if looped.loop.is_set
        else semi_naive_gain(looped.loop, seeds)
    )
    statements = ((f"pass over {looped.table}", statement_text(render(simplify(step), SPARK))),)
    once = "each row once" if looped.loop.is_set else "a row for every derivation"
    choice = OperatorStrategy(
        "fixed point", f"passes over {', '.join(sorted(read))} until no row is new, {once}"
    )
    return StoredPart(str(looped.table), operators(plan, strategies(plan, choice)), (), statements)


def _column_types(context: LakeContext, definition: Definition, lake_version: LakeVersion) -> Types:
    """What Spark says of the types of a plan's columns, from tables without rows."""
    schemas = {str(table): lake_version.version(table).schema.visible for table in definition.tables}
    schemas |= {str(table): schema for table, schema in definition.schemas.items()}

    def types(plan: Plan) -> Mapping[str, str]:
        rendered = render(plan, SPARK, plan.names)
        frames: dict[str, Frame] = {
            hole: context.engine.scan([], schemas[leaf.table])
            for hole, leaf in rendered.leaves
            if isinstance(leaf, Scan)
        }
        return context.engine.types_of(context.engine.run_query(rendered.template, frames))

    return types


def _free_name(lake_version: LakeVersion) -> TableName:
    """A name for the result that no table has: it stands beside the sources."""
    taken = {str(name) for name in lake_version.versions}
    names = itertools.chain(["result"], (f"result_{number}" for number in itertools.count(2)))
    return TableName.parse(next(name for name in names if not taken & {name, f"{name}{STATE}"}))


def _sorted_names(tables: Iterable[TableName]) -> tuple[str, ...]:
    return tuple(sorted(map(str, tables)))


# -- markup ---------------------------------------------------------------------------------------


def _block(title: str, text: str) -> tuple[Markup, Markup]:
    return element("h4", title), element("pre", text)


def _operator_cells(one: Operator) -> Sequence[Markup]:
    name = element("td", element("code", one.text), style=f"padding-left:{16 * one.depth}px")
    if one.choice is None:
        return name, element("td", "as above"), element("td", "")
    why = " ".join(filter(None, (one.choice.reason, one.choice.note)))
    return name, element("td", one.choice.strategy), element("td", why)


# -- text -----------------------------------------------------------------------------------------


def statement_text(rendered: RenderedStatement) -> str:
    """A statement, one part a line, with words in braces where tables stand."""
    leaves = {hole: _leaf_text(leaf) for hole, leaf in rendered.leaves}

    def fill_placeholder(found: re.Match[str]) -> str:
        return f"{{{leaves[found[1]]}}}" if found[1] else found[0][0]

    return _HOLE.sub(fill_placeholder, one_cte_per_line(rendered.template))


def one_cte_per_line(sql: str) -> str:
    """A statement with each of its common table expressions, and what follows, on its own line.

    >>> print(one_cte_per_line("WITH p0 AS (SELECT ', p9 AS (' AS a), p1 AS (SELECT 1) SELECT a, b FROM p1"))
    WITH p0 AS (SELECT ', p9 AS (' AS a),
    p1 AS (SELECT 1)
    SELECT a, b FROM p1
    """
    lines, start, depth = [], 0, 0
    for found in _BETWEEN_PARTS.finditer(sql):
        if found[0] in ("(", ")"):
            depth += 1 if found[0] == "(" else -1
        elif depth == 0 and found[0] in (", ", " "):
            lines.append(sql[start : found.end()].rstrip())
            start = found.end()
    return "\n".join([*lines, sql[start:]])


def _leaf_text(leaf: Leaf) -> str:
    match leaf:
        case Scan(table, _, at):
            return f"{table} at {at.name.lower()}"
        case Delta(table):
            return f"change of {table}"
        case Materialised(name):
            return f"rows of {name}"
        case _:
            return "stored rows"


def _sql_text(statements: tuple[tuple[str, str], ...]) -> str:
    if not statements:
        return "none: nothing that it reads can change"
    if len(statements) == 1:
        return statements[0][1]
    return "\n\n".join(f"-- {name or 'the change itself'}\n{text}" for name, text in statements)


def _hidden_columns_text(columns: tuple[HiddenColumn, ...]) -> str:
    name = max(len(column.name) for column in columns)
    holds = min(max(len(column.holds) for column in columns), _WIDEST_CALL)
    return "\n".join(f"{one.name:{name}}  {one.holds:{holds}}  {one.reason}" for one in columns)


def _refusal_text(refusal: Refusal) -> str:
    lines = [f"{refusal.code} {refusal.message}"]
    if refusal.detail:
        lines.append(f"Detail: {refusal.detail}")
    if refusal.hint:
        lines.append(f"Hint: {refusal.hint}")
    return "\n".join(lines)
