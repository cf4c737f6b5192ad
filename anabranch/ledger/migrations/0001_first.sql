CREATE TABLE IF NOT EXISTS iceberg_tables (
    catalog_name VARCHAR(255) NOT NULL,
    table_namespace VARCHAR(255) NOT NULL,
    table_name VARCHAR(255) NOT NULL,
    metadata_location VARCHAR(1000),
    previous_metadata_location VARCHAR(1000),
    iceberg_type VARCHAR(5),
    PRIMARY KEY (catalog_name, table_namespace, table_name)
);

CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
    catalog_name VARCHAR(255) NOT NULL,
    namespace VARCHAR(255) NOT NULL,
    property_key VARCHAR(255) NOT NULL,
    property_value VARCHAR(1000) NOT NULL,
    PRIMARY KEY (catalog_name, namespace, property_key)
);

CREATE TABLE anabranch_lake (
    id INTEGER NOT NULL PRIMARY KEY,
    lake_id VARCHAR(32) NOT NULL,
    warehouse TEXT NOT NULL,
    lsn BIGINT NOT NULL,
    floor_lsn BIGINT NOT NULL
);

CREATE TABLE anabranch_commits (
    lsn BIGINT NOT NULL PRIMARY KEY,
    committed_at BIGINT NOT NULL,
    kind VARCHAR(32) NOT NULL
);

CREATE TABLE anabranch_attempts (
    attempt VARCHAR(128) NOT NULL PRIMARY KEY,
    lsn BIGINT,
    decided_at BIGINT NOT NULL
);

CREATE TABLE anabranch_tables (
    table_id VARCHAR(32) NOT NULL PRIMARY KEY,
    namespace VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    schema TEXT NOT NULL,
    created_lsn BIGINT NOT NULL,
    dropped_lsn BIGINT,
    metadata_location VARCHAR(1000) NOT NULL,
    head_lsn BIGINT NOT NULL,
    head_snapshot BIGINT,
    head_rows BIGINT NOT NULL
);

CREATE INDEX anabranch_tables_by_name ON anabranch_tables (namespace, name);

CREATE TABLE anabranch_versions (
    table_id VARCHAR(32) NOT NULL,
    lsn BIGINT NOT NULL,
    snapshot_id BIGINT,
    row_count BIGINT NOT NULL,
    schema_id INTEGER NOT NULL,
    schema TEXT NOT NULL,
    PRIMARY KEY (table_id, lsn)
);

CREATE INDEX anabranch_versions_by_lsn ON anabranch_versions (lsn);

CREATE TABLE anabranch_pins (
    pin VARCHAR(64) NOT NULL PRIMARY KEY,
    lsn BIGINT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    holder VARCHAR(255) NOT NULL,
    expires_at BIGINT
);

CREATE TABLE anabranch_leases (
    name VARCHAR(64) NOT NULL PRIMARY KEY,
    holder VARCHAR(255) NOT NULL,
    term BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE anabranch_settings (
    name VARCHAR(64) NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE anabranch_garbage (
    path VARCHAR(1000) NOT NULL PRIMARY KEY,
    since BIGINT NOT NULL
);
