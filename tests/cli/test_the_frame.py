"""What surrounds every command: options, errors, notices, exit codes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.streams.shop import diamond


def test_without_a_command_it_shows_what_there_is(run):
    said = run(lake=False)
    assert "status" in said.out + said.err


def test_without_a_lake_it_says_how_to_give_one(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("status", lake=False)
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("AB901 no lake is given\nHint: say --lake PATH")


def test_a_mistyped_place_is_not_made_into_a_lake(run, place):
    said = run("status")
    assert said.code == 2
    assert said.err.startswith(f'AB902 there is no lake at "{place}"')
    assert not place.exists()


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "anabranch.yml").write_text("name: shop\nlake: ./data\nsettings:\n  parallelism: 3\n")
    (folder / "broken.sql").write_text("this is no statement;")
    monkeypatch.chdir(folder)
    return folder


def test_the_lake_may_be_that_of_the_project_in_this_folder(run, project, tmp_path, monkeypatch):
    said = run("status", lake=False)
    assert said.code == 2
    assert said.err.endswith("Hint: `anabranch apply` creates it.\n")
    assert not (project / "data").exists()
    assert run("sql", "CREATE TABLE t (id BIGINT)", lake=False).code == 0
    listed = {each["name"]: each["value"] for each in run("settings", "-o", "json", lake=False).json}
    assert listed["parallelism"] == "3"
    monkeypatch.chdir(tmp_path)
    assert [each["name"] for each in run("tables", "--project", project, "-o", "json", lake=False).json] == [
        "t"
    ]


def test_an_unknown_environment_of_the_project_is_an_error(run, project):
    said = run("status", "--env", "nowhere", lake=False)
    assert said.code in (2, 3)
    assert "nowhere" in said.err


def test_an_unknown_option_is_wrong_usage(run):
    assert run("status", "--sideways").code == 2


def test_options_may_stand_before_a_command_and_after_it(run, shop):
    before = run("--output", "json", "status")
    after = run("status", "--output", "json")
    assert before == after
    assert before.json == []


def test_the_lake_may_come_from_the_environment(run, shop, place):
    said = run("status", lake=False, ANABRANCH_LAKE=str(place))
    assert (said.code, said.out) == (0, "There are no stream tables.\n")


def test_results_are_tables_or_json(run, shop):
    diamond(shop)
    assert "by_product" in run("status").out
    assert {each["name"] for each in run("status", "-o", "json").json} == {
        "by_product",
        "by_region",
        "summary",
    }


def test_the_version_is_told(run):
    said = run("--version", lake=False)
    assert said.code == 0
    assert said.out.startswith("anabranch ")


@pytest.mark.parametrize("arguments", [["--help"], ["status", "--help"], ["--version"]])
def test_to_ask_for_help_imports_little(arguments):
    program = (
        "import sys\nfrom anabranch.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'pyspark', 'pandas', 'pyarrow', 'pyiceberg', 'sqlalchemy', 'sqlglot'}\n"
        "assert not heavy & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=120)
