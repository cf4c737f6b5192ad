"""The page about project files: its examples are read and run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anabranch import errors
from anabranch.errors import every_error
from anabranch.project import load
from anabranch.project.config import read_config
from tests.project.folders import YML

PAGE = (Path(__file__).parents[2] / "docs" / "project-files.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_project_file_of_the_page_is_one(folder):
    (text,) = blocks("yaml")
    folder.write({"anabranch.yml": text})
    found = read_config(folder.path, "prod", {"CATALOG_URL": "sqlite:///x"})
    assert (found.lake, found.settings["parallelism"]) == ("s3://bucket/shop", 8)
    assert found.refresh_groups[0].isolation == "repeatable_read"


def test_the_python_file_of_the_page_defines_what_it_says(folder):
    declared, _ = blocks("python")
    folder.write({"tables.py": declared})
    (stream,) = folder.load().stream_tables
    assert (str(stream.name), stream.options["schedule"]) == ("top_customers", "5m")


def test_the_program_of_the_page_runs(shop, lake, monkeypatch):
    _, program = blocks("python")
    shop.write({"anabranch.yml": YML + "environments: {prod: {}}\n"})

    class Closed:
        def __enter__(self):
            return lake

        def __exit__(self, *_):
            return None

    monkeypatch.setattr("anabranch.project.Project.connect", lambda self, **_: Closed())
    monkeypatch.chdir(shop.path.parent)
    exec(compile(program, "project-files.md", "exec"), {})
    assert load(shop.path).plan(lake).empty


@pytest.mark.parametrize("kind", [kind for kind in every_error() if issubclass(kind, errors.ProjectError)])
def test_every_error_of_projects_is_on_the_page(kind):
    assert kind is errors.ProjectError or f"| {kind.code} |" in PAGE
