r"""Text from outside, made harmless: it can't steer a terminal, hide, or run over its line.

Names of tables are plain, but messages, reasons and the values of rows are whatever somebody wrote.
"""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, formats (among them those that turn the direction of writing), halves, the unassigned."""


def escape_unprintable(text: str) -> str:
    r"""The same text with what isn't seen spelled out; line breaks stay.

    >>> escape_unprintable("a\x1b[31mb\u202ec\nd")
    'a\\x1b[31mb\\u202ec\nd'
    """
    if text.isprintable():
        return text
    return "".join(_escape_character(character) for character in text)


def escape_to_one_line(text: str) -> str:
    r"""The same on one line, for the cell of a table.

    >>> escape_to_one_line("a\r\n  b\tc")
    'a b c'
    """
    return escape_unprintable(" ".join(text.split()))


def _escape_character(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in _HIDDEN:
        return character
    if character == "\t":
        return "    "
    return (
        character.encode("ascii", "backslashreplace").decode()
        if character > "\x7f"
        else _hex_escape(character)
    )


def _hex_escape(character: str) -> str:
    return f"\\x{ord(character):02x}"
