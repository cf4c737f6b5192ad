"""The value of a string literal, by the rules of Spark."""

from __future__ import annotations

import re

from anabranch.errors import SqlSyntax

_ESCAPE = re.compile(r"\\(?:U([0-9a-fA-F]{8})|u([0-9a-fA-F]{4})|([01][0-7]{2})|(.))|''|\"\"", re.DOTALL)
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def string_value(literal: str) -> str:
    r"""What a literal, quotes and all, stands for.

    >>> string_value(r"'it''s\n'"), string_value(r"r'a\n'")
    ("it's\n", 'a\\n')
    """
    if literal[0] in "rR":
        return literal[2:-1]
    mark = literal[0]

    def replace(match: re.Match[str]) -> str:
        long, short, octal, other = match.groups()
        if long or short:
            return _character(int(long or short, 16))
        if octal:
            return chr(int(octal, 8))
        if other is None:
            return mark if match.group() == mark * 2 else match.group()
        return _NAMED.get(other, other)

    value = _ESCAPE.sub(replace, literal[1:-1])
    # Two escapes may be the halves of one character.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(code: int) -> str:
    if code > 0x10FFFF:
        raise SqlSyntax(f"there is no character U+{code:X}")
    return chr(code)
