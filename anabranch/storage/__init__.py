"""Where rows live: Parquet files under Iceberg metadata."""
