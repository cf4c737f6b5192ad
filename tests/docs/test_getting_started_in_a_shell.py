"""The first steps on the command line do what they say: every line of the page is run, in order."""

from __future__ import annotations

import re
import shlex
import warnings

import pytest

import anabranch as ab
from tests.cli.conftest import Said, Shell
from tests.docs.pages import DOCS

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lines() -> list[list[str]]:
    """The words of every line of the page's shell blocks, without comments."""
    text = (DOCS / "getting-started.md").read_text("utf-8")
    return [shlex.split(line, comments=True) for block in BLOCK.findall(text) for line in block.splitlines()]


@pytest.fixture
def shell(tmp_path, clock, monkeypatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path / "unused", clock)


def test_every_line_does_what_it_says(shell, tmp_path, monkeypatch):
    said: dict[str, Said] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        for program, *words in lines():
            if program == "cd":
                monkeypatch.chdir(tmp_path / words[0])
                continue
            assert program == "anabranch"
            shell.clock.advance(2)
            said[" ".join(words)] = found = shell(*words, lake=False)
            assert found.code == 0, (words, found)
    assert "CREATE" in said["plan"].out.upper()
    assert "by_region" in said["status"].out
    assert "65.70" in said["sql SELECT * FROM revenue_check"].out
    assert "revenue_check" in said["history"].out
    assert "revenue_check" in said["verify --all"].out
