"""How a Spark session must be set up, so that a query means the same wherever it runs."""

from __future__ import annotations

# Options that decide the meaning of a query, or the validity of a file; set on every session.
CONTRACT = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
QUIET_CONTRACT = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.timeType.enabled": "true",
    # Days before 1582 are the same days for every reader.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Listing files that are already known must not become a Spark job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # Rows that are in one partition stay there. Spark goes by an estimate, and takes a join for the product
    # of its sides.
    "spark.sql.maxSinglePartitionBytes": "8000p",
    # Rows that are handed over are data, not part of the plan: Spark compares plans, and would compute with
    # rows that stand in one on the driver, value by value, while it optimises.
    "spark.sql.execution.arrow.localRelationThreshold": "1m",
    # With generated code for unions, tasks can't read one that has no columns and is part of another.
    "spark.sql.codegen.wholeStage.union.enabled": "false",
}
# For a session of our own: small changes, one machine.
OWN_SESSION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Failures are raised as errors; Spark's own log would print them three times more.
    "spark.log.level": "OFF",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "8",
    # A change runs many small statements, whose generated code takes longer to compile than to run.
    "spark.sql.codegen.cache.maxEntries": "5000",
    # Every hash table allocates a page at first, and a small change has many of them in one task.
    "spark.buffer.pageSize": "2m",
    # Rows that are handed over are decoded batch by batch: in batches of 10,000 that takes twice as long.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # A second safeguard behind our own: no ${env:…} in a statement's text, no path as a table.
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Plain local files: no checksum file beside every Parquet file.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}
# For one that stays on this machine; a cluster's executors must be able to reach the driver.
ON_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
UTC = {"UTC", "Etc/UTC", "Z", "GMT", "+00:00"}
