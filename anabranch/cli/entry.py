"""Where the command line begins: it says so if what it needs is not installed."""

from __future__ import annotations

import sys

EXTRA = ("typer", "rich", "click")
"""What `pip install 'anabranch[cli]'` installs."""


def main() -> None:
    """Run one command with the process's own arguments, and exit with its code."""
    try:
        from anabranch.cli.main import main as run_command
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        sys.exit("the command line is not installed\nHint: pip install 'anabranch[cli]'")
    run_command()
