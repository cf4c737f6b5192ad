"""Values that an engine can compare and group by, for columns of any type."""

from __future__ import annotations

from sqlglot import exp

from anabranch.algebra.scalar import Ref, Scalar, Verbatim
from anabranch.engine.render.dialect import Dialect
from anabranch.schema import Array, Map, Struct, Type, has_map

_COLUMN = "__column__"


def comparable(name: str, kind: Type, dialect: Dialect) -> Scalar:
    """A column's value, in which maps are sorted lists if the engine can't compare maps.

    >>> from anabranch.engine.render.dialect import SPARK
    >>> from anabranch.schema import Atomic
    >>> comparable("a", Array(Map(Atomic("string"), Atomic("int"))), SPARK).fragments[0]
    'TRANSFORM('
    """
    if dialect.compares_maps or not has_map(kind):
        return Ref(name)
    text = _compare(exp.Var(this=_COLUMN), kind, 0).sql(dialect.name)
    first, *others = text.split(_COLUMN)
    fragments: list[str | Ref] = [first]
    for other in others:
        fragments += [Ref(name), other]
    return Verbatim(tuple(fragments))


def _compare(value: exp.Expr, kind: Type, depth: int) -> exp.Expr:
    item = exp.to_identifier(f"x{depth}")
    match kind:
        case Map(_, element, _):
            keys = _call("array_sort", _call("map_keys", value))
            found = exp.Bracket(this=value.copy(), expressions=[item.copy()])
            pair = _call("struct", item.copy(), _compare(found, element, depth + 1))
            return _call("transform", keys, exp.Lambda(this=pair, expressions=[item]))
        case Array(element, _) if has_map(element):
            inner = _compare(item.copy(), element, depth + 1)
            return _call("transform", value, exp.Lambda(this=inner, expressions=[item]))
        case Struct(fields) if has_map(kind):
            parts = [
                _compare(exp.Dot(this=value.copy(), expression=_quote(field.name)), field.type, depth)
                for field in fields
            ]
            there = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
            return exp.Case(ifs=[exp.If(this=there, true=_call("struct", *parts))])
        case _:
            return value


def _quote(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _call(name: str, *args: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(args))
