"""How files are named, whoever names them."""

from __future__ import annotations

from urllib.parse import unquote


def normalise_path(spark_path: str) -> str:
    """A path as Spark shows it in `_metadata.file_path`, in the form used everywhere else.

    >>> normalise_path("file:/tmp/a%20b/x.parquet")
    'file:///tmp/a b/x.parquet'
    """
    path = unquote(spark_path)
    if path.startswith("file:/") and not path.startswith("file:///"):
        path = "file:///" + path[len("file:/") :].lstrip("/")
    return path
