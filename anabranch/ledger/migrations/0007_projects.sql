ALTER TABLE anabranch_stream_tables ADD COLUMN project VARCHAR(255);

ALTER TABLE anabranch_refresh_groups ADD COLUMN project VARCHAR(255);

ALTER TABLE anabranch_watermark_groups ADD COLUMN project VARCHAR(255);
