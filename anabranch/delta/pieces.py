"""State below the root: a part of a query that is stored for itself, as a table that nobody sees.

The first rows of an order have no keys: whatever changes below, all of it is sorted again. With what is below
stored and maintained, that is all that is done again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.algebra.plan import Filter, Plan, Project, Scan, Top, Values

STATE = "__state"


@dataclass(frozen=True)
class Piece:
    """A plan whose result is stored: under a name of its own, or as the query's result."""

    table: str
    plan: Plan
    columns: tuple[str, ...]


def pieces(plan: Plan, columns: tuple[str, ...], table: str) -> tuple[Piece, ...]:
    """A query as what is stored for it, in the order of computation; the query's own result comes last."""
    above: list[Project | Filter] = []
    core = plan
    while isinstance(core, Project | Filter):
        above.append(core)
        core = core.input
    if not isinstance(core, Top) or _is_plain(core.input):
        return (Piece(table, plan, columns),)
    state = Piece(f"{table}{STATE}", core.input, tuple(f"c{place}" for place in range(len(core.names))))
    below = Scan(state.table, tuple(zip(core.input.names, state.columns, strict=True)))
    result: Plan = replace(core, input=below)
    for node in reversed(above):
        result = replace(node, input=result)
    return (state, Piece(table, result, columns))


def _is_plain(plan: Plan) -> bool:
    """Whether it is read from one table row by row: storing it again would gain nothing."""
    while isinstance(plan, Project | Filter):
        plan = plan.input
    return isinstance(plan, Scan | Values)
