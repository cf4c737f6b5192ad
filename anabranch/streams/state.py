"""The state that decisions are made from: all versions and stream tables, read in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.names import TableName
from anabranch.streams.stream_table import StreamTable
from anabranch.streams.versions import LakeVersion


@dataclass(frozen=True)
class State:
    """One lake version, and the stream tables as they were in it."""

    lake_version: LakeVersion
    streams: Mapping[TableName, StreamTable]
