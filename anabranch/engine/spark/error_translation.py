"""Translates Spark's errors into those of anabranch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, ParseException, PySparkException

from anabranch.engine.spark.expressions import NOT_NULL_MARK
from anabranch.errors import (
    AnabranchError,
    EngineFailed,
    EngineMemory,
    InvalidQuery,
    InvalidValue,
    NullNotAllowed,
    SqlSyntax,
)

_BAD_VALUE = re.compile(
    r"^(CAST_|NUMERIC_|ARITHMETIC_OVERFLOW|INVALID_COLUMN_OR_FIELD_DATA_TYPE|DATETIME_OVERFLOW"
    r"|NULLABLE_COLUMN_OR_FIELD|INCOMPATIBLE_DATA)"
)
_NO_MEMORY = ("UNABLE_TO_ACQUIRE_MEMORY", "HASH_MAP_CANNOT_GROW", "AGGREGATE_OUT_OF_MEMORY")
_JAVA_EXCEPTION = re.compile(r"^: (?:[\w.$]+: )?([^\n]+)", re.MULTILINE)
_TOO_LARGE_TO_SEND = re.compile("Not enough memory to build and broadcast|Cannot broadcast the table")
"""Spark gives this error no condition to recognise it by."""


@contextmanager
def translate_errors(table: str | None = None) -> Iterator[None]:
    """Raise Spark's errors as an `AnabranchError`: code, one line, detail; the cause stays attached."""
    try:
        yield
    except AnabranchError:
        raise
    except (PySparkException, Py4JError) as error:
        # Errors for which classic Spark has no class come as Java exceptions.
        raise _to_anabranch_error(error, table) from error


def _to_anabranch_error(error: PySparkException | Py4JError, table: str | None) -> AnabranchError:
    message = _error_message(error)
    condition = (error.getCondition() if isinstance(error, PySparkException) else None) or ""
    condition = condition or _error_condition(message) or ""
    if NOT_NULL_MARK in message:
        path = message.split(NOT_NULL_MARK, 1)[1].split()[0].strip("'\".;")
        return NullNotAllowed(f'"{path}" is NOT NULL', detail="a row has no value there.")
    if isinstance(error, ParseException):
        return SqlSyntax("Spark can't read the statement", detail=message)
    if _BAD_VALUE.match(condition):
        where = f' "{table}"' if table else ""
        return InvalidValue(f"a value doesn't fit{where}", detail=message)
    if isinstance(error, AnalysisException):
        return InvalidQuery("Spark refuses the statement", detail=message)
    if condition in _NO_MEMORY or _TOO_LARGE_TO_SEND.search(str(error)):
        return EngineMemory("a task of Spark's ran out of memory", detail=message)
    return EngineFailed("Spark failed", detail=message)


def _error_message(error: PySparkException | Py4JError) -> str:
    text = str((error.getMessage() if isinstance(error, PySparkException) else None) or error)
    found = re.search(r"\[[A-Z][A-Z0-9_.]+\][^\n]*", text)
    if found is not None:
        line = found.group(0)
    else:
        # The first line of an error from another Java thread says only where it was noticed.
        causes = re.findall(r"^Caused by: [\w.$]+: ([^\n]+)", text, re.MULTILINE)
        # And that of an error from Java only which method was called.
        causes = causes or _JAVA_EXCEPTION.findall(text)
        line = causes[-1] if causes else text.strip().partition("\n")[0]
    return line[:600]


def _error_condition(message: str) -> str | None:
    found = re.match(r"\[([A-Z][A-Z0-9_.]+)\]", message)
    return found.group(1) if found else None
