"""Expressions of one SELECT block to scalars over the columns of its plan.

An operator becomes a `Call` only where Spark means by it what the reference does. Any other function
keeps its name, and syntax that is neither stays the user's text, with holes where it names columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

from anabranch.algebra.scalar import (
    Call,
    Cast,
    Function,
    Literal,
    Ref,
    Scalar,
    Verbatim,
    children,
    equal,
    refs,
)
from anabranch.sql.lexer import quote
from anabranch.sql.lower.calls import lower_call
from anabranch.sql.lower.check_functions import unstable_function_error
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.current_time_literals import check_stable_time
from anabranch.sql.lower.functions import BARE_CALLS, UNSTABLE
from anabranch.sql.lower.negation import lower_not
from anabranch.sql.lower.plan_builder import JoinTarget, PlanBuilder
from anabranch.sql.lower.predicates import lower_predicate
from anabranch.sql.lower.scope import CteDefinition, NeedsDomain, Scope
from anabranch.sql.lower.syntax.tree import (
    Argument,
    Between,
    Binary,
    Case,
    CastTo,
    Exists,
    Expression,
    FunctionCall,
    InList,
    InQuery,
    IsDistinct,
    IsTest,
    KeywordLiteral,
    Lambda,
    Like,
    Logical,
    Name,
    Node,
    Not,
    Number,
    Row,
    ScalarQuery,
    SpecialSyntax,
    Star,
    String,
    TypedLiteral,
    Unary,
)
from anabranch.sql.lower.verbatim import field_name, lower_verbatim

MAX_ARGUMENTS = 5_000
"""Items of a list, arguments of a call, terms of AND and OR."""

MAX_REPEATED = 16
"""Parts of an item that is put in where a later item names it; a larger one becomes a column."""
_SAME_AS_REFERENCE = frozenset(["=", "<>", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%", "||"])


class Expressions:
    """Lowers expressions over one scope; what needs more than a row goes to `place`."""

    def __init__(
        self,
        context: Context,
        scope: Scope,
        place: JoinTarget,
        ctes: Mapping[str, CteDefinition] | None = None,
    ) -> None:
        self.context = context
        self.scope = scope
        self.place = place
        self.ctes = ctes or {}
        self.ready: dict[Expression, Scalar] = {}
        """Parts that were computed before: aggregates, windows, whole items of the SELECT list."""
        self.aliases: dict[str, Scalar | Expression | None] = {}
        """Names of items of the SELECT list that may be meant; None if two of them share one."""
        self.remembers = False
        """Whether what is lowered once stays so: safe when nothing it depends on will change."""
        self.aliases_first = False
        """Whether an item's name goes before a column's (in ORDER BY)."""

    def scalar(self, node: Expression) -> Scalar:
        """The scalar that an expression stands for."""
        known = self.lookup_scalar(node)
        if known is None:
            known = self._lower(node)
            if self.remembers:
                self.ready[node] = known
        return known

    def lookup_scalar(self, node: Expression) -> Scalar | None:
        """The scalar, if it was computed before."""
        return self.ready.get(node)

    def scalars(self, nodes: tuple[Expression, ...]) -> tuple[Scalar, ...]:
        """The scalars of several."""
        return tuple(self.scalar(node) for node in nodes)

    def _lower(self, node: Expression) -> Scalar:
        match node:
            case Name():
                return self.name(node)
            case Number() | String() | KeywordLiteral() | TypedLiteral():
                return self._literal(node)
            case Unary() | Binary() | Logical() | Not():
                return self._operator(node)
            case Between() | InList() | Like() | IsTest() | IsDistinct():
                return lower_predicate(self, node)
            case Exists() | InQuery() | ScalarQuery():
                return self.context.rules.subquery(self, node, False)
            case Case():
                return self._case(node)
            case CastTo(operand=operand, type=kind, quietly=quietly):
                check_stable_time(self.context, operand, kind)
                return Cast(self.scalar(operand), kind, quietly)
            case FunctionCall():
                return lower_call(self, node)
            case Row():
                return self._row(node)
            case SpecialSyntax():
                return lower_verbatim(self, node)
            case Lambda():
                raise self.context.invalid(node, "a lambda stands where no function takes it")
            case Argument():
                raise self.context.invalid(node, "a named argument stands outside a call")
            case Star():
                raise self.context.invalid(node, "a star is not an expression")

    # -- names --------------------------------------------------------------------------------

    def name(self, node: Name) -> Scalar:
        """The column, with the fields behind it; or an item of the SELECT list; or a bare call."""
        alias = node.parts[0].lower()
        if self.aliases_first and len(node.parts) == 1 and alias in self.aliases:
            return self._alias(node, alias)
        found = self.scope.find_own(self.context, node, or_none=alias in self.aliases)
        if found is None and alias in self.aliases:
            return self._fields(node, self._alias(node, alias), node.parts[1:])
        found = found or self.scope.find(self.context, node)
        if found is None:
            if len(node.parts) == 1 and alias in BARE_CALLS:
                raise unstable_function_error(self.context, node, alias, UNSTABLE[alias])
            raise self.context.unknown_column(node, ".".join(node.parts), self.scope.format_names())
        field, parts = found
        return self._fields(node, Ref(field.plan), node.parts[parts:])

    def _fields(self, node: Name, scalar: Scalar, fields: tuple[str, ...]) -> Scalar:
        """A field inside a column: `(s).f`."""
        if not fields:
            return scalar
        path = "".join(f".{quote(name)}" for name in fields)
        return Verbatim(("(", self.as_column(node, scalar), f"){path}"))

    def as_column(self, node: Expression, scalar: Scalar) -> Ref:
        """A column of the plan that holds the scalar: text can only name columns."""
        if isinstance(scalar, Ref):
            return scalar
        return self.builder_with_columns(node, refs(scalar)).add_column(self.context, "c", scalar)

    def builder_with_columns(self, node: Node, columns: Iterable[str]) -> PlanBuilder:
        """The plan that has these columns, to which something is to be joined."""
        wanted = list(columns)
        if self.scope.outer is not None and not set(wanted) <= self.place.names:
            raise NeedsDomain(self.scope.outer.token)
        return self.place.builder_with_columns(self.context, node, wanted)

    def _alias(self, node: Name, alias: str) -> Scalar:
        value = self.aliases[alias]
        if value is None:
            raise self.context.invalid(
                node, f'two items of the SELECT list are called "{node.parts[0]}"', "rename one of them."
            )
        scalar = self.scalar(value) if isinstance(value, Expression) else value
        if not self.aliases_first and _is_large(scalar):
            # Put in again and again, an item that uses an item that uses … would grow without bound.
            scalar = self.as_column(node, scalar)
            self.aliases[alias] = scalar
        return scalar

    # -- literals -----------------------------------------------------------------------------

    def _literal(self, node: Number | String | KeywordLiteral | TypedLiteral) -> Scalar:
        match node:
            case KeywordLiteral(value=value):
                return Literal(value)
            case String(value=str(text)):
                return Literal(text)
            case Number(text=text) if text.lstrip("-").isdecimal():
                return Literal(int(text))
            case Number(text=text) if _is_decimal(text):
                return Literal(Decimal(text))
            case TypedLiteral():
                check_stable_time(self.context, node, node.word)
        return lower_verbatim(self, node)

    # -- operators ----------------------------------------------------------------------------

    def _operator(self, node: Unary | Binary | Logical | Not) -> Scalar:
        match node:
            case Logical(op=op, items=items):
                return Call(op, self.scalars(items))
            case Not(operand=operand):
                return lower_not(self, operand)
            case Unary(op="-", operand=operand):
                return Call("negate", (self.scalar(operand),))
            case Unary(op="+", operand=operand):
                return Function("positive", (self.scalar(operand),))
            case Binary(op=op, left=left, right=right) if op in _SAME_AS_REFERENCE:
                return self._binary(op, left, right)
        return lower_verbatim(self, node)

    def _binary(self, op: str, left: Expression, right: Expression) -> Scalar:
        # NOT reaches through `x IN (…) = FALSE`, as Spark's optimiser does.
        for one, other in ((left, right), (right, left)):
            if op in ("=", "<>") and isinstance(other, KeywordLiteral) and isinstance(one, InQuery | Not):
                if other.value is (op == "="):
                    return self.scalar(one)
                if other.value is not None:
                    return lower_not(self, one)
        a, b = self.scalar(left), self.scalar(right)
        # Next to a date, Spark reads the text 'today' as one.
        check_stable_time(self.context, left, str(self.context.type_of(b)))
        check_stable_time(self.context, right, str(self.context.type_of(a)))
        return Call(op, (a, b))

    def _case(self, node: Case) -> Scalar:
        args: list[Scalar] = []
        value = None if node.operand is None else self.scalar(node.operand)
        for condition, result in node.whens:
            test = self.scalar(condition)
            args += [test if value is None else equal(value, test), self.scalar(result)]
        if node.otherwise is not None:
            args.append(self.scalar(node.otherwise))
        return Call("case", tuple(args))

    def _row(self, node: Row) -> Scalar:
        """A struct; its fields are named after the columns that stand in it, as Spark names them."""
        args: list[Scalar] = []
        for number, item in enumerate(node.items, start=1):
            args += [Literal(field_name(item, number)), self.scalar(item.value)]
        return Function("named_struct", tuple(args))


def _is_large(scalar: Scalar) -> bool:
    count = 0
    pending = [scalar]
    while pending and count <= MAX_REPEATED:
        count += 1
        pending.extend(children(pending.pop()))
    return count > MAX_REPEATED


def _is_decimal(text: str) -> bool:
    whole, dot, fraction = text.lstrip("-").partition(".")
    if not dot or not fraction.isdecimal() or not (whole.isdecimal() or whole == ""):
        return False
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False
