"""From the leaves of a rendered plan to relations: files at a version, or files that changed."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.algebra.plan import Delta, Scan
from anabranch.engine.base import Frame
from anabranch.render.statement import Rendered


def bound(
    rendered: Rendered,
    *,
    scans: Callable[[str], Frame] | None = None,
    leaf: Callable[[Scan | Delta], Frame] | None = None,
    stored: Callable[[], Frame] | None = None,
) -> dict[str, Frame]:
    """A relation for every placeholder; only what the statement reads is asked for."""
    relations: dict[str, Frame] = {}
    for placeholder, part in rendered.leaves:
        if isinstance(part, Scan) and scans is not None:
            relations[placeholder] = scans(part.table)
        elif isinstance(part, Scan | Delta):
            assert leaf is not None, "a query reads no changes"
            relations[placeholder] = leaf(part)
        else:
            assert stored is not None, "a query doesn't read its own result"
            relations[placeholder] = stored()
    return relations
