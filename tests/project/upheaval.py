"""A change of everything at once: what a project was, what it becomes, and the script that applies it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.jsonable import to_jsonable
from anabranch.project import load
from tests.project.folders import BY_PRODUCT, BY_REGION, SHOP, YML, Folder

GROUP = "refresh_groups:\n  pair: {members: [by_region, big]}\n"
WATERMARKS = "watermark_groups:\n  loaded: {sources: [sales, returns], tolerance: 5m, missing: ignore}\n"
BEFORE = {"anabranch.yml": YML, **SHOP}
AFTER = {
    "anabranch.yml": YML + GROUP + WATERMARKS,
    "returns.sql": "CREATE TABLE returns (id BIGINT, amount DECIMAL(12, 2));",
    "tables/by_region.sql": BY_REGION.replace("AS n", "AS many, MAX(amount) AS most"),
    "tables/by_product.sql": BY_PRODUCT.replace("1m", "9m"),
    "tables/summary.sql": "",
    "tables/big.sql": """
        CREATE STREAM TABLE big AS SELECT * FROM by_region WHERE revenue > 10;
        CREATE STREAM TABLE back AS SELECT SUM(amount) AS total FROM returns;
    """,
}
SALES = [(1, "north", 1, 1, 10), (2, "south", 1, 2, 20), (3, "south", 2, 1, 5)]


def prepare(folder: Folder) -> None:
    """The project as it was, applied, with rows; and the files as they are to be."""
    folder.write(BEFORE)
    with folder.connect() as lake:
        folder.load().apply(lake)
        lake.insert("sales", SALES)
        lake.refresh_stream_table("summary")
        lake.insert("sales", [(4, "north", 2, 1, 40)])
    folder.write(AFTER)


def apply_project(lake: ab.Lake, folder: str | None) -> None:
    """Apply the project in a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        load(Path(str(folder))).apply(lake)


def seen(lake: ab.Lake) -> Any:
    """All that can be seen of a lake, but when and by what name it happened."""
    status = [to_jsonable(each) for each in lake.status()]
    for each in status:
        for name in ("last_refresh_at", "data_timestamp", "lag_seconds"):
            each.pop(name)
    return {
        "status": status,
        "rows": {each.name: sorted(map(str, lake.arrow(each.name).to_pylist())) for each in lake.tables()},
        "columns": {each.name: str(each.schema) for each in lake.tables()},
        "queries": {each.name: lake.explain(each.name).query for each in lake.status()},
        "groups": [(each.group_name, each.members) for each in lake.refresh_groups()],
        "watermarks": [(each.group_name, each.sources) for each in lake.watermark_groups()],
        "history": [
            (each.stream_table, each.action, each.status, each.lsn) for each in lake.refresh_history()
        ],
        "lsn": lake.lsn,
    }
