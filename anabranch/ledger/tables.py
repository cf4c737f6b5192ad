"""The ledger's tables as the newest migration leaves them.

The first two are the Iceberg catalog's own, column for column what Java's JDBC catalog and
pyiceberg's SqlCatalog use, so that other Iceberg clients open the same database.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()

iceberg_tables = Table(
    "iceberg_tables",
    metadata,
    Column("catalog_name", String(255), primary_key=True),
    Column("table_namespace", String(255), primary_key=True),
    Column("table_name", String(255), primary_key=True),
    Column("metadata_location", String(1000)),
    Column("previous_metadata_location", String(1000)),
    Column("iceberg_type", String(5)),
)

iceberg_namespaces = Table(
    "iceberg_namespace_properties",
    metadata,
    Column("catalog_name", String(255), primary_key=True),
    Column("namespace", String(255), primary_key=True),
    Column("property_key", String(255), primary_key=True),
    Column("property_value", String(1000), nullable=False),
)

lake = Table(
    "anabranch_lake",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("lake_id", String(32), nullable=False),
    Column("warehouse", Text, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    # Below this lsn nothing is promised to be readable any more.
    Column("floor_lsn", BigInteger, nullable=False),
)

migrations = Table(
    "anabranch_migrations",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", String(200), nullable=False),
    Column("applied_at", BigInteger, nullable=False),
)

commits = Table(
    "anabranch_commits",
    metadata,
    Column("lsn", BigInteger, primary_key=True, autoincrement=False),
    Column("committed_at", BigInteger, nullable=False),
    Column("kind", String(32), nullable=False),
)

# One row per commit attempt that is decided: with its lsn if it happened, without if it never will.
attempts = Table(
    "anabranch_attempts",
    metadata,
    Column("attempt", String(128), primary_key=True),
    Column("lsn", BigInteger),
    Column("decided_at", BigInteger, nullable=False),
)

tables = Table(
    "anabranch_tables",
    metadata,
    Column("table_id", String(32), primary_key=True),
    Column("namespace", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("kind", String(16), nullable=False),
    # The declared schema in Spark's JSON: Iceberg has no TINYINT and SMALLINT of its own.
    Column("schema", Text, nullable=False),
    Column("created_lsn", BigInteger, nullable=False),
    Column("dropped_lsn", BigInteger),
    # The pointer as of the newest commit that has an lsn. A different pointer in iceberg_tables
    # means that somebody else committed.
    Column("metadata_location", String(1000), nullable=False),
    Column("head_lsn", BigInteger, nullable=False),
    Column("head_snapshot", BigInteger),
    Column("head_rows", BigInteger, nullable=False),
    Index("anabranch_tables_by_name", "namespace", "name"),
)

versions = Table(
    "anabranch_versions",
    metadata,
    Column("table_id", String(32), primary_key=True),
    Column("lsn", BigInteger, primary_key=True, autoincrement=False),
    Column("snapshot_id", BigInteger),
    Column("row_count", BigInteger, nullable=False),
    Column("schema_id", Integer, nullable=False),
    Column("schema", Text, nullable=False),
    Index("anabranch_versions_by_lsn", "lsn"),
)

pins = Table(
    "anabranch_pins",
    metadata,
    Column("pin", String(64), primary_key=True),
    Column("lsn", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("holder", String(255), nullable=False),
    Column("expires_at", BigInteger),
)

leases = Table(
    "anabranch_leases",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("holder", String(255), nullable=False),
    Column("term", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

settings = Table(
    "anabranch_settings",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

# Files that maintenance found unneeded, and when it first did.
garbage = Table(
    "anabranch_garbage",
    metadata,
    Column("path", String(1000), primary_key=True),
    Column("since", BigInteger, nullable=False),
)

# One row per stream table: its definition, and how far it has come.
stream_tables = Table(
    "anabranch_stream_tables",
    metadata,
    Column("table_id", String(32), primary_key=True),
    Column("namespace", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("query", Text, nullable=False),
    Column("options", Text, nullable=False),
    # What its query reads, and the hidden tables that it keeps beside its own, as JSON lists.
    Column("inputs", Text, nullable=False),
    Column("state_tables", Text, nullable=False),
    # Why it can't be maintained incrementally, if it can't.
    Column("refusal", Text),
    Column("status", String(16), nullable=False),
    Column("status_reason", Text),
    # Which versions of its inputs the contents come from; none before the first fill.
    Column("reads", Text),
    Column("frontier", Text, nullable=False),
    Column("version_lsn", BigInteger),
    Column("effective_mode", String(16)),
    Column("mode_reason", Text),
    Column("last_refresh_at", BigInteger),
    Column("failures", Integer, nullable=False),
    Column("retry_at", BigInteger),
    Column("error_code", String(16)),
    Column("error", Text),
    # The reason that stands in the history, while it is held.
    Column("held", Text),
    # Whether the newest refresh found nothing to do.
    Column("idle", Integer, nullable=False),
    Column("group_id", BigInteger),
    # The name of the declared group that it is in.
    Column("declared", String(255)),
    # Whether writers maintain it in their own commits.
    Column("immediate", Integer, nullable=False),
    # The cycle that it is in.
    Column("scc_id", BigInteger),
    # What its fuse remembers: recent batches as a JSON list, how many in a row exceeded the ceiling, when it
    # blew, what a person decided about that, and how many changes were passed over so.
    Column("fuse_batches", Text, nullable=False),
    Column("fuse_in_a_row", Integer, nullable=False),
    Column("fuse_blown_at", BigInteger),
    Column("fuse_reset", String(16)),
    Column("fuse_skipped", BigInteger, nullable=False),
    # Whether its first fill waits for sources, and comes when they are ready, whatever its schedule.
    Column("put_off", Integer, nullable=False),
    # The project that made it.
    Column("project", String(255)),
    Index("anabranch_stream_tables_by_name", "namespace", "name", unique=True),
)

groups = Table(
    "anabranch_groups",
    metadata,
    Column("group_id", BigInteger, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
)

refresh_groups = Table(
    "anabranch_refresh_groups",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("isolation", String(16), nullable=False),
    Column("snapshot_timeout_ms", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("project", String(255)),
)

# One row per source that is gated, or was.
gates = Table(
    "anabranch_gates",
    metadata,
    Column("namespace", String(255), primary_key=True),
    Column("name", String(255), primary_key=True),
    Column("gated", Integer, nullable=False),
    Column("gated_at", BigInteger, nullable=False),
    Column("ungated_at", BigInteger),
    Column("gated_by", String(255), nullable=False),
    # Whether the first watermark opens it.
    Column("auto_ungate", Integer, nullable=False),
    # Whether somebody was told that it has been shut for long.
    Column("told", Integer, nullable=False),
)

watermarks = Table(
    "anabranch_watermarks",
    metadata,
    Column("namespace", String(255), primary_key=True),
    Column("name", String(255), primary_key=True),
    Column("watermark", BigInteger, nullable=False),
    Column("advanced_at", BigInteger, nullable=False),
    Column("lsn", BigInteger, nullable=False),
)

watermark_groups = Table(
    "anabranch_watermark_groups",
    metadata,
    Column("name", String(255), primary_key=True),
    # In microseconds.
    Column("tolerance", BigInteger, nullable=False),
    Column("missing", String(16), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("project", String(255)),
)

watermark_sources = Table(
    "anabranch_watermark_sources",
    metadata,
    Column("group_name", String(255), primary_key=True),
    Column("namespace", String(255), primary_key=True),
    Column("name", String(255), primary_key=True),
)

history = Table(
    "anabranch_history",
    metadata,
    Column("refresh_id", BigInteger, primary_key=True, autoincrement=False),
    Column("namespace", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("action", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger, nullable=False),
    # How long it took.
    Column("micros", BigInteger, nullable=False),
    Column("rows_inserted", BigInteger, nullable=False),
    Column("rows_deleted", BigInteger, nullable=False),
    Column("rows_changed", BigInteger, nullable=False),
    Column("rows_read", BigInteger, nullable=False),
    Column("rows_stored", BigInteger, nullable=False),
    Column("tick_watermark_lsn", BigInteger),
    Column("since", Text, nullable=False),
    Column("until", Text, nullable=False),
    Column("reads", Text, nullable=False),
    Column("lsn", BigInteger),
    Column("group_id", BigInteger),
    Column("epoch", BigInteger),
    Column("scc_id", BigInteger),
    Column("fixpoint_iteration", Integer),
    Column("initiated_by", String(16), nullable=False),
    Column("error_code", String(16)),
    Column("error", Text),
    # The table that the contents are in: a later one may take the name.
    Column("table_id", String(32)),
    # How long it was expected to take, by sizes alone. NULL: nothing can be learned from how long it took.
    Column("estimated_micros", BigInteger),
    Index("anabranch_history_by_name", "namespace", "name", "refresh_id"),
    Index("anabranch_history_by_time", "finished_at"),
)
