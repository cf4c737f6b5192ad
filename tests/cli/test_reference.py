"""The reference of commands is made from them, and is up to date."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import typer

from anabranch.cli.main import app
from anabranch.cli.reference import markdown

PAGE = Path(__file__).parents[2] / "docs" / "cli-reference.md"


def test_the_page_is_what_the_command_line_says():
    assert PAGE.read_text("utf-8") == markdown(), "python -m anabranch.cli.reference > docs/cli-reference.md"


def test_every_command_and_every_option_is_in_it():
    page = markdown()
    for name, command in typer.main.get_command(app).commands.items():
        for word, each in {"": command, **getattr(command, "commands", {})}.items():
            assert f"`anabranch {name} {word}".rstrip() + "`" in page
            for parameter in each.params:
                if not getattr(parameter, "hidden", False) and parameter.param_type_name == "option":
                    assert f"`{max(parameter.opts, key=len)}" in page


def test_it_is_the_same_in_every_environment():
    other = {"COLUMNS": "33", "NO_COLOR": "1", "ANABRANCH_LAKE": "elsewhere", "PYTHONHASHSEED": "7"}
    made = subprocess.run(
        [sys.executable, "-m", "anabranch.cli.reference"],
        check=True,
        capture_output=True,
        env={**os.environ, **other},
    )
    assert made.stdout.decode() == markdown()
