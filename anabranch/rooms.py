"""The rooms of a lake in which its files are read and written, SQL is parsed, and rows are computed.

They bring pyiceberg, pyarrow and sqlglot, so `lake.py` enters them when one is first needed.
"""

from anabranch.lifecycle.alter import alter_stream_table
from anabranch.lifecycle.create import create_stream_tables
from anabranch.lifecycle.declare import create_refresh_group, drop_refresh_group
from anabranch.lifecycle.drop import drop_stream_table, tell_of_readers
from anabranch.lifecycle.fuse import reset_fuse
from anabranch.lifecycle.status import resume_stream_table, suspend_stream_table
from anabranch.lifecycle.watermarks import (
    create_watermark_group,
    drop_watermark_group,
    ending_with,
    tell_of_watermark_groups_gone,
)
from anabranch.looking.explain import explain_any
from anabranch.looking.verify import verify_stream_table
from anabranch.read.preview import preview
from anabranch.read.published import iceberg_table
from anabranch.read.snapshot import Snapshot
from anabranch.read.view import arrow_of, changes_between, frame_of
from anabranch.refresh.definitions import Definitions
from anabranch.refresh.immediate import follow
from anabranch.schedule.lease import Lease
from anabranch.schedule.manual import refresh_stream_table
from anabranch.schedule.run import run
from anabranch.schedule.tick import tick
from anabranch.statements import run_statement
from anabranch.storage.rows import repeatable
from anabranch.upkeep import compact, maintain
from anabranch.write.autocommit import autocommit, committed
from anabranch.write.repeated import begin

__all__ = [
    "Definitions",
    "Lease",
    "Snapshot",
    "alter_stream_table",
    "arrow_of",
    "autocommit",
    "begin",
    "changes_between",
    "committed",
    "compact",
    "create_refresh_group",
    "create_stream_tables",
    "create_watermark_group",
    "drop_refresh_group",
    "drop_stream_table",
    "drop_watermark_group",
    "ending_with",
    "explain_any",
    "follow",
    "frame_of",
    "iceberg_table",
    "maintain",
    "preview",
    "refresh_stream_table",
    "repeatable",
    "reset_fuse",
    "resume_stream_table",
    "run",
    "run_statement",
    "suspend_stream_table",
    "tell_of_readers",
    "tell_of_watermark_groups_gone",
    "tick",
    "verify_stream_table",
]
