"""What was meant: a stream table by its name, a flag."""

from __future__ import annotations

import difflib

from anabranch.errors import InputError, UnknownStreamTable
from anabranch.ledger.streams import StreamTable
from anabranch.names import TableName
from anabranch.refresh.graphs import Streams


def found(streams: Streams, name: str | TableName) -> StreamTable:
    """The stream table, or the error that says what is near."""
    wanted = TableName.parse(name)
    known = streams.get(wanted)
    if known is None:
        close = difflib.get_close_matches(str(wanted), [str(other) for other in streams], n=1)
        raise UnknownStreamTable(
            f'there is no stream table "{wanted}"', hint=f'did you mean "{close[0]}"?' if close else None
        )
    return known


def check_flag(argument: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise InputError(f"{argument} is True or False")
