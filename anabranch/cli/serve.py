"""`serve`: the lake over HTTP, with its scheduler."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.cli.app import command
from anabranch.cli.session import Session
from anabranch.errors import CommandError

MAX_TOKEN_BYTES = 4096
TOKEN_VARIABLE = "ANABRANCH_TOKEN"
EXTRA = ("fastapi", "starlette", "uvicorn", "prometheus_client")
"""What `pip install 'anabranch[serve]'` installs."""


@command("serve", panel="Refresh")
def serve(
    session: Session,
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; others can reach 0.0.0.0.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")] = 8321,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help=f"A file with the token (else {TOKEN_VARIABLE})."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", metavar="NAME", help="A name under which it may be asked; can be repeated."
        ),
    ] = None,
    no_scheduler: Annotated[bool, typer.Option("--no-scheduler", help="Only serve; don't refresh.")] = False,
) -> None:
    """Serve the lake over HTTP, and schedule it.

    Until Ctrl-C or SIGTERM. Without a token one is made, and shown once. The exit code is 0 when it was
    told to stop.
    """
    token = _read_token(token_file)
    web = _import_service()
    with session.open_lake() as lake:
        web.serve(
            lake,
            host=host,
            port=port,
            token=token,
            allow_hosts=tuple(allow_host or ()),
            scheduler=not no_scheduler,
            tell=lambda message: session.out.side.print(message, soft_wrap=True),
        )


def _import_service() -> Any:
    try:
        return import_module("anabranch.web")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise CommandError("the service is not installed", hint="pip install 'anabranch[serve]'") from error


def _read_token(file: Path | None) -> str | None:
    """The token that was chosen; a command line would show it to everybody on the machine."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_TOKEN_BYTES + 1)
    except OSError as error:
        raise CommandError(
            f"the token file {str(file)!a} can't be read", detail=f"{error.strerror}."
        ) from error
    token = content.decode("ascii", "replace").strip()
    if len(content) > MAX_TOKEN_BYTES or not token:
        raise CommandError(f"the token file {str(file)!a} has no token in it")
    return token
