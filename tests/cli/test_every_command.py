"""What holds for every command, those that will come included."""

from __future__ import annotations

from importlib import import_module
from itertools import groupby
from pkgutil import iter_modules

import pytest
import typer

import anabranch.cli
from anabranch.cli.app import EVERYWHERE
from anabranch.cli.commands import MODULES
from anabranch.cli.main import app

# Enough to be called rightly but for what is wrong in the test.
ARGUMENTS = {
    "preview": ["sales"],
    "explain": ["sales"],
    "verify": ["--all"],
    "refresh": ["x"],
    "sql": ["SELECT 1"],
    "suspend": ["x"],
    "resume": ["x"],
    "drop": ["x", "--yes"],
    "fuse reset": ["x", "apply"],
    "gate": ["x"],
    "ungate": ["x"],
    "watermark advance": ["x", "2030-01-01"],
    "watermark create-group": ["g", "x"],
    "watermark drop-group": ["g"],
    "groups create": ["g", "x"],
    "groups drop": ["g"],
    "set": ["parallelism", "2"],
    "compact": ["x"],
    "init": ["somewhere"],
    "apply": ["--yes"],
}
NEED_NO_LAKE = {"demo", "doctor", "init"}
CREATE_ONE = {"sql", "apply", "plan"}
"""Or stand in for it."""


def _commands() -> dict[str, object]:
    found = {}
    for name, command in typer.main.get_command(app).commands.items():
        inner = getattr(command, "commands", {})
        if not inner or name == "groups":
            found[name] = command
        found |= {f"{name} {word}": each for word, each in inner.items()}
    return found


COMMANDS = _commands()


def test_there_are_the_commands_that_were_promised():
    promised = """
        demo sql run serve tick refresh status history graph explain verify gate ungate gates groups cycles
        suspend resume drop tables preview maintain compact set settings doctor
    """.split()
    pairs = """
        watermark advance, watermark list, watermark create-group, watermark drop-group, watermark groups,
        groups create, groups drop, fuse status, fuse reset
    """
    assert set(promised) | {" ".join(pair.split()) for pair in pairs.split(",")} <= COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_it_says_what_it_does_and_what_every_argument_is(name):
    command = COMMANDS[name]
    assert command.help
    assert command.help.splitlines()[0].endswith(".")
    for parameter in command.params:
        assert getattr(parameter, "help", None), parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_it_takes_the_options_that_all_take_and_hides_them(name):
    hidden = {each.name for each in COMMANDS[name].params if getattr(each, "hidden", False)}
    assert hidden == set(EVERYWHERE)


@pytest.mark.parametrize("name", COMMANDS)
def test_it_has_help(run, name):
    said = run(*name.split(), "--help", lake=False)
    assert said.code == 0
    assert "Usage: anabranch" in said.out


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_it_does_not_have_is_wrong_usage(run, name):
    said = run(*name.split(), *ARGUMENTS.get(name, []), "--no-such-option")
    assert said.code == 2
    assert said.out == ""


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - NEED_NO_LAKE))
def test_without_a_lake_it_says_so(run, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run(*name.split(), *ARGUMENTS.get(name, []), lake=False)
    assert said.code == 2
    assert said.err.startswith("AB901 ")


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - NEED_NO_LAKE - CREATE_ONE))
def test_a_lake_that_is_not_there_is_not_made(run, name, place):
    said = run(*name.split(), *ARGUMENTS.get(name, []))
    assert said.code == 2
    assert said.err.startswith("AB902 ")
    assert not place.exists()


def test_every_command_is_found_in_the_module_that_has_it():
    for module in iter_modules(anabranch.cli.__path__):
        import_module(f"anabranch.cli.{module.name}")
    commands = {each.name: each.callback.__module__ for each in app.registered_commands}
    groups = {each.name: _home(each.typer_instance) for each in app.registered_groups}
    assert commands | groups == {name: f"anabranch.cli.{module}" for name, module in MODULES.items()}


def _home(group: typer.Typer) -> str:
    return group.registered_commands[0].callback.__module__


def test_the_help_lists_the_commands_title_by_title():
    root = typer.main.get_command(app)
    titles = [root.get_command(None, name).rich_help_panel for name in root.list_commands(None)]
    assert root.list_commands(None) == list(MODULES)
    assert [title for title, _ in groupby(titles)] == [
        "Begin",
        "Project",
        "Look",
        "Refresh",
        "Change",
        "Sources",
        "Keep house",
    ]
