"""Scalars as SQL: sqlglot nodes, which take care of quoting and parentheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from anabranch.algebra.scalar import Call, Cast, Function, Literal, Ref, Scalar, Value, Verbatim
from anabranch.engine.render.dialect import Dialect

_BINARY: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "<=>": exp.NullSafeEQ,
    "~=": exp.EQ,
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "%": exp.Mod,
    "like": exp.Like,
}


def column(name: str, relation: str | None = None) -> exp.Column:
    """A column, quoted."""
    identifier = exp.Identifier(this=name, quoted=True)
    return exp.Column(this=identifier, table=exp.to_identifier(relation) if relation else None)


def alias_as(name: str, value: exp.Expr) -> exp.Expr:
    """A value under a name, quoted."""
    return exp.Alias(this=value, alias=exp.Identifier(this=name, quoted=True))


def select(items: Sequence[exp.Expr], relation: str | exp.Expr) -> exp.Select:
    """SELECT items FROM relation. Nodes are not copied: that would take most of the time of rendering."""
    source = raw_sql(relation) if isinstance(relation, str) else relation
    return exp.Select(expressions=list(items), from_=exp.From(this=source))


def scalar_sql(scalar: Scalar, dialect: Dialect) -> exp.Expr:
    """A scalar as a SQL expression that can stand anywhere."""
    match scalar:
        case Ref(name):
            return column(name)
        case Literal(value):
            return _literal(value)
        case Call(op, args):
            return _call(op, [scalar_sql(arg, dialect) for arg in args], dialect)
        case Function(name, args):
            return exp.Anonymous(this=name, expressions=[scalar_sql(arg, dialect) for arg in args])
        case Cast(value, kind, quietly):
            inner = scalar_sql(value, dialect).sql(dialect.name)
            return raw_sql(f"{'TRY_CAST' if quietly else 'CAST'}({inner} AS {kind})")
        case Verbatim(fragments):
            text = "".join(
                fragment if isinstance(fragment, str) else column(fragment.name).sql(dialect.name)
                for fragment in fragments
            )
            return raw_sql(f"({text})")


def raw_sql(text: str) -> exp.Expr:
    """Text that is SQL already."""
    return exp.Var(this=text)


def _literal(value: Value) -> exp.Expr:
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case str():
            return exp.Literal.string(value)
        case float():
            return raw_sql(f"CAST('{value!r}' AS DOUBLE)")
        case int() | Decimal():
            number = exp.Literal.number(format(abs(value), "f") if isinstance(value, Decimal) else abs(value))
            return exp.Paren(this=exp.Neg(this=number)) if value < 0 else number


def _call(op: str, args: list[exp.Expr], dialect: Dialect) -> exp.Expr:
    if (kind := _BINARY.get(op)) is not None:
        return exp.Paren(this=kind(this=args[0], expression=args[1]))
    return (
        _OTHERS[op](args) if op != "raise" else exp.Anonymous(this=dialect.error_function, expressions=args)
    )


def _connective(kind: type[exp.Connector], neutral: bool) -> Callable[[list[exp.Expr]], exp.Expr]:
    def build(args: list[exp.Expr]) -> exp.Expr:
        if not args:
            return exp.Boolean(this=neutral)
        result = args[0]
        for arg in args[1:]:
            result = kind(this=result, expression=arg)
        return exp.Paren(this=result)

    return build


def _case(args: list[exp.Expr]) -> exp.Expr:
    pairs = [
        exp.If(this=condition, true=value) for condition, value in zip(args[0:-1:2], args[1::2], strict=False)
    ]
    return exp.Case(ifs=pairs, default=args[-1] if len(args) % 2 else None)


def _concatenation(args: list[exp.Expr]) -> exp.Expr:
    result = args[0]
    for arg in args[1:]:
        result = exp.DPipe(this=result, expression=arg)
    return exp.Paren(this=result)


def _function_call(name: str) -> Callable[[list[exp.Expr]], exp.Expr]:
    return lambda args: exp.Anonymous(this=name, expressions=args)


_OTHERS: Mapping[str, Callable[[list[exp.Expr]], exp.Expr]] = {
    "and": _connective(exp.And, True),
    "or": _connective(exp.Or, False),
    "not": lambda args: exp.Paren(this=exp.Not(this=args[0])),
    "is null": lambda args: exp.Paren(this=exp.Is(this=args[0], expression=exp.Null())),
    "negate": lambda args: exp.Paren(this=exp.Neg(this=exp.Paren(this=args[0]))),
    "||": _concatenation,
    "case": _case,
    "in": lambda args: exp.Paren(this=exp.In(this=args[0], expressions=args[1:])),
    "coalesce": _function_call("coalesce"),
    "abs": _function_call("abs"),
    "upper": _function_call("upper"),
    "lower": _function_call("lower"),
    "length": _function_call("length"),
}
