CREATE TABLE anabranch_gates (
    namespace VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    gated INTEGER NOT NULL,
    gated_at BIGINT NOT NULL,
    ungated_at BIGINT,
    gated_by VARCHAR(255) NOT NULL,
    auto_ungate INTEGER NOT NULL,
    told INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
);

CREATE TABLE anabranch_watermarks (
    namespace VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    watermark BIGINT NOT NULL,
    advanced_at BIGINT NOT NULL,
    lsn BIGINT NOT NULL,
    PRIMARY KEY (namespace, name)
);

CREATE TABLE anabranch_watermark_groups (
    name VARCHAR(255) NOT NULL PRIMARY KEY,
    tolerance BIGINT NOT NULL,
    missing VARCHAR(16) NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE anabranch_watermark_sources (
    group_name VARCHAR(255) NOT NULL,
    namespace VARCHAR(255) NOT NULL,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (group_name, namespace, name)
);

ALTER TABLE anabranch_stream_tables ADD COLUMN put_off INTEGER NOT NULL DEFAULT 0;
