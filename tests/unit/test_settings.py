"""Settings: where a value comes from, and what it may be."""

from __future__ import annotations

from datetime import timedelta

import pytest

import anabranch as ab
from anabranch.errors import InvalidSetting, UnknownSetting
from anabranch.settings import SETTINGS, Settings, read_setting

ENVIRONMENT = {"ANABRANCH_COMMIT_RETRIES": "2"}
STORED = {"commit_retries": "3"}


def retries(arguments: dict[str, object], environment: dict[str, str], stored: dict[str, str]) -> int:
    return Settings(arguments, environment, stored)["commit_retries"]


def test_an_argument_comes_before_the_environment_the_lake_and_the_default():
    assert retries({"commit_retries": 1}, ENVIRONMENT, STORED) == 1
    assert retries({}, ENVIRONMENT, STORED) == 2
    assert retries({}, {}, STORED) == 3
    assert retries({}, {}, {}) == 20


def test_a_stored_value_takes_effect_unless_something_stronger_stands():
    plain = Settings({}, {}, {})
    assert plain.store("commit_retries", 7) == "7"
    assert plain["commit_retries"] == 7
    for settings in (Settings({"commit_retries": 1}, {}), Settings({}, {"ANABRANCH_COMMIT_RETRIES": "1"})):
        assert settings.store("commit_retries", 7) == "7"
        assert settings["commit_retries"] == 1


def test_a_stored_setting_that_this_release_does_not_know_is_passed_over():
    assert retries({}, {}, {"setting_of_tomorrow": "7"}) == 20


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("time_zone", "Europe/Vienna", "Europe/Vienna"),
        ("snapshot_retention", "0s", timedelta(0)),
        ("snapshot_retention", timedelta(hours=1), timedelta(hours=1)),
        ("orphan_grace", "3650d", timedelta(days=3650)),
        ("pin_lifetime", "1s", timedelta(seconds=1)),
        ("catalog_timeout", "1h", timedelta(hours=1)),
        ("commit_retries", 0, 0),
        ("commit_retries", "1000", 1000),
        ("driver_rewrite_bytes", 1 << 40, 1 << 40),
        ("fuse_default_ceiling", 1, 1),
        ("fuse_default_ceiling", str(1 << 62), 1 << 62),
        ("fuse_default_ceiling", None, None),
        ("fuse_default_ceiling", " None ", None),
    ],
)
def test_a_value_at_the_edge_is_taken(name, value, typed):
    assert read_setting(name, value) == typed
    assert Settings({name: value}, {})[name] == typed


REFUSED = [
    ("time_zone", "Nowhere/Land"),
    ("time_zone", ""),
    ("time_zone", None),
    ("time_zone", "../../etc/passwd"),
    ("time_zone", "/etc/localtime"),
    ("time_zone", "UTC\0"),
    ("snapshot_retention", "-1s"),
    ("snapshot_retention", "3651d"),
    ("snapshot_retention", "soon"),
    ("snapshot_retention", 5),
    ("snapshot_retention", timedelta(days=-1)),
    ("orphan_grace", ""),
    ("orphan_grace", None),
    ("pin_lifetime", "0s"),
    ("pin_lifetime", "31d"),
    ("catalog_timeout", "999ms"),
    ("catalog_timeout", "2h"),
    ("commit_retries", -1),
    ("commit_retries", 1001),
    ("commit_retries", 1.5),
    ("commit_retries", True),
    ("commit_retries", None),
    ("commit_retries", "9" * 5000),
    ("commit_retries", [1]),
    ("driver_rewrite_bytes", -1),
    ("driver_rewrite_bytes", (1 << 40) + 1),
    ("driver_rewrite_bytes", "lots"),
    ("fuse_default_ceiling", 0),
    ("fuse_default_ceiling", (1 << 62) + 1),
    ("fuse_default_ceiling", 1.5),
    ("fuse_default_ceiling", False),
    ("fuse_default_ceiling", ""),
    ("fuse_default_ceiling", "nothing"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED, ids=lambda value: ascii(value)[:30])
def test_a_value_that_cannot_be_is_refused_wherever_it_comes_from(name, value):
    with pytest.raises(InvalidSetting) as caught:
        Settings({name: value}, {})
    assert caught.value.code == "AB111"
    assert name in str(caught.value)
    assert len(str(caught.value)) < 500
    with pytest.raises(InvalidSetting):
        Settings({}, {}).store(name, value)
    if isinstance(value, str):
        with pytest.raises(InvalidSetting):
            Settings({}, {f"ANABRANCH_{name.upper()}": value})
        with pytest.raises(InvalidSetting):
            Settings({}, {}, {name: value})


@pytest.mark.parametrize("name", ["no_such", "", "COMMIT_RETRIES", 7, None, ["commit_retries"]], ids=ascii)
def test_a_setting_that_does_not_exist_is_refused(name):
    with pytest.raises(UnknownSetting) as caught:
        read_setting(name, 1)
    assert caught.value.code == "AB110"
    with pytest.raises(UnknownSetting):
        Settings({}, {}).store(name, 1)


def test_a_refused_value_changes_nothing():
    settings = Settings({}, {})
    with pytest.raises(InvalidSetting):
        settings.store("commit_retries", -1)
    assert settings["commit_retries"] == 20


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
def test_every_setting_has_a_meaning_and_a_default_that_it_takes(setting):
    assert setting.meaning
    assert Settings({}, {})[setting.name] == setting.read(setting.default)


def test_a_setting_that_may_be_none_is_none_again_once_it_is_stored_so():
    settings = Settings({}, {}, {"fuse_default_ceiling": "10"})
    assert settings["fuse_default_ceiling"] == 10
    text = settings.store("fuse_default_ceiling", None)
    assert settings["fuse_default_ceiling"] is None
    assert Settings({}, {}, {"fuse_default_ceiling": text})["fuse_default_ceiling"] is None


# -- in a lake ------------------------------------------------------------------------------------


def test_a_setting_stays_in_the_lake(place, monkeypatch):
    with ab.connect(place) as lake:
        lake.set("snapshot_retention", timedelta(days=2))
        lake.set("commit_retries", 1)
        lake.set("commit_retries", 5)
    with ab.connect(place) as lake:
        settings = lake._context.settings
        assert (settings["commit_retries"], settings["snapshot_retention"]) == (5, timedelta(days=2))
    with ab.connect(place, commit_retries=6) as lake:
        assert lake._context.settings["commit_retries"] == 6
    monkeypatch.setenv("ANABRANCH_COMMIT_RETRIES", "8")
    with ab.connect(place) as lake:
        assert lake._context.settings["commit_retries"] == 8


def test_a_lake_is_not_created_with_a_wrong_setting(place, monkeypatch):
    with pytest.raises(InvalidSetting):
        ab.connect(place, commit_retries=-1)
    with pytest.raises(UnknownSetting):
        ab.connect(place, comit_retries=1)
    monkeypatch.setenv("ANABRANCH_TIME_ZONE", "Mars/Olympus")
    with pytest.raises(InvalidSetting):
        ab.connect(place)
    assert not place.exists()
