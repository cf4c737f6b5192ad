"""Tables of tests are small; here they are taken for large ones, whose rows are looked up for the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def tables_are_large(taken: bool = True) -> Iterator[None]:
    """Take no table for so small that a single task reads it, if `taken`."""
    with pytest.MonkeyPatch.context() as patch:
        if taken:
            patch.setattr("anabranch.refresh.inputs.ONE_TASK_BYTES", -1)
        yield
