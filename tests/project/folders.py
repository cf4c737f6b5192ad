"""Project folders, written in a line or two, and lakes for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import anabranch as ab
from anabranch.project import Project, load
from tests.engines.lakes import duck_lake

YML = "name: shop\nlake: ./lake\n"
SOURCES = (
    "CREATE TABLE sales (id BIGINT, region STRING, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2));"
)
BY_REGION = """CREATE STREAM TABLE by_region WITH (schedule = '1m') AS
SELECT region, SUM(amount) AS revenue, COUNT(*) AS n FROM sales GROUP BY region;"""
BY_PRODUCT = """CREATE STREAM TABLE by_product WITH (schedule = '1m') AS
SELECT product, SUM(amount) AS revenue FROM sales GROUP BY product;"""
SUMMARY = """CREATE STREAM TABLE summary AS
SELECT r.total AS regional_total, p.total AS product_total
FROM (SELECT SUM(revenue) AS total FROM by_region) AS r
CROSS JOIN (SELECT SUM(revenue) AS total FROM by_product) AS p;"""
SHOP = {
    "sources.sql": SOURCES,
    "tables/by_region.sql": BY_REGION,
    "tables/by_product.sql": BY_PRODUCT,
    "tables/summary.sql": SUMMARY,
}


class Folder:
    """A project's folder, and its lake on DuckDB."""

    def __init__(self, path: Path, clock: Any = None) -> None:
        self.path = path
        self.clock = clock

    def write(self, files: Mapping[str, str]) -> Folder:
        """Write files, by their names."""
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), "utf-8")
        return self

    def remove(self, name: str) -> None:
        (self.path / name).unlink()

    def load(self, environment: str | None = None) -> Project:
        return load(self.path, environment)

    def connect(self, **overrides: Any) -> ab.Lake:
        def using(location: str, **given: Any) -> ab.Lake:
            given.pop("spark_options", None)
            return duck_lake(location, **given)

        if self.clock is not None:
            overrides = {"clock": self.clock, **overrides}
        return self.load().connect(using=using, **overrides)
