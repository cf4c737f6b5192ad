"""GROUP BY with its ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

from anabranch.sql.lower.syntax.reader import Reader
from anabranch.sql.lower.syntax.tree import Expression, Grouping, GroupingSets


def grouping(reader: Reader) -> Grouping | None:
    """The GROUP BY clause, if it stands here."""
    first = reader.at
    if not reader.take("GROUP", "BY"):
        return None
    if reader.word() == "ALL" and reader.sign(1) not in (",", ".", "("):
        reader.at += 1
        return Grouping(first, reader.at, (), everything=True)
    elements = [_element(reader)]
    while reader.take(","):
        elements.append(_element(reader))
    plain = tuple(item for item in elements if not isinstance(item, GroupingSets))
    start = reader.at
    if reader.take("WITH", "ROLLUP"):
        return _grouping_of_sets(reader, first, GroupingSets(start, reader.at, "rollup", _singles(plain)))
    if reader.take("WITH", "CUBE"):
        return _grouping_of_sets(reader, first, GroupingSets(start, reader.at, "cube", _singles(plain)))
    if reader.word() == "GROUPING" and reader.word(1) == "SETS":
        # GROUP BY a, b GROUPING SETS (…): the list in front repeats what the sets say.
        sets = _element(reader)
        if isinstance(sets, GroupingSets):
            return _grouping_of_sets(reader, first, sets)
    return Grouping(first, reader.at, tuple(elements))


def _grouping_of_sets(reader: Reader, first: int, sets: GroupingSets) -> Grouping:
    return Grouping(first, reader.at, (sets,))


def _singles(items: tuple[Expression, ...]) -> tuple[tuple[Expression, ...], ...]:
    return tuple((item,) for item in items)


def _element(reader: Reader) -> Expression | GroupingSets:
    sets = _grouping_sets(reader)
    return reader.expression() if sets is None else sets


def _grouping_sets(reader: Reader) -> GroupingSets | None:
    first = reader.at
    if reader.word() in ("ROLLUP", "CUBE") and reader.sign(1) == "(":
        kind = reader.step().word
        elements = _list(reader, nested=False)
        return GroupingSets(first, reader.at, "rollup" if kind == "ROLLUP" else "cube", elements)
    if reader.word() == "GROUPING" and reader.word(1) == "SETS" and reader.sign(2) == "(":
        reader.at += 2
        elements = _list(reader, nested=True)
        return GroupingSets(first, reader.at, "sets", elements)
    return None


def _list(reader: Reader, nested: bool) -> tuple[GroupingSets | tuple[Expression, ...], ...]:
    reader.expect("(")
    found: list[GroupingSets | tuple[Expression, ...]] = []
    while True:
        sets = _grouping_sets(reader) if nested else None
        found.append(_one_set(reader) if sets is None else sets)
        if not reader.take(","):
            break
    reader.expect(")")
    return tuple(found)


def _one_set(reader: Reader) -> tuple[Expression, ...]:
    """`()`, `(a, b)` or `a`; `(a) + 1` is an expression, so what follows the bracket decides."""
    if reader.sign() == "(" and reader.sign(reader.closing_index() + 1 - reader.at) in (",", ")"):
        reader.expect("(")
        items: tuple[Expression, ...] = ()
        if reader.sign() != ")":
            items = reader.expressions()
        reader.expect(")")
        return items
    return (reader.expression(),)
