"""`demo`: what anabranch does, shown in a lake that is thrown away."""

from __future__ import annotations

from anabranch.cli.app import command
from anabranch.cli.session import Session


@command("demo", panel="Begin")
def demo(session: Session) -> None:
    """Show what anabranch does, in a lake that is thrown away.

    Takes about a minute.
    """
    from anabranch.cli.demo_script import main

    main()
