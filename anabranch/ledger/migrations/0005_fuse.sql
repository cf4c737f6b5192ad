ALTER TABLE anabranch_stream_tables ADD COLUMN fuse_batches TEXT NOT NULL DEFAULT '[]';

ALTER TABLE anabranch_stream_tables ADD COLUMN fuse_in_a_row INTEGER NOT NULL DEFAULT 0;

ALTER TABLE anabranch_stream_tables ADD COLUMN fuse_blown_at BIGINT;

ALTER TABLE anabranch_stream_tables ADD COLUMN fuse_reset VARCHAR(16);

ALTER TABLE anabranch_stream_tables ADD COLUMN fuse_skipped BIGINT NOT NULL DEFAULT 0;
