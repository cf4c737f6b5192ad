"""The looks at a lake: they need its catalog alone.

`status`, which is asked for most, isn't here: it is to be quick, and needs little of what these do.
"""

from anabranch.looking.cycles import scc_status
from anabranch.looking.definition import describe_stream_table
from anabranch.looking.fuses import fuse_status
from anabranch.looking.gates import source_gates, watermark_groups, watermarks
from anabranch.looking.groups import diamond_groups, refresh_groups
from anabranch.looking.health import examine
from anabranch.looking.history import refresh_history
from anabranch.looking.picture import lake_graph
from anabranch.looking.pulse import leading_scheduler, pulse
from anabranch.looking.settings import settings
from anabranch.looking.sources import sources
from anabranch.looking.tree import dependency_tree
from anabranch.read.looking import list_tables

__all__ = [
    "dependency_tree",
    "describe_stream_table",
    "diamond_groups",
    "examine",
    "fuse_status",
    "lake_graph",
    "leading_scheduler",
    "list_tables",
    "pulse",
    "refresh_groups",
    "refresh_history",
    "scc_status",
    "settings",
    "source_gates",
    "sources",
    "watermark_groups",
    "watermarks",
]
