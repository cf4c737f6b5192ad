"""The command line's entry point."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from anabranch.cli.app import app
from anabranch.cli.session import Session

SELDOM = 200_000
"""After how many new objects garbage is looked for: nearly all that a command makes it keeps to its end."""

__all__ = ["app", "main"]


def main(arguments: Sequence[str] | None = None, *, session: Session | None = None) -> None:
    """Run one command, by default the process's own arguments, and exit with its code."""
    gc.set_threshold(SELDOM)
    app(args=None if arguments is None else list(arguments), prog_name="anabranch", obj=session)
