"""Commands that keep house: settings, set, maintain, compact, doctor."""

from __future__ import annotations

import pytest

from anabranch.inspect.health import Check
from anabranch.inspect.settings import SettingInfo
from anabranch.maintain.maintenance import Upkeep
from anabranch.settings import SETTINGS
from anabranch.write.autocommit import Written
from tests.cli.conftest import names_of

pytestmark = pytest.mark.rotating(2)


def test_settings_say_where_they_come_from(run, shop):
    shop.set("parallelism", 2)
    said = run("settings", "-o", "json", ANABRANCH_COMMIT_RETRIES="7")
    assert set(said.json[0]) == names_of(SettingInfo)
    listed = {each["name"]: (each["value"], each["origin"]) for each in said.json}
    assert listed.keys() == SETTINGS.keys()
    assert listed["parallelism"] == ("2", "lake")
    assert listed["commit_retries"] == ("7", "environment")
    assert listed["time_zone"] == ("UTC", "default")
    assert listed["allow_circular"] == ("false", "default")
    assert listed["fuse_default_ceiling"] == ("none", "default")
    assert listed["tick_interval"] == ("1s", "default")
    assert "stream tables are refreshed side by side" in " ".join(run("settings").out.split())


def test_a_setting_is_stored(run, shop):
    assert run("set", "parallelism", "2").out == "parallelism = 2\n"
    stored = {each["name"]: each["value"] for each in run("settings", "-o", "json").json}
    assert stored["parallelism"] == "2"
    said = run("set", "parallelism", "3", "-o", "json", ANABRANCH_PARALLELISM="8")
    assert said.json["value"] == "8"
    assert said.err == "Notice: parallelism stays 8 here: the environment says so\n"


@pytest.mark.parametrize(
    ("words", "code"), [(["nope", "1"], 3), (["parallelism", "many"], 3), (["parallelism"], 2)]
)
def test_a_setting_that_cannot_be_is_refused(run, shop, words, code):
    said = run("set", *words)
    assert (said.code, said.out) == (code, "")


def test_maintenance_says_what_it_did(run, branches):
    said = run("maintain", "-o", "json")
    assert (said.code, set(said.json)) == (0, names_of(Upkeep))
    assert "0 versions expired" in run("maintain").out


def test_a_table_is_compacted(run, shop):
    shop.insert("sales", [(7, "west", 1, 1, 1)])
    said = run("compact", "sales", "-o", "json")
    assert (said.code, set(said.json)) == (0, names_of(Written))
    assert run("compact", "nope").code == 3
    assert run("compact").code == 2


def test_the_doctor_looks_at_everything(run, branches):
    said = run("doctor", "--spark", "-o", "json")
    assert said.code == 0
    assert set(said.json[0]) == names_of(Check)
    found = {each["name"]: each["outcome"] for each in said.json}
    # The clock of these tests stands still in 2030.
    assert found == {
        "Java": "ok",
        "Spark": "ok",
        "catalog": "ok",
        "warehouse": "ok",
        "clock of the file system": "warn",
        "scheduler": "warn",
        "stream tables": "ok",
    }
    out = run("doctor").out
    assert "none runs: nothing is refreshed by itself. Hint: start `anabranch run`" in out


def test_the_doctor_leaves_nothing_behind(run, branches, place):
    before = sorted(path for path in (place / "tables").rglob("*"))
    run("doctor")
    assert sorted(path for path in (place / "tables").rglob("*")) == before


def test_the_doctor_sees_who_leads(run, branches):
    from anabranch.schedule.lease import Lease

    assert Lease(branches._context).take()
    found = {each["name"]: each for each in run("doctor", "-o", "json").json}
    assert found["scheduler"]["outcome"] == "ok"
    assert found["scheduler"]["found"].startswith("one leads, in term 1;")


def test_the_doctor_warns_of_what_stands_still(run, branches):
    branches.suspend_stream_table("summary")
    said = run("doctor", "-o", "json")
    assert said.code == 0
    assert said.json[-1]["outcome"] == "warn"
    assert said.json[-1]["found"] == "3, 1 SUSPENDED"


def test_a_failed_check_makes_the_exit_code_1(run, branches, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    said = run("doctor", "-o", "json")
    assert said.code == 1
    assert said.json[0]["outcome"] == "fail"
    assert "AB501" in said.json[0]["found"]
    assert said.json[0]["hint"]


def test_a_lake_that_cannot_be_opened_is_a_failed_check(run, place):
    said = run("doctor", "-o", "json")
    assert said.code == 1
    assert said.json[-1]["name"] == "lake"
    assert "AB902" in said.json[-1]["found"]
    (place / "x").parent.mkdir()
    (place / "catalog.db").write_bytes(b"this is no database, whatever it is called" * 50)
    said = run("doctor", "-o", "json")
    assert said.code == 1
    assert said.json[-1]["outcome"] == "fail"


def test_the_doctor_needs_no_lake(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("doctor", "-o", "json", lake=False)
    assert said.code == 0
    assert said.json[-1]["outcome"] == "warn"


def test_a_warehouse_that_cannot_be_written_fails(run, branches, monkeypatch):
    def refuse(self, uri, content):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("anabranch.iceberg.warehouse.Warehouse.write_bytes", refuse)
    said = run("doctor", "-o", "json")
    assert said.code == 1
    assert [each["outcome"] for each in said.json if each["name"] == "warehouse"] == ["fail"]


def test_the_doctor_asks_postgresql_for_its_time(run, place, postgres):
    from tests.engines.lakes import duck_lake

    url = postgres()
    with duck_lake(place, catalog=url):
        pass
    said = run("doctor", "--catalog", url, "-o", "json")
    assert said.code == 0
    found = {each["name"]: each for each in said.json}
    assert found["clock of the catalog"]["outcome"] == "warn"  # it stands still in 2030 here
    assert found["catalog"]["found"].startswith("postgresql+psycopg://")
