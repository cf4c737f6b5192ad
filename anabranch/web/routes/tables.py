"""Rows of any table, to look at."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from anabranch.jsonable import to_jsonable
from anabranch.read.preview import Preview
from anabranch.web.models import error_responses
from anabranch.web.responses import AsciiJsonResponse
from anabranch.web.routes.dependencies import Served, make_router

MAX_ROWS = 500
MAX_TEXT = 10_000
"""Characters of a value that are shown."""
_EXACT = 2**53
"""Beyond this, whole numbers are sent as text: a browser would round them."""

Rows = Annotated[int, Query(ge=0, le=MAX_ROWS, description="How many, at most.")]

routes = make_router("/api/v1/tables", tags=["tables"], responses=error_responses(404, 410))


@routes.get("/{name}/rows", response_model=Preview)
def rows(service: Served, name: str, limit: Rows = 50) -> Response:
    """Some rows of a source or a stream table, in no order. Never starts Spark.

    Decimals, and whole numbers beyond 2^53, are text; times are ISO 8601; bytes are Base64; a value that is
    very long is cut.
    """
    found = service.lake.preview(name, limit)
    shown = [[_shorten_value(to_jsonable(value)) for value in row] for row in found.rows]
    return AsciiJsonResponse(
        {
            "columns": to_jsonable(found.columns),
            "rows": shown,
            "total_rows": found.total_rows,
            "lsn": found.lsn,
        }
    )


def _shorten_value(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int() if abs(value) >= _EXACT:
            return str(value)
        case str() if len(value) > MAX_TEXT:
            return value[:MAX_TEXT] + "…"
        case list():
            return [_shorten_value(entry) for entry in value[:MAX_TEXT]]
        case dict():
            return {key: _shorten_value(entry) for key, entry in value.items()}
    return value
