"""The command line on Spark, from the first table to the proof."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import anabranch as ab
from anabranch.cli.main import app
from anabranch.cli.session import Session


@pytest.mark.spark
def test_from_the_first_table_to_the_proof(place, spark):
    def connect(location, *, catalog, observer):
        return ab.connect(location, catalog=catalog, observer=observer, spark=spark)

    def run(*words, code=0):
        result = CliRunner().invoke(
            app, ["--lake", str(place), *words, "-o", "json"], obj=Session(connect=connect)
        )
        assert result.exit_code == code, result.stderr
        return json.loads(result.stdout)

    made = run(
        "sql",
        """
        CREATE TABLE sales (id BIGINT, region STRING, amount DECIMAL(12,2), tags ARRAY<STRING>, at TIMESTAMP);
        INSERT INTO sales VALUES (1, 'north', 10, array('a'), TIMESTAMP'2030-01-01 12:00:00'),
                                 (2, 'south', 20, array('b'), NULL);
        CREATE STREAM TABLE by_region WITH (schedule = '1m') AS
            SELECT region, SUM(amount) AS revenue FROM sales GROUP BY region;
        SELECT id, tags, at, map('k', 1) AS m FROM sales ORDER BY id;
        """,
    )
    assert [each["kind"] for each in made] == ["done", "written", "done", "rows"]
    assert made[-1]["rows"][0][:3] == [1, ["a"], "2030-01-01T12:00:00+00:00"]
    run("sql", "INSERT INTO sales VALUES (3, 'north', 5, NULL, NULL)")
    (refreshed,) = run("refresh", "by_region")
    assert refreshed["status"] == "SUCCEEDED"
    (looked,) = run("status")
    assert (looked["name"], looked["status"], looked["rows"]) == ("by_region", "ACTIVE", 2)
    (checked,) = run("verify", "--all")
    assert checked["ok"]
    assert run("sql", "SELECT revenue FROM by_region WHERE region = 'north'")[0]["rows"] == [["15.00"]]
    failed = CliRunner().invoke(
        app,
        ["--lake", str(place), "sql", "SELECT 1 / (id - 1) AS x FROM sales"],
        obj=Session(connect=connect),
    )
    assert failed.exit_code == 3
    assert failed.stderr.startswith("AB5")
    assert "Traceback" not in failed.stderr
