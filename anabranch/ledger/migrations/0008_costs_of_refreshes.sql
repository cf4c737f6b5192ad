ALTER TABLE anabranch_history ADD COLUMN table_id VARCHAR(32);

ALTER TABLE anabranch_history ADD COLUMN estimated_micros BIGINT
