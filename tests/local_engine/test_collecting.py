"""The collector of cycles waits while rows are computed."""

from __future__ import annotations

import gc
import threading

import pytest

from anabranch.engine.local.collecting import collector_waits


def test_nothing_is_collected_while_rows_are_computed() -> None:
    with collector_waits():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="wrong"), collector_waits():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_it_goes_on_when_the_last_thread_is_done() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with collector_waits():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with collector_waits():
        thread.start()
        assert inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_whoever_turned_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with collector_waits():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
