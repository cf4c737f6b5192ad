"""Definitions in .py files. Such a file is run, as the user's own code: it may do all that its user may."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from anabranch.errors import AnabranchError, InvalidDefinitionFile
from anabranch.names import TableName
from anabranch.project.decorator import StreamTableDeclaration, collect_declarations
from anabranch.project.definitions import Definition, name_file_in_errors, stream_table_definition

MODULE = "anabranch_project_file"
"""What a file is called while it runs."""
Given = TypeVar("Given")


def read_python_file(folder: Path, name: str, text: str) -> list[Definition]:
    """The definitions in a file, in its order. Files beside it may be imported."""
    path = str(folder / name)
    module = ModuleType(MODULE)
    module.__file__ = path
    try:
        code = compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InvalidDefinitionFile(
            f"{name} is no Python: {getattr(error, 'msg', error)}",
            detail=f"{name}, line {line}." if line else None,
        ) from error
    with _allow_imports(folder, Path(path).parent, module), collect_declarations() as declared:
        _run_user_code(name, path, lambda: exec(code, module.__dict__))  # noqa: S102  (it is what such files are for)
        return [
            _evaluate_declaration(name, path, each)
            for each in declared
            if _line_in_file(each, path) is not None
        ]


def _evaluate_declaration(file: str, path: str, declared: StreamTableDeclaration) -> Definition:
    place = f"{file}, line {_line_in_file(declared, path)}"
    query = _run_user_code(file, path, declared.function)
    if not isinstance(query, str):
        raise InvalidDefinitionFile(
            f'the function of the stream table "{declared.name}" gives no text',
            detail=f"{place}: it gives a {type(query).__name__}.",
            hint="return the query as SQL.",
        )
    with name_file_in_errors(place):
        return stream_table_definition(TableName.parse(declared.name), query, declared.options, place)


def _line_in_file(declared: StreamTableDeclaration, path: str) -> int | None:
    """Where the function stands, if it stands in the file itself and not in one that it imports."""
    code = getattr(declared.function, "__code__", None)
    return code.co_firstlineno if code is not None and code.co_filename == path else None


def _run_user_code(file: str, path: str, act: Callable[[], Given]) -> Given:
    try:
        return act()
    except AnabranchError as error:
        with name_file_in_errors(f"{file}, line {_failing_line(error, path)}"):
            raise
    except (Exception, SystemExit) as error:
        raise InvalidDefinitionFile(
            f"{file} failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}",
            detail=f"{file}, line {_failing_line(error, path)}.",
        ) from error


def _failing_line(error: BaseException, path: str) -> int:
    """The line of the file that the error passed through last."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


@contextmanager
def _allow_imports(folder: Path, beside: Path, module: ModuleType) -> Iterator[None]:
    """Let the file import what stands beside it and in the project's folder; the next file finds it anew."""
    path, before = list(sys.path), set(sys.modules)
    sys.path[:0] = list(dict.fromkeys([str(beside), str(folder)]))
    sys.modules[MODULE] = module
    try:
        yield
    finally:
        sys.path[:] = path
        for name in sys.modules.keys() - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder):
                del sys.modules[name]
