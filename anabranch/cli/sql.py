"""`sql`: run statements, from an argument, a file, another program, or a prompt."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anabranch.cli.app import command
from anabranch.cli.session import Session
from anabranch.cli.statement_results import fetch_result, format_result, result_document
from anabranch.errors import AnabranchError, CommandError

if TYPE_CHECKING:
    from anabranch.lake import Lake
    from anabranch.sql.script import ScriptStatement

MAX_FILE_BYTES = 10 << 20
LEAVE = frozenset({"exit", "quit", "\\q"})


@command("sql", panel="Change")
def sql(
    session: Session,
    statement: Annotated[
        str | None, typer.Argument(metavar="[STATEMENT]", help="One or more statements, with ; between them.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A file of statements; - reads a pipe.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Rows that are shown of a query; 0 shows all.")
    ] = 1000,
) -> None:
    """Run SQL statements, or ask for them.

    They run in order, each in a commit of its own; the first error ends it. Without a statement they are
    read from standard input; on a terminal, a prompt asks for them. A lake that isn't there yet is
    created.
    """
    if statement is not None and file is not None:
        raise CommandError("there are a statement and a file", hint="give one of them.")
    if statement is None and file is None and sys.stdin.isatty():
        with session.open_lake(create=True) as lake:
            _run_prompt(session, lake, limit)
        return
    found = _split_text(_read_text(statement, file))
    if not found:
        raise CommandError("there is no statement to run")
    with session.open_lake(create=True) as lake:
        _run_statements(session, lake, found, limit)


def _read_text(statement: str | None, file: Path | None) -> str:
    if statement is not None:
        return statement
    try:
        if file is None or str(file) == "-":
            content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with file.open("rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{str(file)!a} can't be read", detail=f"{error.strerror}.") from error
    if len(content) > MAX_FILE_BYTES:
        raise CommandError("the statements are too large", detail=f"more than {MAX_FILE_BYTES >> 20} MiB.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError("the statements are not text in UTF-8", detail=f"byte {error.start}.") from error


def _split_text(text: str) -> list[ScriptStatement]:
    from anabranch.sql.script import split_statements

    return split_statements(text)


def _run_statements(session: Session, lake: Lake, found: Sequence[ScriptStatement], limit: int) -> None:
    """A program gets one document, also of what was done before an error."""
    documents: list[dict[str, Any]] = []
    try:
        for each in found:
            with session.show_progress():
                answer = fetch_result(lake.sql(each.padded_text), limit)
            if session.out.is_json:
                documents.append({"statement": each.text, **result_document(answer)})
            else:
                session.out.console.print(format_result(answer, session.out.console.width))
    finally:
        if session.out.is_json:
            session.out.print_document(documents)


# -- the prompt -----------------------------------------------------------------------------------


def _run_prompt(session: Session, lake: Lake, limit: int) -> None:
    """Ask for statements until there are no more; what goes wrong with one ends only that one."""
    _enable_line_editing()
    session.out.print_note("End a statement with ; and leave with exit or Ctrl-D.")
    typed = ""
    while True:
        try:
            line = input("     ...> " if typed else "anabranch> ")
        except EOFError:
            session.out.side.print()
            return
        except KeyboardInterrupt:
            session.out.side.print()
            typed = ""
            continue
        if not typed and line.strip().lower().rstrip(";") in LEAVE:
            return
        typed += line + "\n"
        # An empty line runs what can't be complete: a quote that is never closed is then an error.
        if _is_complete(typed) or (typed.strip() and not line.strip()):
            _run_reporting_errors(session, lake, typed, limit)
            typed = ""
        elif not typed.strip():
            typed = ""


def _is_complete(typed: str) -> bool:
    """Whether it ends with a statement's semicolon, outside of quotes and comments."""
    from anabranch.sql.lexer import lex

    try:
        lexemes = lex(typed).lexemes
    except AnabranchError:
        return False
    return bool(lexemes) and lexemes[-1].text == ";"


def _run_reporting_errors(session: Session, lake: Lake, typed: str, limit: int) -> None:
    try:
        _run_statements(session, lake, _split_text(typed), limit)
    except AnabranchError as error:
        session.out.print_error(error)
    except KeyboardInterrupt:
        session.out.side.print(Text("interrupted", style="dim"))


def _enable_line_editing() -> None:
    """Arrow keys and a memory, where Python has them."""
    try:
        import readline
    except ImportError:
        return
    readline.set_auto_history(True)
