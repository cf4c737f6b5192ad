CREATE TABLE anabranch_stream_tables (
    table_id VARCHAR(32) NOT NULL PRIMARY KEY,
    namespace VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    query TEXT NOT NULL,
    options TEXT NOT NULL,
    inputs TEXT NOT NULL,
    state_tables TEXT NOT NULL,
    refusal TEXT,
    status VARCHAR(16) NOT NULL,
    status_reason TEXT,
    reads TEXT,
    frontier TEXT NOT NULL,
    version_lsn BIGINT,
    effective_mode VARCHAR(16),
    mode_reason TEXT,
    last_refresh_at BIGINT,
    failures INTEGER NOT NULL,
    retry_at BIGINT,
    error_code VARCHAR(16),
    error TEXT,
    held TEXT,
    idle INTEGER NOT NULL,
    group_id BIGINT
);

CREATE UNIQUE INDEX anabranch_stream_tables_by_name ON anabranch_stream_tables (namespace, name);

CREATE TABLE anabranch_groups (
    group_id BIGINT NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL
);

CREATE TABLE anabranch_history (
    refresh_id BIGINT NOT NULL PRIMARY KEY,
    namespace VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    action VARCHAR(16) NOT NULL,
    status VARCHAR(16) NOT NULL,
    reason TEXT,
    started_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    micros BIGINT NOT NULL,
    rows_inserted BIGINT NOT NULL,
    rows_deleted BIGINT NOT NULL,
    rows_changed BIGINT NOT NULL,
    rows_read BIGINT NOT NULL,
    rows_stored BIGINT NOT NULL,
    tick_watermark_lsn BIGINT,
    since TEXT NOT NULL,
    until TEXT NOT NULL,
    reads TEXT NOT NULL,
    lsn BIGINT,
    group_id BIGINT,
    epoch BIGINT,
    scc_id BIGINT,
    fixpoint_iteration INTEGER,
    initiated_by VARCHAR(16) NOT NULL,
    error_code VARCHAR(16),
    error TEXT
);

CREATE INDEX anabranch_history_by_name ON anabranch_history (namespace, name, refresh_id);

CREATE INDEX anabranch_history_by_time ON anabranch_history (finished_at);
