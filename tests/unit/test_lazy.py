"""Values that are created on first use."""

from __future__ import annotations

from importlib import import_module

import pytest

from anabranch.lazy import OPERATIONS, Lazy, value_if_created


def test_a_private_name_creates_nothing_and_waits_for_nothing() -> None:
    made = Lazy(lambda: pytest.fail("created"))
    with made._lock, pytest.raises(AttributeError):
        made._misspelt  # noqa: B018
    assert value_if_created(made) is None


def test_a_public_name_creates_the_value_once() -> None:
    created: list[str] = []
    made = Lazy(lambda: created.append("text") or "text")
    assert (made.upper(), made.title()) == ("TEXT", "Text")
    assert created == ["text"]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_where_the_table_says(name: str) -> None:
    assert hasattr(import_module(OPERATIONS[name]), name)
