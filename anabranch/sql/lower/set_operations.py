"""UNION, INTERSECT and EXCEPT: by position, under the names of the first part."""

from __future__ import annotations

from anabranch.algebra.plan import Distinct, Plan, SetOp, UnionAll
from anabranch.algebra.scalar import Ref
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.rename import rename_columns
from anabranch.sql.lower.scope import Field, Relation
from anabranch.sql.lower.syntax.tree import SetOperation


def combine_parts(context: Context, node: SetOperation, parts: list[Relation]) -> Relation:
    """The parts as one relation; what they carry goes along as further columns."""
    first = parts[0]
    width = len(first.fields)
    for number, part in enumerate(parts, start=1):
        if len(part.fields) != width:
            raise context.invalid(
                node,
                f"part {number} of {node.op.upper()} has {len(part.fields)} columns, the first one {width}",
            )
    carried = tuple(first.carried or ())
    names = [_name(context, parts, index) for index in range(width)]
    kept = {column: context.fresh_column(column, Ref((first.carried or {})[column])) for column in carried}
    plans: list[Plan] = []
    for number, part in enumerate(parts):
        columns = [f.plan for f in part.fields] + [(part.carried or {})[column] for column in carried]
        new = [*names, *kept.values()] if number == 0 else [context.fresh_column(name) for name in columns]
        plans.append(rename_columns(part.plan, list(zip(new, columns, strict=True))))
    fields = tuple(Field(f.name, name) for f, name in zip(first.fields, names, strict=True))
    plan = _operation(node, plans)
    return Relation(plan, fields, kept if first.carried is not None else None)


def _operation(node: SetOperation, plans: list[Plan]) -> Plan:
    if node.op == "union":
        union = UnionAll(tuple(plans))
        return union if node.all else Distinct(union)
    result = plans[0]
    for plan in plans[1:]:
        result = SetOp(result, plan, node.op, node.all)
    return result


def _name(context: Context, parts: list[Relation], index: int) -> str:
    """A name for the column; of a known type if all parts agree on it."""
    kinds = {context.types.get(part.fields[index].plan) for part in parts}
    first = parts[0].fields[index]
    like = Ref(first.plan) if len(kinds) == 1 else None
    return context.fresh_column(first.name or "c", like)
