"""Checks of arguments: a stream table given by its name, a flag."""

from __future__ import annotations

import difflib

from anabranch.errors import InputError, UnknownStreamTable
from anabranch.names import TableName
from anabranch.streams.stream_graph import Streams
from anabranch.streams.stream_table import StreamTable


def find_stream(streams: Streams, name: str | TableName) -> StreamTable:
    """The stream table of that name, or the error that suggests similar names."""
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
