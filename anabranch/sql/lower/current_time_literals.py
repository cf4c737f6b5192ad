"""Text that Spark reads as the current time: DATE 'today', CAST('now' AS TIMESTAMP), d > 'yesterday'."""

from __future__ import annotations

from anabranch.sql.lower.context import Context
from anabranch.sql.lower.syntax.tree import Expression, String, TypedLiteral
from anabranch.sql.parse import format_snippet

_MOVING = frozenset(["now", "today", "tomorrow", "yesterday"])
_TIMES = ("DATE", "TIMESTAMP")


def check_stable_time(context: Context, node: Expression, kind: str) -> None:
    """Refuse a text that is read as a value of this type if it means another time on every refresh."""
    text = node.value if isinstance(node, String | TypedLiteral) else None
    if text is None or not kind.upper().startswith(_TIMES):
        return
    words = text.split()
    if words and words[0].lower() in _MOVING:
        raise context.not_incremental(
            node,
            f"{format_snippet(text)} can't be maintained incrementally",
            "Spark reads it as the current time, which is another one on every refresh",
            "write the date itself",
        )
