ALTER TABLE anabranch_stream_tables ADD COLUMN scc_id BIGINT;
