"""The user's own text, cut where it names a column.

What only Spark understands stays as it was written. Columns in it are holes; so are subqueries,
aggregates and windows, which were computed below and stand in a column by now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.algebra.scalar import Ref, Scalar, Verbatim
from anabranch.sql.lower.check_functions import check_callable
from anabranch.sql.lower.current_time_literals import check_stable_time
from anabranch.sql.lower.syntax.tree import (
    Binary,
    CastTo,
    Exists,
    Expression,
    FunctionCall,
    InQuery,
    Item,
    Lambda,
    Like,
    Name,
    Node,
    Number,
    Row,
    ScalarQuery,
    Star,
    TypedLiteral,
    Unary,
    children,
)

if TYPE_CHECKING:
    from anabranch.sql.lower.expressions import Expressions

Fragments = list[str | Ref]


def lower_verbatim(expressions: Expressions, node: Expression) -> Verbatim:
    """The text of an expression with holes; in brackets, unless nothing can bind tighter."""
    fragments = _VerbatimBuilder(expressions).node_text(node)
    open_ended = isinstance(node, Unary | Binary | Like) or (
        isinstance(node, Number) and node.text.startswith("-")
    )
    if open_ended:
        fragments = ["(", *fragments, ")"]
    return Verbatim(tuple(_merge_texts(fragments)))


class _VerbatimBuilder:
    """Cuts one text; knows the lambda parameters around the part it is at."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions
        self._context = expressions.context
        self._parameters: tuple[str, ...] = ()

    def fragments(self, node: Node) -> Fragments:
        """A part of the text."""
        if isinstance(node, Expression):
            known = self._expressions.lookup_scalar(node)
            if known is not None:
                return self._hole(node, known)
        match node:
            case Name():
                if node.parts[0].lower() in self._parameters:
                    return self.node_text(node)
                return self._hole(node, self._expressions.name(node))
            case Exists() | InQuery() | ScalarQuery():
                return self._hole(node, self._expressions.scalar(node))
            case Row():
                return self._row(node)
            case Lambda():
                before = self._parameters
                self._parameters = (*before, *(name.lower() for name in node.parameters))
                fragments = self.node_text(node)
                self._parameters = before
                return fragments
            case FunctionCall():
                check_callable(self._context, node)
            case CastTo(operand=operand, type=kind):
                check_stable_time(self._context, operand, kind)
            case TypedLiteral(word=word):
                check_stable_time(self._context, node, word)
            case Star():
                raise self._context.invalid(node, "a star is not an expression")
        return self.node_text(node)

    def node_text(self, node: Node) -> Fragments:
        """The text of a node, its parts cut in turn."""
        found: Fragments = []
        at = node.first
        for child in sorted(children(node), key=lambda part: part.first):
            found += [self._text(at, child.first, node), *self.fragments(child)]
            at = child.last
        return [*found, self._text(at, node.last, node)]

    def _row(self, node: Row) -> Fragments:
        """Spark names a struct's fields after its columns, and those have other names in the plan."""
        found: Fragments = ["named_struct("]
        for number, item in enumerate(node.items, start=1):
            found += [", " if number > 1 else "", self._field(item, number), ", "]
            found += self.fragments(item.value)
        return [*found, ")"]

    def _field(self, item: Item, number: int) -> str:
        name = field_name(item, number)
        if "'" in name or "\\" in name:
            raise self._context.invalid(item, f'a field can\'t be called "{name}"')
        return f"'{name}'"

    def _hole(self, node: Expression, scalar: Scalar) -> Fragments:
        if isinstance(scalar, Verbatim):
            return list(scalar.fragments)
        return [self._expressions.as_column(node, scalar)]

    def _text(self, first: int, last: int, node: Node) -> str:
        """The lexemes between two parts of a node, with single spaces where there was any."""
        lexemes = self._context.sql.lexemes
        text = ""
        for index in range(first, last + (last < node.last)):
            if index > node.first and lexemes[index - 1].end < lexemes[index].start:
                text += " "
            text += lexemes[index].text if index < last else ""
        return text


def field_name(item: Item, number: int) -> str:
    """What Spark calls a field of a struct that is made of columns."""
    if item.aliases:
        return item.aliases[0]
    return item.value.parts[-1] if isinstance(item.value, Name) else f"col{number}"


def _merge_texts(fragments: Fragments) -> Fragments:
    """Neighbouring texts as one."""
    found: Fragments = []
    for piece in fragments:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        elif piece:
            found.append(piece)
    return found
