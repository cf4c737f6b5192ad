"""The application: its options for every command, and what surrounds each of them.

A command is a function of a `Session` and its own arguments. What it raises is rendered here, in one place.
"""

from __future__ import annotations

import errno
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar

import typer

from anabranch.cli.commands import Commands
from anabranch.cli.exit_codes import MEANINGS, ExitCode, exit_code_of
from anabranch.cli.output import Format, Output
from anabranch.cli.session import Options, Session
from anabranch.errors import AnabranchError, Notice

Function = TypeVar("Function", bound=Callable[..., None])

LakeOption = Annotated[
    str | None,
    typer.Option(
        "--lake",
        metavar="PATH",
        envvar="ANABRANCH_LAKE",
        show_envvar=False,
        help="The lake's folder or address (ANABRANCH_LAKE).",
    ),
]
CatalogOption = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="URL",
        envvar="ANABRANCH_CATALOG",
        show_envvar=False,
        help="Its catalog, if that is no SQLite file inside (ANABRANCH_CATALOG).",
    ),
]
ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="DIR",
        envvar="ANABRANCH_PROJECT",
        show_envvar=False,
        help="The folder of the anabranch.yml that names the lake (ANABRANCH_PROJECT).",
    ),
]
EnvOption = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="NAME",
        envvar="ANABRANCH_ENV",
        show_envvar=False,
        help="The environment of that project (ANABRANCH_ENV).",
    ),
]
OutputOption = Annotated[
    Format | None,
    typer.Option("--output", "-o", help="Tables for people (the default), or JSON for programs."),
]
DebugOption = Annotated[
    bool | None,
    typer.Option("--debug", help="Show where in the code an error came from.", show_default=False),
]
QuietOption = Annotated[
    bool | None,
    typer.Option(
        "--quiet", "-q", help="Only results and errors: no notices, no progress.", show_default=False
    ),
]
NoColorOption = Annotated[
    bool | None, typer.Option("--no-color", help="No colours (NO_COLOR).", show_default=False)
]
EVERYWHERE: dict[str, Any] = {
    "lake": LakeOption,
    "catalog": CatalogOption,
    "project": ProjectOption,
    "env": EnvOption,
    "output": OutputOption,
    "debug": DebugOption,
    "quiet": QuietOption,
    "no_color": NoColorOption,
}
"""Accepted before a command, and after it."""

_CODES = " · ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items())
EPILOG = f"Exit codes: {_CODES}."

app = typer.Typer(
    name="anabranch",
    cls=Commands,
    help="Keep derived tables fresh on Spark: look at a lake's stream tables, refresh them, schedule them.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def add_subcommands(name: str, help: str, *, panel: str | None = None, alone: bool = False) -> typer.Typer:
    """A group of commands that share their first word; `alone`: which does something by itself too."""
    made = typer.Typer(help=help, no_args_is_help=not alone)
    app.add_typer(made, name=name, rich_help_panel=panel)
    return made


def command(
    name: str, *, within: typer.Typer = app, panel: str | None = None
) -> Callable[[Function], Function]:
    """Register a function of a session and its own arguments as a command."""

    def register(function: Function) -> Function:
        within.command(name, rich_help_panel=panel)(_wrap_command(function))
        return function

    return register


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"anabranch {version('anabranch')}")
        raise typer.Exit


def default_command(*, within: typer.Typer) -> Callable[[Function], Function]:
    """Register a function of a session as what a group of commands does without a further word."""

    def register(function: Function) -> Function:
        alone = _wrap_command(function)

        @wraps(alone)
        def run_default(ctx: typer.Context, **arguments: Any) -> None:
            if ctx.invoked_subcommand is None:
                alone(ctx, **arguments)
            else:
                ctx.obj = _apply_options(ctx.obj, Options(**{name: arguments[name] for name in EVERYWHERE}))

        within.callback(invoke_without_command=True)(run_default)
        return function

    return register


@app.callback()
def everywhere(
    ctx: typer.Context,
    lake: LakeOption = None,
    catalog: CatalogOption = None,
    project: ProjectOption = None,
    env: EnvOption = None,
    output: OutputOption = None,
    debug: DebugOption = None,
    quiet: QuietOption = None,
    no_color: NoColorOption = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version, and end.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    """Take the options that stand before the command."""
    given = Options(lake, catalog, project, env, output, debug, quiet, no_color)
    ctx.obj = _apply_options(ctx.obj or Session(), given)


def _apply_options(session: Session, given: Options) -> Session:
    said = {each.name: value for each in fields(given) if (value := getattr(given, each.name)) is not None}
    return replace(session, options=replace(session.options, **said))


def _wrap_command(function: Callable[..., None]) -> Callable[..., None]:
    """The function as Typer calls it: with the options for every command, and with its errors rendered."""

    @wraps(function)
    def run_command(ctx: typer.Context, **arguments: Any) -> None:
        given = Options(**{name: arguments.pop(name) for name in EVERYWHERE})
        session = _apply_options(ctx.obj, given)
        with _print_errors(session), _print_notices(session.out):
            function(session, **arguments)

    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    hidden = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_hidden_option(option)
        )
        for name, option in EVERYWHERE.items()
    ]
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own), *hidden]
    run_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run_command.__annotations__ = {each.name: each.annotation for each in parameters}
    return run_command


def _hidden_option(option: Any) -> Any:
    """An option for every command as it stands after one: the help lists it once, before them.

    What the environment says is read there too.
    """
    kind, option_info = option.__origin__, option.__metadata__[0]
    unseen = copy(option_info)
    unseen.hidden, unseen.envvar = True, None
    return Annotated[kind, unseen]


@contextmanager
def _print_errors(session: Session) -> Iterator[None]:
    """Errors become a few lines and an exit code; with --debug they stay what they are."""
    try:
        yield
    except AnabranchError as error:
        if session.options.debug:
            raise
        session.out.print_error(error)
        raise quiet_exit(exit_code_of(error)) from None
    except KeyboardInterrupt:
        session.out.print_note("interrupted")
        raise quiet_exit(ExitCode.INTERRUPTED) from None
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:
        # The outermost boundary: a person sees what happened, not our insides.
        if session.options.debug or getattr(error, "errno", None) == errno.EPIPE or _is_usage_error(error):
            raise
        session.out.print_unexpected_error(error)
        raise quiet_exit(ExitCode.FAILED) from None


def _is_usage_error(error: Exception) -> bool:
    """Typer shows what was called wrongly by itself."""
    return hasattr(error, "exit_code") and hasattr(error, "format_message")


@contextmanager
def _print_notices(out: Output) -> Iterator[None]:
    """Notices of the lake go to standard error as one line each."""
    with warnings.catch_warnings():
        shown_before = warnings.showwarning

        def show_warning(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, Notice):
                out.print_notice(str(message))
            else:
                shown_before(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", Notice)
        warnings.showwarning = show_warning
        yield


def quiet_exit(code: ExitCode) -> typer.Exit:
    """End with a code, when all there is to say was said."""
    return typer.Exit(int(code))


__all__ = ["EVERYWHERE", "add_subcommands", "app", "command", "default_command", "quiet_exit"]
