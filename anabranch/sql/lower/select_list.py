"""The SELECT list: stars spelled out, and the names its items get."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.algebra.scalar import Ref, Scalar, Verbatim
from anabranch.schema import Struct
from anabranch.sql.lexer import quote
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.scope import Field, Scope
from anabranch.sql.lower.syntax.tree import Expression, FunctionCall, Item, Name, Select, Star


@dataclass
class Output:
    """A column of the result: an expression, or a column that a star stands for."""

    name: str | None
    node: Expression | None
    item: Item
    field: Field | None = None
    scalar: Scalar | None = None
    """Known from the beginning for a star, else once it is lowered."""

    @property
    def preferred_name(self) -> str:
        """What its column in the plan is called, if that is free."""
        if self.name:
            return self.name
        return self.node.name if isinstance(self.node, FunctionCall) else "c"

    @property
    def alias(self) -> str | None:
        """The name that AS gives it."""
        return self.item.aliases[0] if len(self.item.aliases) == 1 and self.node is not None else None


def expand_select_list(context: Context, select: Select, scope: Scope) -> list[Output]:
    """The items, each star as the columns it stands for."""
    found: list[Output] = []
    for item in select.items:
        if isinstance(item.value, Star):
            if item.aliases:
                raise context.invalid(item, "a star can't have an alias")
            found += _star(context, item, item.value, scope)
        else:
            found.append(Output(_name(item), item.value, item))
    return found


def _name(item: Item) -> str | None:
    if len(item.aliases) == 1:
        return item.aliases[0]
    return item.value.parts[-1] if isinstance(item.value, Name) and not item.aliases else None


def _star(context: Context, item: Item, star: Star, scope: Scope) -> list[Output]:
    qualifier = tuple(part.lower() for part in star.qualifier)
    if not qualifier:
        fields = [f for f in scope.fields if not f.hidden]
    else:
        # Spark puts the other side's columns of USING first.
        ordered = sorted(scope.fields, key=lambda f: not f.hidden)
        fields = [f for f in ordered if f.qualifier[-len(qualifier) :] == qualifier]
        if not fields:
            return _struct_star(context, item, star, scope)
    dropped = {id(_find_excluded_field(context, name, scope, fields)) for name in star.without}
    kept = [f for f in fields if id(f) not in dropped]
    if not kept:
        raise context.invalid(star, "the star stands for no column")
    return [Output(f.name, None, item, f, Ref(f.plan)) for f in kept]


def _find_excluded_field(context: Context, name: Name, scope: Scope, fields: list[Field]) -> Field:
    found = scope.find_own(context, name)
    if found is not None and found[1] != len(name.parts):
        raise context.invalid(name, "EXCEPT can't take a field out of a struct")
    for field in fields:
        if found is not None and field.plan == found[0].plan:
            return field
    raise context.unknown_column(name, ".".join(name.parts), [f.name for f in fields])


def _struct_star(context: Context, item: Item, star: Star, scope: Scope) -> list[Output]:
    """`s.*`: the fields of a struct."""
    name = Name(star.first, star.last - 2, star.qualifier)
    found = scope.find_own(context, name)
    kind = context.types.get(found[0].plan) if found is not None and found[1] == len(name.parts) else None
    if found is None or not isinstance(kind, Struct) or star.without:
        raise context.unknown_column(star, ".".join((*star.qualifier, "*")), scope.format_names())
    column = Ref(found[0].plan)
    return [
        Output(part.name, None, item, None, Verbatim(("(", column, f").{quote(part.name)}")))
        for part in kind.fields
    ]
