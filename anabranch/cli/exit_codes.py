"""With which codes the command line ends; scripts rely on them."""

from __future__ import annotations

from enum import IntEnum

from anabranch.errors import AnabranchError, CommandError


class ExitCode(IntEnum):
    """What a shell sees."""

    FINE = 0
    FAILED = 1
    USAGE = 2
    ERROR = 3
    CHANGES = 4
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.FINE: "everything went well",
    ExitCode.FAILED: "it ran, and something was wrong: a refresh failed, rows differ, a check failed",
    ExitCode.USAGE: "the command was called wrongly: an unknown option, no lake, nothing selected",
    ExitCode.ERROR: "the lake refused it: an error with a code (AB…) that says why",
    ExitCode.CHANGES: "`plan --check` found changes that are not applied",
    ExitCode.INTERRUPTED: "it was interrupted (Ctrl-C)",
}


def exit_code_of(error: AnabranchError) -> ExitCode:
    """Errors of the command itself are wrong usage; all others come from the lake."""
    return ExitCode.USAGE if isinstance(error, CommandError) else ExitCode.ERROR
