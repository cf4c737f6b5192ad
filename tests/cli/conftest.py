"""Calls of the command line, inside this process, on lakes whose engine answers at once."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import anabranch as ab
from anabranch.cli.main import app
from anabranch.cli.session import Session
from tests.engines.lakes import duck_lake
from tests.streams.shop import diamond, stock


@dataclass(frozen=True)
class Said:
    """What a call printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """Runs `anabranch --lake … arguments`; every call opens the lake anew, as a process would."""

    def __init__(self, place: Path, clock: ab.ManualClock) -> None:
        self.place = place
        self.clock = clock

    def __call__(self, *arguments: object, lake: bool = True, input: str | None = None, **env: str) -> Said:
        def connect(location, *, catalog, observer, **settings):
            settings.pop("spark_options", None)
            return duck_lake(location, catalog=catalog, observer=observer, clock=self.clock, **settings)

        words = [*(["--lake", self.place] if lake else []), *arguments]
        result = CliRunner().invoke(
            app,
            [str(word) for word in words],
            obj=Session(connect=connect),
            input=input,
            env={"COLUMNS": "200", "ANABRANCH_LAKE": None, **env},
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def run(place: Path, clock: ab.ManualClock) -> Shell:
    """The command line over a lake that isn't there yet."""
    return Shell(place, clock)


@pytest.fixture
def shop(place: Path, clock: ab.ManualClock) -> Iterator[ab.Lake]:
    """A few sales; the lake stays open beside the command line, as another process would have it."""
    with duck_lake(place, clock=clock) as lake:
        stock(lake)
        yield lake


@pytest.fixture
def branches(shop: ab.Lake) -> ab.Lake:
    """The sales, and a diamond made from them."""
    diamond(shop)
    return shop


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Notices of the lake beside are expected; those that the command line shows are asserted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        yield


def names_of(kind: type) -> set[str]:
    """The fields of a dataclass: what JSON is to have."""
    return {each.name for each in fields(kind)}
