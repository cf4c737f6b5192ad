ALTER TABLE anabranch_stream_tables ADD COLUMN declared VARCHAR(255);

CREATE TABLE anabranch_refresh_groups (
    name VARCHAR(255) NOT NULL PRIMARY KEY,
    isolation VARCHAR(16) NOT NULL,
    snapshot_timeout_ms BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

ALTER TABLE anabranch_stream_tables ADD COLUMN immediate INTEGER NOT NULL DEFAULT 0;
