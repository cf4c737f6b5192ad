"""NOT over subqueries, pushed down to them as Spark's optimiser does.

For Spark `x IN (SELECT …)` as a value is true or false, never NULL, and so is `x NOT IN (…)`: where SQL
says NULL, both are false. So it matters where a NOT stands, and Spark moves it through AND, OR and NOT
to the IN itself before it decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.algebra.scalar import Call, Scalar
from anabranch.sql.lower.syntax.tree import (
    Expression,
    InQuery,
    Logical,
    Node,
    Not,
    walk_block,
)

if TYPE_CHECKING:
    from anabranch.sql.lower.expressions import Expressions


def lower_not(expressions: Expressions, node: Expression) -> Scalar:
    """NOT of an expression."""
    match node:
        case Not(operand=inner) if has_in_subquery(inner):
            return expressions.scalar(inner)
        case Logical(op=op, items=items) if has_in_subquery(node):
            dual = "or" if op == "and" else "and"
            return Call(dual, tuple(lower_not(expressions, item) for item in items))
        case InQuery():
            return expressions.context.rules.subquery(expressions, node, True)
    return Call("not", (expressions.scalar(node),))


def has_in_subquery(node: Node) -> bool:
    """Whether an expression asks `x IN (SELECT …)` somewhere."""
    return any(isinstance(part, InQuery) for part in walk_block(node))


def conjuncts_of(node: Expression) -> list[Expression]:
    """The parts of a condition that must all hold."""
    match node:
        case Logical(op="and", items=items):
            return [part for item in items for part in conjuncts_of(item)]
        case Not(operand=Logical(op="or", items=items)):
            return [part for item in items for part in conjuncts_of(negation(item))]
        case Not(operand=Not(operand=inner)):
            return conjuncts_of(inner)
        case _:
            return [node]


def negation(node: Expression) -> Expression:
    """NOT of an expression, as an expression."""
    return node.operand if isinstance(node, Not) else Not(node.first, node.last, node)
