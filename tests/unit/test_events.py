"""Events: frozen, of a known kind."""

from __future__ import annotations

import dataclasses

import pytest

from anabranch.events import KINDS, Event, ignore_event

SPEC_KINDS = {
    "tick_started",
    "refresh_started",
    "refresh_finished",
    "group_committed",
    "group_rolled_back",
    "skipped",
    "tick_finished",
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_event_of_every_kind_can_be_made(kind):
    event = Event(kind, tables=("orders",), detail={"lsn": 3})
    assert (event.kind, event.stream_table, event.tables) == (kind, None, ("orders",))
    assert ignore_event(event) is None


def test_the_kinds_of_the_spec_are_there():
    assert SPEC_KINDS <= KINDS


def test_an_event_of_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="no event kind 'lunch'"):
        Event("lunch")


def test_an_event_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Event("skipped").kind = "tick_started"  # type: ignore[misc]


def test_two_events_share_no_detail():
    assert Event("skipped").detail is not Event("skipped").detail
