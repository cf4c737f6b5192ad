"""A few definitions more, and what can be seen of a plan and of a lake."""

from __future__ import annotations

import anabranch as ab
from tests.project.folders import YML

GROUP = YML + "refresh_groups:\n  both: {members: [by_region, by_product]}\n"
FEWER = "SELECT region, SUM(amount) AS revenue, COUNT(*) AS n FROM sales WHERE id > 1 GROUP BY region"
BIG = "CREATE STREAM TABLE big AS SELECT * FROM by_region WHERE revenue > 10;"


def everything(lake: ab.Lake) -> object:
    """All that a reader can see."""
    return (
        lake.lsn,
        lake.tables(),
        lake.status(),
        lake.refresh_history(),
        lake.refresh_groups(),
        lake.watermark_groups(),
        [lake.explain(each.name).query for each in lake.status()],
    )


def names(plan):
    return {
        "tables": [each.name for each in plan.new_tables],
        "created": [each.name for each in plan.created],
        "altered": [each.name for each in plan.altered],
        "rebuilt": [each.name for each in plan.rebuilt],
        "dropped": list(plan.dropped),
    }


NOTHING = {"tables": [], "created": [], "altered": [], "rebuilt": [], "dropped": []}
