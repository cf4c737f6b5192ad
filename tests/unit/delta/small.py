"""Small tables as text, and a query's change over them: tests show what they are about."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.algebra.evaluate import Row, Tables, ZSet, evaluate, net, plus
from anabranch.algebra.plan import Plan, Scan
from anabranch.delta import differentiate
from anabranch.delta.simplify import simplify


def scan(table: str, columns: str) -> Scan:
    """A table whose columns keep their names, prefixed by the table's."""
    return Scan(table, tuple((f"{table}_{name}", name) for name in columns.split()))


def rows(*lines: str) -> ZSet:
    """Rows from text: numbers are numbers, `-` is NULL, the rest is text.

    >>> rows("1 mon -", "1 mon -")
    {(1, 'mon', None): 2}
    """
    return net((tuple(_value(word) for word in line.split()), 1) for line in lines)


def _value(word: str) -> object:
    if word == "-":
        return None
    return int(word) if word.lstrip("-").isdigit() else word


def change(
    plan: Plan, columns: Mapping[str, str], before: Mapping[str, ZSet], after: Mapping[str, ZSet]
) -> dict[Row, int]:
    """The change of a query, as its plan gives it; checked against both results on the way."""
    names = {table: tuple(text.split()) for table, text in columns.items()}
    tables = Tables(names, before, after)
    old = evaluate(plan, Tables(names, before, before))
    new = evaluate(plan, Tables(names, after, after))
    changed = [table for table in before if dict(before[table]) != dict(after[table])]
    found = dict(evaluate(simplify(differentiate(plan), changed=changed), tables))
    assert plus(old, found) == dict(new)
    return found
