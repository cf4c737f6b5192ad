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
