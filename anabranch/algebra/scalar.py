"""Values computed from one row.

Operators that every back end understands are `Call`s. Any other function of Spark is a `Function`,
by the name the user wrote, a cast is a `Cast`, and syntax that is neither stays the user's own text,
with holes where it names columns: `Verbatim`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

Value = None | bool | int | str | Decimal | float


@dataclass(frozen=True)
class Ref:
    """A column of the input, by its name in the plan, which is unique there."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A constant."""

    value: Value


@dataclass(frozen=True)
class Call:
    """An operator or function that all back ends know, by its name in `OPERATORS`."""

    op: str
    args: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        arity = OPERATORS.get(self.op)
        if arity is None:
            raise ValueError(f"there is no operator {self.op!r}")
        low, high = arity
        if not low <= len(self.args) <= high:
            raise ValueError(f"{self.op} takes {low} to {high} arguments, not {len(self.args)}")


@dataclass(frozen=True)
class Function:
    """A deterministic function of Spark's, by name. The reference doesn't know it."""

    name: str
    args: tuple[Scalar, ...]


@dataclass(frozen=True)
class Cast:
    """A value in another type, named as Spark names it; with `quietly`, NULL instead of an error."""

    value: Scalar
    type: str
    quietly: bool = False


@dataclass(frozen=True)
class Verbatim:
    """The user's own text, split where it names a column. Only Spark can run it."""

    fragments: tuple[str | Ref, ...]


Scalar = Ref | Literal | Call | Function | Cast | Verbatim

_MANY = 10_000
OPERATORS: Mapping[str, tuple[int, int]] = {
    "=": (2, 2),
    "<>": (2, 2),
    "<": (2, 2),
    "<=": (2, 2),
    ">": (2, 2),
    ">=": (2, 2),
    "<=>": (2, 2),
    "~=": (2, 2),
    "and": (0, _MANY),
    "or": (0, _MANY),
    "not": (1, 1),
    "is null": (1, 1),
    "+": (2, 2),
    "-": (2, 2),
    "*": (2, 2),
    "/": (2, 2),
    "%": (2, 2),
    "negate": (1, 1),
    "||": (2, _MANY),
    "coalesce": (1, _MANY),
    "abs": (1, 1),
    "upper": (1, 1),
    "lower": (1, 1),
    "length": (1, 1),
    "case": (2, _MANY),
    "in": (2, _MANY),
    "like": (2, 2),
    "raise": (1, 1),
}
"""Name and number of arguments. `case` takes condition, value, …, and an odd last one as ELSE.

`~=` is an equality between types that differ, or aren't known to be the same: '1' equals 1, and 1 equals
'01'. So it says nothing about a third value, and no key follows from it.
"""

TRUE = Literal(True)
FALSE = Literal(False)
NULL = Literal(None)


def children(scalar: Scalar) -> tuple[Scalar, ...]:
    """The scalars directly inside."""
    match scalar:
        case Call(_, args) | Function(_, args):
            return args
        case Cast(value, _):
            return (value,)
        case Verbatim(fragments):
            return tuple(fragment for fragment in fragments if isinstance(fragment, Ref))
        case _:
            return ()


def refs(scalar: Scalar) -> Iterator[str]:
    """The columns that a scalar reads, each as often as it does."""
    pending = [scalar]
    while pending:
        current = pending.pop()
        if isinstance(current, Ref):
            yield current.name
        pending.extend(children(current))


def replace_refs(scalar: Scalar, change: Callable[[Ref], Scalar]) -> Scalar:
    """The scalar with every column replaced. Text stays text, so there only columns can stand in."""
    match scalar:
        case Ref():
            return change(scalar)
        case Call(op, args):
            return Call(op, tuple(replace_refs(arg, change) for arg in args))
        case Function(name, args):
            return Function(name, tuple(replace_refs(arg, change) for arg in args))
        case Cast(value, kind, quietly):
            return Cast(replace_refs(value, change), kind, quietly)
        case Verbatim(fragments):
            return Verbatim(tuple(_replace_text_ref(fragment, change) for fragment in fragments))
        case _:
            return scalar


def _replace_text_ref(fragment: str | Ref, change: Callable[[Ref], Scalar]) -> str | Ref:
    if isinstance(fragment, str):
        return fragment
    changed = change(fragment)
    if not isinstance(changed, Ref):
        raise ValueError(f"{fragment.name} stands in text that only a column can stand in")
    return changed


def rename_refs(scalar: Scalar, names: Mapping[str, str]) -> Scalar:
    """The scalar over columns of other names."""
    return replace_refs(scalar, lambda ref: Ref(names.get(ref.name, ref.name)))


def is_never_null(scalar: Scalar) -> bool:
    """Whether a value shows on its face that it isn't NULL, whatever the row.

    >>> is_never_null(Call("case", (Ref("a"), Literal(1), Literal(0))))
    True
    >>> is_never_null(Call("case", (Ref("a"), Literal(1))))
    False
    """
    match scalar:
        case Literal(value):
            return value is not None
        case Call("<=>" | "is null"):
            return True
        case Call("coalesce", args):
            return any(is_never_null(arg) for arg in args)
        case Call("case", args):
            return len(args) % 2 == 1 and all(is_never_null(arg) for arg in (*args[1::2], args[-1]))
        case _:
            return False


# -- conditions -----------------------------------------------------------------------------------


def all_of(conditions: Iterable[Scalar]) -> Scalar:
    """The conjunction, flattened.

    >>> all_of([TRUE, Call("=", (Ref("a"), Ref("b")))])
    Call(op='=', args=(Ref(name='a'), Ref(name='b')))
    """
    flat = [part for condition in conditions for part in conjuncts(condition)]
    match flat:
        case []:
            return TRUE
        case [only]:
            return only
        case _:
            return Call("and", tuple(flat))


def conjuncts(condition: Scalar) -> list[Scalar]:
    """The conditions that must all be true."""
    match condition:
        case Literal(True):
            return []
        case Call("and", args):
            return [part for arg in args for part in conjuncts(arg)]
        case _:
            return [condition]


def equal(left: Scalar, right: Scalar) -> Scalar:
    """SQL equality: NULL equals nothing."""
    return Call("=", (left, right))


def null_safe_equal(left: Scalar, right: Scalar) -> Scalar:
    """Identity: NULL is the same as NULL. Group keys and whole rows are compared so."""
    return Call("<=>", (left, right))
