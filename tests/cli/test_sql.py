"""`sql`: statements from an argument, a file or a pipe."""

from __future__ import annotations

import pytest


def test_a_query_is_a_table(run, shop):
    said = run("sql", "SELECT region, amount FROM sales ORDER BY id")
    assert said.code == 0
    assert [line.split() for line in said.out.splitlines()] == [
        ["region", "amount"],
        ["─" * len(said.out.splitlines()[1].strip())],
        ["north", "10.00"],
        ["south", "20.00"],
        ["south", "5.00"],
        ["3", "rows"],
    ]


def test_as_json_every_statement_has_its_answer(run, shop):
    text = "INSERT INTO sales VALUES (9, 'west', 1, 1, 4); SELECT id FROM sales WHERE id = 9"
    said = run("sql", text, "-o", "json")
    written, rows = said.json
    assert written == {
        "statement": "INSERT INTO sales VALUES (9, 'west', 1, 1, 4)",
        "kind": "written",
        "lsn": 3,
        "inserted": 1,
        "deleted": 0,
    }
    assert rows == {
        "statement": "SELECT id FROM sales WHERE id = 9",
        "kind": "rows",
        "columns": ["id"],
        "rows": [[9]],
        "more": False,
    }


def test_a_file_of_statements_makes_a_lake(run, place, tmp_path):
    file = tmp_path / "all.sql"
    file.write_text(
        "-- a shop;\nCREATE TABLE sales (id BIGINT, note STRING);\n"
        "INSERT INTO sales VALUES (1, 'a;b');\n"
        "CREATE STREAM TABLE kept WITH (schedule = '1m') AS SELECT note FROM sales;\n"
        "REFRESH STREAM TABLE kept FULL; SHOW STREAM TABLES; EXPLAIN STREAM TABLE kept; SELECT * FROM kept;\n"
    )
    assert not place.exists()
    said = run("sql", "-f", file)
    assert said.code == 0
    assert said.out.startswith("done\nlsn 2: 1 row inserted, 0 deleted\ndone\n")
    assert "a;b" in said.out
    assert "Stream table kept" in said.out
    text = "SHOW STREAM TABLES; EXPLAIN STREAM TABLE kept"
    kinds = [each["kind"] for each in run("sql", "-o", "json", input=text).json]
    assert kinds == ["records", "record"]


def test_statements_come_through_a_pipe(run, shop):
    assert run("sql", "-o", "json", input="SELECT 1 AS one;\n").json[0]["rows"] == [[1]]
    assert run("sql", "-f", "-", "-o", "json", input="SELECT 2 AS two").json[0]["rows"] == [[2]]


def test_the_first_error_ends_it_and_what_was_done_is_told(run, shop):
    text = "INSERT INTO sales VALUES (9, 'west', 1, 1, 4);\nSELECT nope FROM sales;\nDELETE FROM sales"
    said = run("sql", text, "-o", "json")
    assert said.code == 3
    assert [each["kind"] for each in said.json] == ["written"]
    assert said.err.startswith("AB20")
    assert len(shop.arrow("sales")) == 4


def test_an_error_names_the_line_of_the_file(run, shop):
    said = run("sql", "SELECT 1 AS a;\n\nSELECT 'open")
    assert said.code == 3
    assert "line 3" in said.err


def test_columns_may_share_a_name(run, shop):
    query = "SELECT a.id, b.id FROM sales a JOIN sales b ON a.id = b.id ORDER BY a.id"
    shown = run("sql", query, "-o", "json").json[0]
    assert shown["columns"] == ["id", "id"]
    assert shown["rows"][0] == [1, 1]


def test_values_of_every_kind(run, shop):
    query = "SELECT CAST(NULL AS STRING) AS n, true AS b, DATE'2030-01-02' AS d, array(1, 2) AS a, X'1f' AS x"
    said = run("sql", query)
    assert said.out.splitlines()[2].split() == ["NULL", "true", "2030-01-02", "[1,", "2]", "1f"]


def test_rows_are_limited_and_it_says_so(run, shop):
    said = run("sql", "SELECT id FROM sales", "--limit", "2")
    assert said.out.splitlines()[-1].strip() == "the first 2 rows"
    assert run("sql", "SELECT id FROM sales", "-n", "2", "-o", "json").json[0]["more"] is True
    assert run("sql", "SELECT id FROM sales", "-n", "0", "-o", "json").json[0]["more"] is False


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["SELECT id FROM nope"], 3),
        (["GRANT ALL TO me"], 3),
        ([""], 2),
        ([" ; ;"], 2),
        (["SELECT 1", "-f", "x.sql"], 2),
        (["-f", "no-such-file.sql"], 2),
        (["-f", "."], 2),
        (["SELECT 1", "--limit", "-1"], 2),
    ],
)
def test_what_cannot_be_run(run, shop, words, code):
    said = run("sql", *words)
    assert said.code == code
    assert said.out == ""


def test_a_file_that_is_no_text_is_refused(run, shop, tmp_path):
    (tmp_path / "binary.sql").write_bytes(b"SELECT '\xff'")
    said = run("sql", "-f", tmp_path / "binary.sql")
    assert said.code == 2
    assert "UTF-8" in said.err


def test_notices_go_to_the_side(run, shop):
    shop.gate_source("sales")
    said = run("sql", "CREATE STREAM TABLE kept AS SELECT id FROM sales", "-o", "json")
    assert said.json[0]["kind"] == "done"
    assert said.err.startswith("Notice: ")
