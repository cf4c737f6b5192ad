"""anabranch.yml: what it may say, and how it says no."""

from __future__ import annotations

import os

import pytest

import anabranch as ab
from anabranch.errors import (
    InvalidGroup,
    InvalidProjectFile,
    InvalidSetting,
    InvalidWatermarkGroup,
    MissingVariable,
    UnknownEnvironment,
    UnknownSetting,
)
from anabranch.project.config import read_config
from anabranch.project.strict_yaml import MAX_BYTES, MAX_DEPTH, read_document
from tests.project.folders import YML

WHOLE = """
name: shop
lake: ../lakes/shop
catalog: postgresql+psycopg://me:${PASSWORD}@host/db
settings:
  default_schedule: 5m
  parallelism: 2
  allow_circular: true
spark:
  spark.driver.memory: 2g
  spark.ui.enabled: false
environments:
  prod:
    lake: s3://bucket/shop
    settings: {parallelism: 8}
    spark: {spark.master: "yarn", spark.hadoop.fs.s3a.secret.key: "${KEY}"}
  test:
    catalog:
files: [tables/**/*.sql, more/*.py]
refresh_groups:
  morning: {members: [a, sales.b], isolation: repeatable_read, snapshot_timeout_ms: 1000}
watermark_groups:
  loaded: {sources: [orders, lines], tolerance: 5m, missing: ignore}
"""
VARIABLES = {"PASSWORD": "hunter2", "KEY": "s3cr3t"}


def config(folder, text, environment=None, **variables):
    folder.write({"anabranch.yml": text})
    return read_config(folder.path, environment, variables)


def test_everything_that_can_be_said_is_understood(folder):
    found = config(folder, WHOLE, **VARIABLES)
    assert found.lake == str(folder.path.parent / "lakes" / "shop")
    assert found.catalog == "postgresql+psycopg://me:hunter2@host/db"
    assert found.settings == {"default_schedule": "5m", "parallelism": 2, "allow_circular": True}
    assert found.spark == {"spark.driver.memory": "2g", "spark.ui.enabled": "false"}
    assert found.files == ("tables/**/*.sql", "more/*.py")
    (group,) = found.refresh_groups
    assert (group.name, [str(name) for name in group.members]) == ("morning", ["a", "sales.b"])
    assert (group.isolation, group.snapshot_timeout_ms) == ("repeatable_read", 1000)
    assert found.watermark_groups[0].tolerance.total_seconds() == 300


def test_an_environment_overrides_what_it_names_and_nothing_else(folder):
    found = config(folder, WHOLE, "prod", **VARIABLES)
    assert found.lake == "s3://bucket/shop"
    assert found.catalog == "postgresql+psycopg://me:hunter2@host/db"
    assert found.settings == {"default_schedule": "5m", "parallelism": 8, "allow_circular": True}
    assert found.spark["spark.master"] == "yarn"
    assert found.spark["spark.driver.memory"] == "2g"
    assert config(folder, WHOLE, "test").catalog is None


def test_variables_of_other_environments_need_not_be_set(folder):
    assert config(folder, WHOLE, PASSWORD="x").secrets == ("x",)


def test_a_variable_that_is_not_set_is_named_with_its_place(folder):
    with pytest.raises(MissingVariable, match="PASSWORD") as caught:
        config(folder, WHOLE)
    assert caught.value.detail == "anabranch.yml, line 4 (catalog) needs it."


def test_a_dollar_may_stand_for_itself(folder):
    assert config(folder, YML + 'catalog: "a$b$${c}$"\n').catalog == "a$b${c}$"


def test_secrets_are_never_shown(folder, monkeypatch):
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    folder.write({"anabranch.yml": WHOLE, "tables/a.sql": "", "more/b.py": ""})
    project = folder.load("prod")
    assert not any(secret in f"{project!r} {project} {project.config!r}" for secret in VARIABLES.values())

    def fails(location, **given):
        raise ab.AnabranchError(f"no {given['catalog']}", detail="s3cr3t.", hint="hunter2")

    with pytest.raises(ab.AnabranchError) as caught:
        project.connect(using=fails)
    assert str(caught.value) == ("AB000 no postgresql+psycopg://me:***@host/db\nDetail: ***.\nHint: ***")
    assert caught.value.__suppress_context__


def test_a_secret_that_is_a_wrong_setting_is_not_shown_either(folder):
    with pytest.raises(InvalidSetting) as caught:
        config(folder, YML + "settings: {parallelism: '${PASSWORD}'}\n", PASSWORD="hunter2")
    assert "hunter2" not in str(caught.value)
    assert "***" in str(caught.value)


def test_an_unknown_environment_is_told_with_those_that_are_known(folder):
    with pytest.raises(UnknownEnvironment) as caught:
        config(folder, WHOLE, "prd", **VARIABLES)
    assert caught.value.detail == "anabranch.yml has prod, test."
    assert caught.value.hint == "did you mean prod?"


WRONG = {
    "an unknown key": (
        YML + "setings: {}\n",
        InvalidProjectFile,
        "line 3 (setings)",
        "did you mean settings?",
    ),
    "an unknown key below": (
        YML + "environments:\n  prod:\n    setting: {}\n",
        InvalidProjectFile,
        "line 5 (environments.prod.setting)",
        "did you mean settings?",
    ),
    "files in an environment": (
        YML + "environments: {prod: {files: [a.sql]}}\n",
        InvalidProjectFile,
        "environments.prod.files",
        "the keys are lake, catalog, settings, spark.",
    ),
    "no name": ("lake: ./lake\n", InvalidProjectFile, "line 1", "name: shop"),
    "a strange name": ("name: 'a b'\nlake: x\n", InvalidProjectFile, "line 1 (name)", "letters"),
    "no lake": ("name: shop\n", InvalidProjectFile, "line 1", "lake: ./lake"),
    "an empty lake": ("name: shop\nlake: ''\n", InvalidProjectFile, "line 2 (lake)", ""),
    "a lake that is a list": ("name: shop\nlake: [a]\n", InvalidProjectFile, "line 2 (lake)", ""),
    "a key twice": ("name: shop\nlake: a\nlake: b\n", InvalidProjectFile, "lines 2 and 3", ""),
    "a setting twice": (
        YML + "settings:\n  parallelism: 1\n  parallelism: 2\n",
        InvalidProjectFile,
        "lines 4 and 5",
        "",
    ),
    "an unknown setting": (YML + "settings: {paralelism: 1}\n", UnknownSetting, "line 3", "parallelism"),
    "a wrong setting": (YML + "settings: {parallelism: many}\n", InvalidSetting, "line 3", ""),
    "settings that are a list": (YML + "settings: [a]\n", InvalidProjectFile, "line 3 (settings)", ""),
    "an option that is not Spark's": (
        YML + "spark: {driver.memory: 1g}\n",
        InvalidProjectFile,
        "line 3",
        "spark.",
    ),
    "no list of files": (YML + "files: tables/*.sql\n", InvalidProjectFile, "line 3 (files)", "[a, b]"),
    "files elsewhere": (YML + "files: [../*.sql]\n", InvalidProjectFile, "line 3 (files.0)", "below"),
    "files anywhere": (YML + "files: [/etc/*.sql]\n", InvalidProjectFile, "line 3 (files.0)", "below"),
    "files that define nothing": (YML + "files: ['*.txt']\n", InvalidProjectFile, "files.0", ".sql or .py"),
    "a group of one": (
        YML + "refresh_groups: {g: {members: [a]}}\n",
        InvalidGroup,
        "line 3 (refresh_groups.g)",
        "",
    ),
    "a group of none": (YML + "refresh_groups: {g: {}}\n", InvalidProjectFile, "refresh_groups.g", "members"),
    "a group with a strange key": (
        YML + "refresh_groups: {g: {members: [a, b], isolaton: x}}\n",
        InvalidProjectFile,
        "refresh_groups.g.isolaton",
        "did you mean isolation?",
    ),
    "a strange isolation": (
        YML + "refresh_groups: {g: {members: [a, b], isolation: serializable}}\n",
        InvalidGroup,
        "refresh_groups.g",
        "repeatable_read",
    ),
    "a strange tolerance": (
        YML + "watermark_groups: {g: {sources: [a, b], tolerance: long}}\n",
        InvalidWatermarkGroup,
        "watermark_groups.g",
        "",
    ),
    "no YAML": (YML + "settings: {a: [}\n", InvalidProjectFile, "line 3, column", ""),
    "a tab": (YML + "\tsettings: 1\n", InvalidProjectFile, "line 3", ""),
    "two documents": (YML + "---\nname: b\n", InvalidProjectFile, "line 3", ""),
    "a list": ("- a\n", InvalidProjectFile, "line 1", ""),
    "nothing": ("", InvalidProjectFile, "", ""),
    "an object of Python": (
        YML + "catalog: !!python/object/apply:os.system ['id']\n",
        InvalidProjectFile,
        "line 3",
        "leave out",
    ),
    "an anchor": (YML + "settings: &a {}\n", InvalidProjectFile, "line 3", "write it out."),
    "a bomb": (
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nname: shop\nlake: x\n",
        InvalidProjectFile,
        "line 1",
        "write it out.",
    ),
    "depth": (
        YML + "catalog: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        InvalidProjectFile,
        "line 3",
        "",
    ),
    "much depth": (YML + "catalog: " + "[" * 100_000, InvalidProjectFile, "line 3", ""),
    "a key that is a number": ("1: a\n", InvalidProjectFile, "line 1", "quotes"),
    "a variable without a name": (YML + "catalog: '${}'\n", InvalidProjectFile, "line 3", "${NAME}"),
    "a variable of Spark's": (YML + "catalog: '${env:HOME}'\n", InvalidProjectFile, "line 3", "${NAME}"),
}


@pytest.mark.parametrize(("text", "kind", "detail", "hint"), WRONG.values(), ids=WRONG)
def test_what_can_not_be_said_is_refused_with_its_place(folder, text, kind, detail, hint):
    with pytest.raises(kind) as caught:
        config(folder, text)
    assert detail in (caught.value.detail or "")
    assert hint in (caught.value.hint or "")
    assert len(str(caught.value)) < 2000


def test_the_largest_file_is_read_and_a_larger_one_is_not():
    text = YML.encode() + b"#" * (MAX_BYTES - len(YML))
    assert read_document(text, "anabranch.yml").mapping()["name"].text() == "shop"
    with pytest.raises(InvalidProjectFile, match="too large"):
        read_document(text + b"#", "anabranch.yml")


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", b"name: \x00", "name: \ud800".encode("utf-8", "surrogatepass")]
)
def test_what_is_no_text_is_refused(data):
    with pytest.raises(InvalidProjectFile):
        read_document(data, "anabranch.yml")


def test_words_stay_the_text_that_they_are():
    text = "a: on\nb: no\nc: 1:30\nd: 2024-01-01\ne: 0x1F\nf: 1_000\ng: true\nh: 7\ni: ~\nj: 1.5\nk: 007\n"
    assert read_document(text.encode(), "x").value == {
        "a": "on",
        "b": "no",
        "c": "1:30",
        "d": "2024-01-01",
        "e": "0x1F",
        "f": "1_000",
        "g": True,
        "h": 7,
        "i": None,
        "j": 1.5,
        "k": "007",
    }


def test_a_folder_without_a_project_file_is_told_how_to_begin_one(tmp_path):
    with pytest.raises(InvalidProjectFile) as caught:
        read_config(tmp_path, None)
    assert "anabranch init" in caught.value.hint


def test_settings_reach_the_lake_and_the_environment_comes_before_them(folder, monkeypatch):
    folder.write({"anabranch.yml": YML + "settings: {parallelism: 2, default_schedule: 7m}\n"})
    monkeypatch.setenv("ANABRANCH_PARALLELISM", "3")
    with folder.connect() as lake:
        assert lake._context.settings["parallelism"] == 3
        assert lake._context.settings["default_schedule"].total_seconds() == 420
    with folder.connect(parallelism=5) as lake:
        assert lake._context.settings["parallelism"] == 5


def test_options_of_spark_are_passed_on_to_the_session_that_is_started(folder):
    folder.write({"anabranch.yml": YML + "spark: {spark.driver.memory: 2g}\n"})
    given = {}
    folder.load().connect(using=lambda location, **arguments: given.update(arguments, location=location))
    assert given["spark_options"] == {"spark.driver.memory": "2g"}
    assert given["location"] == os.path.join(folder.path, "lake")
