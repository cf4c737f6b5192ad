"""How the Spark sessions of tests are set up."""

from __future__ import annotations

import os

SMALL_SESSION = {
    "spark.master": "local[1]",
    "spark.sql.shuffle.partitions": "1",
    # Few rows: compiling a plan, and planning it again between its stages, costs more than running it.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""A session that starts soon and costs one core."""


def session_options() -> dict[str, str]:
    """The small session's, or with ANABRANCH_TEST_SPARK=production none: then it is the one users have."""
    return {} if os.environ.get("ANABRANCH_TEST_SPARK") == "production" else dict(SMALL_SESSION)
