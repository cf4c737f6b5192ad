"""Write TPC-DS's tables at a scale factor: a program of its own, for it needs a DuckDB of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb


def main(packages: str, folder: str, scale: str) -> None:
    """Load the extension from its package, so that nothing is downloaded; write a Parquet file per table."""
    (extension,) = Path(packages, "duckdb_extension_tpcds").glob("extensions/*/tpcds.duckdb_extension")
    with duckdb.connect() as connection:
        connection.load_extension(str(extension))
        connection.execute(f"CALL dsdgen(sf = {float(scale)})")
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.table(table).write_parquet(str(Path(folder, f"{table}.parquet")), compression="zstd")


if __name__ == "__main__":
    main(*sys.argv[1:])
