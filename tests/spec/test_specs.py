"""Every spec file says what the code does; `make spec` rewrites them."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.spec.specs import STAGES, Spec, paths, read, result


def shown(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def difference(spec: Spec) -> str:
    """What is written against what the code does, line by line; nothing if they agree."""
    lines = difflib.unified_diff(
        spec.expected.splitlines(), result(spec).splitlines(), "written", "found", lineterm="", n=3
    )
    return "\n".join(lines)


@pytest.mark.parametrize("path", paths(), ids=shown)
def test_a_stage_makes_of_a_query_what_its_file_says(path: Path) -> None:
    found = difference(read(path))
    assert not found, f"{shown(path)} (if this is meant: make spec)\n{found}"


@pytest.mark.parametrize("stage", STAGES)
def test_a_wrong_result_fails_and_the_difference_shows_the_line(stage: str) -> None:
    spec = next(read(path) for path in paths() if path.parent.name == stage)
    first, _, rest = result(spec).partition("\n")
    lines = difference(replace(spec, expected=f"{first} and more\n{rest}")).splitlines()
    assert f"-{first} and more" in lines
    assert f"+{first}" in lines
    assert len([line for line in lines[2:] if line[0] in "+-"]) == 2


def test_every_stage_has_its_files_and_every_file_a_stage() -> None:
    stages = [path.parent.name for path in paths()]
    assert set(stages) == set(STAGES)
    assert all(stages.count(stage) >= 12 for stage in STAGES)


def test_a_table_is_the_same_in_every_file() -> None:
    known: dict[str, str] = {}
    for path in paths():
        for name, ddl in read(path).tables.items():
            assert known.setdefault(name, ddl) == ddl, shown(path)


def test_a_file_says_which_tables_changed_where_that_matters() -> None:
    for path in paths():
        if path.parent.name == "simplifying":
            assert read(path).changed is not None, shown(path)
