"""The files of the lake's own tables: Parquet data, position deletes, change files, Iceberg metadata."""
