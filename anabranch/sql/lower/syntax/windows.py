"""Windows: OVER (PARTITION BY … ORDER BY … ROWS BETWEEN … AND …), OVER w, WINDOW w AS (…)."""

from __future__ import annotations

from typing import Literal as OneOf

from anabranch.sql.lower.syntax.reader import Reader
from anabranch.sql.lower.syntax.tree import Expression, Frame, Sort, WindowSpec
from anabranch.sql.lower.syntax.type_names import text_between


def window_spec(reader: Reader) -> WindowSpec | str:
    """What stands behind OVER: a window, or the name of one."""
    if reader.sign() != "(":
        return reader.name().lower()
    first = reader.at
    reader.expect("(")
    if reader.is_name() and reader.sign(1) == ")" and reader.word() not in ("PARTITION", "ORDER"):
        name = reader.name().lower()
        reader.expect(")")
        return name
    partition: tuple[Expression, ...] = ()
    order: tuple[Sort, ...] = ()
    if reader.take("CLUSTER", "BY"):
        partition = reader.expressions()
        order = tuple(Sort(item.first, item.last, item, False, True) for item in partition)
    elif reader.take("PARTITION", "BY") or reader.take("DISTRIBUTE", "BY"):
        partition = reader.expressions()
    if reader.take("ORDER", "BY") or reader.take("SORT", "BY"):
        order = reader.sorts()
    frame = _frame(reader)
    reader.expect(")")
    return WindowSpec(first, reader.at, partition, order, frame)


def named_windows(reader: Reader) -> tuple[tuple[str, WindowSpec | str], ...]:
    """`WINDOW w AS (…), …`, if it stands here."""
    found: list[tuple[str, WindowSpec | str]] = []
    if reader.word() != "WINDOW" or not reader.is_name(1):
        return ()
    reader.at += 1
    while True:
        name = reader.name().lower()
        reader.expect("AS")
        found.append((name, window_spec(reader)))
        if not reader.take(","):
            return tuple(found)


def _frame(reader: Reader) -> Frame | None:
    word = reader.word()
    if word not in ("ROWS", "RANGE"):
        return None
    unit: OneOf["rows", "range"] = "rows" if word == "ROWS" else "range"
    first = reader.at
    reader.at += 1
    between = reader.take("BETWEEN")
    start = _frame_bound(reader)
    end = "current row"
    if between:
        reader.expect("AND")
        end = _frame_bound(reader)
    return Frame(first, reader.at, unit, start, end, text_between(reader, first))


def _frame_bound(reader: Reader) -> str:
    for words in (("UNBOUNDED", "PRECEDING"), ("UNBOUNDED", "FOLLOWING"), ("CURRENT", "ROW")):
        if reader.take(*words):
            return " ".join(words).lower()
    reader.value()
    if not reader.take("PRECEDING") and not reader.take("FOLLOWING"):
        raise reader.syntax_error("PRECEDING or FOLLOWING is expected here")
    return "offset"
