"""What is sent back: JSON for values, and for errors a status that fits their kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

from anabranch import errors
from anabranch.errors import AnabranchError
from anabranch.jsonable import to_jsonable

ICEBERG = "/iceberg/"
"""Below this path errors have the form that Iceberg's REST catalogs give them."""

STATUS: Mapping[type[AnabranchError], int] = {
    AnabranchError: 400,
    errors.UnknownTable: 404,
    errors.NameTaken: 409,
    errors.CommitError: 503,
    errors.WriteConflict: 409,
    errors.StorageError: 500,
    errors.VersionExpired: 410,
    errors.EngineError: 500,
    errors.StreamTableError: 409,
    errors.UnknownStreamTable: 404,
    errors.InvalidOption: 400,
    errors.GateError: 409,
    errors.InvalidWatermark: 400,
    errors.FuseError: 400,
    errors.FuseNotBlown: 409,
    errors.TokenNeeded: 401,
    errors.ForeignOrigin: 403,
    errors.ForeignHost: 421,
    errors.RequestTooLarge: 413,
    errors.NotJson: 415,
    errors.InvalidRequest: 422,
    errors.TooManyRequests: 429,
    errors.AlreadyRunning: 409,
    errors.UnknownAction: 404,
    errors.UnknownRoute: 404,
    errors.WrongMethod: 405,
    errors.ServiceBusy: 503,
    errors.ServiceFailed: 500,
}
"""An error that isn't named has the status of the nearest kind that is."""

_ICEBERG_TYPES = {
    400: "BadRequestException",
    401: "NotAuthorizedException",
    403: "ForbiddenException",
    404: "NoSuchTableException",
    405: "UnsupportedOperationException",
    429: "SlowDownException",
    503: "ServiceUnavailableException",
}


class AsciiJsonResponse(JSONResponse):
    """JSON in plain ASCII: text that is no valid Unicode gets through, too."""

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def json_response(value: object, status: int = 200) -> AsciiJsonResponse:
    """A value of the lake's as JSON."""
    return AsciiJsonResponse(to_jsonable(value), status)


def http_status(error: AnabranchError) -> int:
    """The HTTP status of an error."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def error_response(
    error: AnabranchError, path: str, headers: Mapping[str, str] | None = None
) -> AsciiJsonResponse:
    """An error, in the form that is used below `path`."""
    status = http_status(error)
    extra = dict(headers or {})
    if status == 401:
        extra["WWW-Authenticate"] = "Bearer"
    if path.startswith(ICEBERG):
        kind = _ICEBERG_TYPES.get(
            status, "BadRequestException" if status < 500 else "ServiceFailureException"
        )
        content: Any = {"error": {"message": str(error), "type": kind, "code": status}}
    else:
        content = {"error": error_fields(error)}
    return AsciiJsonResponse(content, status, extra)


def error_fields(error: AnabranchError) -> dict[str, str | None]:
    """An error as JSON has it."""
    return {"code": error.code, "message": error.message, "detail": error.detail, "hint": error.hint}
