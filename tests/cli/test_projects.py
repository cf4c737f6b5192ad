"""`init`, `plan` and `apply`, as a newcomer calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.project.folders import BY_REGION, SHOP, YML, Folder


class There:
    """The command line in a folder."""

    def __init__(self, shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shell, self.folder, self.monkeypatch = shell, folder, monkeypatch

    def __call__(self, *arguments: object, **options):
        self.monkeypatch.chdir(self.folder)
        return self.shell(*arguments, lake=False, **options)


@pytest.fixture
def there(run, tmp_path, monkeypatch):
    """In the folder of an example."""
    assert run("init", "--example", tmp_path / "shop", lake=False).code == 0
    return There(run, tmp_path / "shop", monkeypatch)


@pytest.fixture
def shop_there(run, tmp_path, monkeypatch):
    """In the folder of a small project."""
    Folder(tmp_path / "shop").write({"anabranch.yml": YML, **SHOP})
    return There(run, tmp_path / "shop", monkeypatch)


def test_a_newcomer_gets_from_an_example_to_fresh_tables(there, clock):
    assert there("plan", "--check").code == 4
    assert not (there.folder / "lake").exists()
    applied = there("apply", "--yes")
    assert applied.code == 0, applied.err
    assert "applied, at lsn 1" in applied.out
    assert there("sql", "-f", "load.sql").code == 0
    clock.advance(2)
    tick = there("-o", "json", "tick")
    assert set(tick.json["refreshed"]) == {"by_region", "by_product", "revenue_check", "top_customers"}
    status = there("-o", "json", "status").json
    assert {each["name"]: (each["status"], each["rows"]) for each in status} == {
        "by_product": ("ACTIVE", 3),
        "by_region": ("ACTIVE", 3),
        "revenue_check": ("ACTIVE", 1),
        "top_customers": ("ACTIVE", 3),
    }
    assert there("plan", "--check").code == 0
    assert there("sql", "-f", "more.sql").code == 0
    clock.advance(2)
    assert there("tick").code == 0
    row = there("-o", "json", "sql", "SELECT agree FROM revenue_check").json
    assert row[0]["rows"] in ([[True]], [{"agree": True}])


def test_a_new_project_is_empty_and_can_be_planned(run, tmp_path, monkeypatch):
    begun = run("init", tmp_path / "my shop", lake=False)
    assert begun.code == 0
    there = There(run, tmp_path / "my shop", monkeypatch)
    planned = there("plan", "--check")
    assert planned.code == 0
    assert planned.out.startswith("Project my_shop: nothing to change.")


@pytest.mark.parametrize("example", [False, True])
def test_no_file_is_ever_overwritten(run, tmp_path, example):
    (tmp_path / "README.md").write_text("mine")
    said = run("init", *(["--example"] if example else []), tmp_path, lake=False)
    assert said.code == 3
    assert said.err.startswith("AB809")
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_plan_is_a_document_for_programs(shop_there):
    plan = shop_there("plan", "-o", "json").json
    assert [each["name"] for each in plan["created"]] == ["by_product", "by_region", "summary"]
    assert plan["together"][0]["kind"] == "diamond"
    assert plan["reads"]["summary"] == ["by_product", "by_region"]


def test_a_plan_may_be_looked_at_in_part(shop_there):
    plan = shop_there("plan", "-o", "json", "--select", "by_region").json
    assert [each["name"] for each in plan["created"]] == ["by_region"]
    assert [each["name"] for each in plan["new_tables"]] == ["sales"]
    plan = shop_there("plan", "-o", "json", "--select", "+summary").json
    assert len(plan["created"]) == 3
    assert shop_there("plan", "--select", "nobody").code != 0


def test_apply_asks_nobody_if_nobody_is_there(shop_there):
    said = shop_there("apply")
    assert said.code == 2
    assert "say --yes" in said.err
    assert not (shop_there.folder / "lake").exists()


def test_apply_does_nothing_if_it_is_not_agreed(shop_there, monkeypatch):
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    said = shop_there("apply", input="n\n")
    assert said.code == 1
    assert "nothing was changed" in said.err
    assert shop_there("plan", "--check").code == 4


def test_apply_says_what_it_did_and_then_there_is_nothing_to_do(shop_there):
    first = shop_there("apply", "--yes", "-o", "json").json
    assert (first["applied"], first["lsn"]) == (True, 1)
    second = shop_there("apply", "--yes", "-o", "json").json
    assert (second["applied"], second["lsn"]) == (False, 1)
    assert "nothing to change" in shop_there("apply", "--yes").out


def test_what_no_file_names_may_be_kept(shop_there):
    shop_there("apply", "--yes")
    (shop_there.folder / "tables" / "summary.sql").unlink()
    assert shop_there("apply", "--yes", "--keep", "-o", "json").json["applied"] is False
    assert shop_there("apply", "--yes", "-o", "json").json["plan"]["dropped"] == ["summary"]


def test_an_error_in_a_file_is_shown_with_its_place(shop_there):
    (shop_there.folder / "tables" / "bad.sql").write_text("\n" + BY_REGION.replace("schedule", "schedul"))
    said = shop_there("plan")
    assert said.code == 3
    assert said.err.startswith("AB607")
    assert "tables/bad.sql, line 2, column 37" in said.err


def test_to_look_at_the_lake_no_file_is_run(shop_there):
    shop_there("apply", "--yes")
    (shop_there.folder / "bad.py").write_text("raise SystemExit(7)")
    assert shop_there("plan").code == 3
    assert len(shop_there("status", "-o", "json").json) == 3


def test_another_lake_may_be_meant(shop_there, tmp_path):
    assert shop_there("--lake", tmp_path / "other", "apply", "--yes").code == 0
    assert (tmp_path / "other" / "catalog.db").exists()
    assert not (shop_there.folder / "lake").exists()


def test_without_a_project_file_the_command_says_so(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("plan", lake=False)
    assert said.code == 2
    assert "anabranch.yml" in said.err
