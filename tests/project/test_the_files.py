"""The files that define tables: which are found, what they may say, and whose code is run."""

from __future__ import annotations

import sys

import pytest

import anabranch as ab
from anabranch.errors import (
    AnabranchError,
    DefinedTwice,
    InputError,
    InvalidDefinitionFile,
    InvalidName,
    InvalidOption,
    InvalidProjectFile,
    InvalidSchedule,
    SqlSyntax,
    UnsupportedStatement,
)
from anabranch.project import project_files
from tests.project.folders import YML

TABLE = "CREATE TABLE {} (id BIGINT);"
PYTHON = """
import anabranch as ab

@ab.stream_table(schedule="5m", refresh_mode="full")
def totals():
    return "SELECT COUNT(*) AS n FROM sales"

@ab.stream_table(name="sales.by_day", initialize=False)
def anything():
    return "SELECT 1 AS a"

def helper():
    return "no stream table"
"""


def names(project):
    return [str(each.name) for each in (*project.tables, *project.stream_tables)]


# -- which files ----------------------------------------------------------------------------------


def test_files_everywhere_below_are_found_in_the_order_of_their_names(folder):
    folder.write({"z.sql": TABLE.format("z"), "a/b/c.sql": TABLE.format("c"), "a.sql": TABLE.format("a")})
    assert names(folder.load()) == ["a", "c", "z"]


def test_hidden_folders_virtual_environments_and_the_lake_are_left_out(folder):
    bad = "this is no SQL"
    folder.write(
        {
            ".git/a.sql": bad,
            "env/pyvenv.cfg": "",
            "env/lib/b.py": bad,
            "lake/c.sql": bad,
            "node_modules/d.sql": bad,
            "__pycache__/e.py": bad,
            ".f.sql": bad,
            "notes.txt": bad,
            "ok.sql": TABLE.format("ok"),
        }
    )
    assert names(folder.load()) == ["ok"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.sql", ["a"]),
        ("**/*.sql", ["a", "b", "c"]),
        ("x/*.sql", ["b"]),
        ("x/**/*.sql", ["b", "c"]),
        ("?.sql", ["a"]),
        ("x/y/c.sql", ["c"]),
    ],
)
def test_patterns_name_files(folder, pattern, expected):
    folder.write(
        {
            "a.sql": TABLE.format("a"),
            "x/b.sql": TABLE.format("b"),
            "x/y/c.sql": TABLE.format("c"),
            "anabranch.yml": YML + f"files: ['{pattern}']\n",
        }
    )
    assert names(folder.load()) == expected


def test_patterns_that_name_nothing_are_an_error_lest_everything_is_dropped(folder):
    folder.write({"a.sql": TABLE.format("a"), "anabranch.yml": YML + "files: [tabels/*.sql]\n"})
    with pytest.raises(InvalidProjectFile, match="tabels"):
        folder.load()


def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path):
    (tmp_path / "secret.sql").write_text(TABLE.format("a"))
    (folder.path / "a.sql").symlink_to(tmp_path / "secret.sql")
    with pytest.raises(InvalidDefinitionFile, match="leads out"):
        folder.load()


def test_limits_of_files_are_kept(folder, monkeypatch):
    folder.write({"a.sql": TABLE.format("a"), "b.sql": TABLE.format("b")})
    monkeypatch.setattr(project_files, "MAX_FILES", 2)
    monkeypatch.setattr(project_files, "MAX_FILE_BYTES", len(TABLE.format("a")))
    assert names(folder.load()) == ["a", "b"]
    monkeypatch.setattr(project_files, "MAX_FILE_BYTES", 5)
    with pytest.raises(InvalidDefinitionFile, match="too large"):
        folder.load()
    monkeypatch.setattr(project_files, "MAX_FILES", 1)
    with pytest.raises(InvalidProjectFile, match="more than 1 files"):
        folder.load()


# -- SQL ------------------------------------------------------------------------------------------


def test_a_file_holds_any_number_of_definitions(folder):
    folder.write(
        {
            "a.sql": """
                -- sources
                CREATE TABLE IF NOT EXISTS sales (id BIGINT NOT NULL, region STRING);
                CREATE STREAM TABLE counted
                    WITH (schedule = NULL, fuse_ceiling = 3, fuse = 'on', initialize = FALSE)
                    AS SELECT COUNT(*) AS n -- how many; all of them
                       FROM sales;
            """
        }
    )
    project = folder.load()
    (stream,) = project.stream_tables
    assert stream.query == "SELECT COUNT(*) AS n -- how many; all of them\n       FROM sales"
    assert stream.options == {"schedule": None, "fuse_ceiling": 3, "fuse": "on"}
    assert not stream.initialize
    assert stream.place == "a.sql, line 4"


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO sales VALUES (1)",
        "SELECT 1",
        "DROP TABLE sales",
        "DROP STREAM TABLE sales",
        "ALTER STREAM TABLE sales SET (fuse = 'on')",
        "REFRESH STREAM TABLE sales",
        "GATE SOURCE sales",
        "TRUNCATE TABLE sales",
        "CREATE TABLE copied AS SELECT * FROM sales",
    ],
)
def test_other_statements_are_refused_with_their_place(folder, statement):
    folder.write({"t/a.sql": f"{TABLE.format('sales')}\n\n  {statement};\n"})
    with pytest.raises(InvalidDefinitionFile) as caught:
        folder.load()
    assert caught.value.detail == "t/a.sql, line 3, column 3."


@pytest.mark.parametrize(
    ("text", "kind", "detail"),
    [
        (
            "\nCREATE STREAM TABLE a\n WITH (schedul = '1m') AS SELECT 1 AS a",
            InvalidOption,
            "a.sql, line 3, column 8",
        ),
        (
            "CREATE STREAM TABLE a WITH (schedule = 'x') AS SELECT 1 AS a",
            InvalidSchedule,
            "a.sql, line 1, column 40",
        ),
        (
            "CREATE STREAM TABLE a WITH (fuse = 'x') AS SELECT 1 AS a",
            InvalidOption,
            "a.sql, line 1, column 36",
        ),
        ("\n\nCREATE STREAM TABLE a\n  AS SELECT a b c FROM x", SqlSyntax, "a.sql, line 4, column 17"),
        ("\nSELECT 'open", SqlSyntax, "a.sql: it begins at line 2, column 8"),
        ("CREATE STREAM TABLE a AS SELECT * FROM text.`/etc/passwd`", UnsupportedStatement, "a.sql"),
        ("CREATE TABLE `../a` (id INT)", AnabranchError, "a.sql"),
        ("CREATE TABLE __a (id INT)", InvalidName, "a.sql"),
        ("VACUUM", UnsupportedStatement, "a.sql"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_file_and_place(folder, text, kind, detail):
    folder.write({"a.sql": text})
    with pytest.raises(kind) as caught:
        folder.load()
    assert caught.value.detail.startswith(detail)


def test_a_name_is_defined_once(folder):
    folder.write({"a.sql": TABLE.format("x"), "b.sql": "\nCREATE STREAM TABLE X AS SELECT 1 AS a;"})
    with pytest.raises(DefinedTwice) as caught:
        folder.load()
    assert caught.value.detail == "a.sql, line 1; b.sql, line 2."


def test_what_is_no_text_is_refused(folder):
    (folder.path / "a.sql").write_bytes(b"CREATE \xff")
    with pytest.raises(InvalidDefinitionFile, match="UTF-8"):
        folder.load()


# -- Python ---------------------------------------------------------------------------------------


def test_decorated_functions_are_stream_tables(folder):
    folder.write({"tables.py": PYTHON})
    totals, by_day = folder.load().stream_tables
    assert (str(totals.name), totals.query) == ("totals", "SELECT COUNT(*) AS n FROM sales")
    assert totals.options == {"schedule": "5m", "refresh_mode": "full"}
    assert (str(by_day.name), by_day.initialize) == ("sales.by_day", False)
    assert totals.place == "tables.py, line 4"


def test_what_stands_beside_a_file_may_be_imported_and_is_found_anew_each_time(folder):
    folder.write(
        {
            "queries.py": "QUERY = 'SELECT 1 AS a'",
            "t/beside.py": "NAME = 'made'",
            "t/a.py": "import anabranch as ab\nfrom queries import QUERY\nfrom beside import NAME\n"
            "@ab.stream_table(name=NAME)\ndef f():\n    return QUERY\n",
        }
    )
    path = list(sys.path)
    assert folder.load().stream_tables[0].query == "SELECT 1 AS a"
    folder.write({"queries.py": "QUERY = 'SELECT 22 AS a'"})
    assert folder.load().stream_tables[0].query == "SELECT 22 AS a"
    assert sys.path == path
    assert not {"queries", "beside"} & sys.modules.keys()


def test_a_stream_table_that_is_imported_is_defined_where_it_stands_only(folder):
    folder.write({"a.py": PYTHON, "b.py": "from a import totals\n"})
    assert names(folder.load()) == ["totals", "sales.by_day"]


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("def f(:\n", InvalidDefinitionFile, "line 1"),
        ("\n1 / 0\n", InvalidDefinitionFile, "line 2"),
        ("import sys\nsys.exit(3)\n", InvalidDefinitionFile, "line 2"),
        ("import nowhere_to_be_found\n", InvalidDefinitionFile, "line 1"),
        (
            "import anabranch as ab\n@ab.stream_table()\ndef f():\n    return 7\n",
            InvalidDefinitionFile,
            "line 2: it gives a int",
        ),
        (
            "import anabranch as ab\n@ab.stream_table()\ndef f():\n    raise ValueError('no')\n",
            InvalidDefinitionFile,
            "line 4",
        ),
        (
            "import anabranch as ab\n@ab.stream_table()\ndef f(x):\n    return 'SELECT 1 AS a'\n",
            InvalidDefinitionFile,
            "",
        ),
        (
            "import anabranch as ab\n@ab.stream_table(schedul='1m')\ndef f():\n    return 'SELECT 1 AS a'\n",
            InvalidOption,
            "line 2",
        ),
        (
            "import anabranch as ab\n@ab.stream_table(schedule='x')\ndef f():\n    return 'SELECT 1 AS a'\n",
            InvalidSchedule,
            "line 2",
        ),
        (
            "import anabranch as ab\n@ab.stream_table()\ndef f():\n    return 'SELECT 1 1'\n",
            SqlSyntax,
            "line 2: line 1",
        ),
        (
            "import anabranch as ab\n@ab.stream_table\ndef f():\n    return 'SELECT 1'\n",
            InvalidDefinitionFile,
            "line 2",
        ),
        (
            "import anabranch as ab\n@ab.stream_table(name='select')\ndef f():\n    return 'SELECT 1 AS a'\n",
            InvalidName,
            "line 2",
        ),
        (
            "import anabranch as ab\n"
            "@ab.stream_table()\ndef f():\n    return 'SELECT 1 AS a'\n"
            "@ab.stream_table()\ndef f():\n    return 'SELECT 2 AS a'\n",
            DefinedTwice,
            "tables.py, line 2; tables.py, line 5",
        ),
    ],
)
def test_a_python_file_that_can_not_be_taken_is_told_with_its_place(folder, text, kind, told):
    folder.write({"tables.py": text})
    with pytest.raises(kind) as caught:
        folder.load()
    assert told in (caught.value.detail or "")
    assert "tables.py" in str(caught.value)


def test_outside_of_a_project_the_decorator_leaves_a_function_what_it_is():
    @ab.stream_table(schedule="1m")
    def totals():
        return "SELECT 1 AS a"

    assert totals() == "SELECT 1 AS a"
    with pytest.raises(InputError):
        ab.stream_table()(7)
