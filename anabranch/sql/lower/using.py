"""USING and NATURAL: columns of the same name on both sides, merged into one."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.algebra.scalar import Call, Ref, Scalar, equal
from anabranch.errors import AmbiguousColumn
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.scope import Field, Relation
from anabranch.sql.lower.syntax.tree import JoinedTable


@dataclass(frozen=True)
class UsingColumns:
    """What USING makes of two relations."""

    conditions: tuple[Scalar, ...]
    fields: tuple[Field, ...]
    """The merged columns first, then the others; the sides' own columns are reachable, but hidden."""
    coalesced: tuple[tuple[str, Scalar], ...]
    """Columns that a full join must compute."""


def common_columns(left: Relation, right: Relation) -> tuple[str, ...]:
    """The names that both sides have, in the order of the left one."""
    there = {f.name.lower() for f in right.fields if not f.hidden}
    return tuple(dict.fromkeys(f.name for f in left.fields if not f.hidden and f.name.lower() in there))


def merge_using_columns(
    context: Context, node: JoinedTable, left: Relation, right: Relation, names: tuple[str, ...]
) -> UsingColumns:
    """The join's condition and its columns."""
    conditions: list[Scalar] = []
    keys: list[Field] = []
    hidden: list[Field] = []
    coalesced: list[tuple[str, Scalar]] = []
    for name in names:
        ours, theirs = _column(context, node, left, name), _column(context, node, right, name)
        conditions.append(equal(Ref(ours.plan), Ref(theirs.plan)))
        if node.kind == "full":
            plan = context.fresh_column(name, Ref(ours.plan))
            coalesced.append((plan, Call("coalesce", (Ref(ours.plan), Ref(theirs.plan)))))
            keys.append(Field(ours.name, plan))
            hidden += [ours, theirs]
        elif node.kind == "right":
            keys.append(theirs)
            hidden.append(ours)
        else:
            keys.append(ours)
            hidden.append(theirs)
    used = {f.plan for f in (*keys, *hidden)}
    rest = [f for f in (*left.fields, *right.fields) if f.plan not in used]
    covered = [Field(f.name, f.plan, f.qualifier, hidden=True) for f in hidden]
    return UsingColumns(tuple(conditions), (*keys, *rest, *covered), tuple(coalesced))


def _column(context: Context, node: JoinedTable, relation: Relation, name: str) -> Field:
    found = [f for f in relation.fields if not f.hidden and f.name.lower() == name.lower()]
    if not found:
        raise context.unknown_column(node, name, [f.name for f in relation.fields if not f.hidden])
    if len(found) > 1:
        raise AmbiguousColumn(
            f'the column "{name}" of USING is ambiguous',
            detail=f"{context.place(node)}.",
            hint="join with ON, and name the relations.",
        )
    return found[0]
