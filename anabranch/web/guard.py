"""The guard at the door: every request passes it before a route sees it, every answer on its way out.

It checks who asks (see `access`), how often and how much, and puts the headers on that tell a browser what
the page may do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anabranch.clock import read_stopwatch
from anabranch.errors import (
    AnabranchError,
    InvalidRequest,
    NotJson,
    RequestTooLarge,
    TokenNeeded,
    TooManyRequests,
)
from anabranch.web.access import OPEN_BELOW, READS, WRONG, Access
from anabranch.web.metrics import Metrics
from anabranch.web.rate_limits import Rate, RateLimiter
from anabranch.web.responses import error_response

MAX_BODY = 64 * 1024
BODY_PATIENCE = 20.0
"""Seconds that a body may take to come."""
MAX_PATH = 4096

CHANGES = Rate(burst=60, per_second=10)
"""State changes of one client."""
GUESSES = Rate(burst=10, per_second=0.2)
"""Wrong tokens of one client."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """How often one client may do what."""

    changes: Rate = CHANGES
    guesses: Rate = GUESSES


def security_headers(path: str) -> dict[str, str]:
    """What every answer tells a browser."""
    page = path == "/" or path.startswith(OPEN_BELOW)
    return {
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache" if page else "no-store",
    }


class Guard:
    """ASGI middleware around all routes."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits, metrics: Metrics) -> None:
        self._app = app
        self._access = access
        self._metrics = metrics
        self._changes = RateLimiter(limits.changes, read_stopwatch)
        self._guesses = RateLimiter(limits.guesses, read_stopwatch)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})  # there are none
            return
        started, status = read_stopwatch(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in security_headers(scope["path"]).items():
                    headers[name] = value
            await send(message)

        try:
            try:
                body = await self._admit_request(scope, receive)
            except AnabranchError as error:
                headers = {"Retry-After": "5"} if isinstance(error, TooManyRequests) else {}
                headers |= {"Connection": "close"} if isinstance(error, RequestTooLarge) else {}
                await error_response(error, scope["path"], headers)(scope, receive, send_with_headers)
            else:
                await self._app(
                    scope, receive if body is None else _replay_body(body, receive), send_with_headers
                )
        finally:
            self._record_request(scope, status, read_stopwatch() - started)

    async def _admit_request(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body of a request that may pass, None if it wasn't read; else an error is raised."""
        method, headers, client = scope["method"], Headers(scope=scope), _client_address(scope)
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_PATH:
            raise InvalidRequest(f"the address is longer than {MAX_PATH} characters")
        tokens = self._access.needs_token(method, scope["path"])
        if tokens and self._guesses.is_exhausted(client):
            raise TooManyRequests("too many wrong tokens came from this address", hint="wait a few seconds.")
        try:
            self._access.check_request(method, scope["path"], headers)
        except TokenNeeded as error:
            if error.message == WRONG:
                self._guesses.take(client)
            raise
        if method not in READS and not self._changes.take(client):
            raise TooManyRequests("too many changes are asked for at once", hint="wait a second.")
        if method in READS:
            return None  # no route looks at one
        body = await _await_body(_read_body(headers, receive))
        if body:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise NotJson("the body of a request must be application/json")
        return body

    def _record_request(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        self._metrics.count_request(scope["method"], route, status, seconds)
        if scope["method"] not in READS:
            fields: Mapping[str, object] = {
                "event": "request",
                "method": scope["method"][:16],
                "path": scope["path"][:300],
                "status": status,
                "seconds": round(seconds, 6),
                "client": _client_address(scope),
            }
            log.info("request", extra={"fields": fields})


def _client_address(scope: Scope) -> str:
    """The address that a request comes from."""
    return str(scope["client"][0]) if scope.get("client") else ""


async def _await_body(body: Coroutine[None, None, bytes]) -> bytes:
    try:
        return await asyncio.wait_for(body, BODY_PATIENCE)
    except TimeoutError as error:
        raise InvalidRequest("the body didn't come in time") from error


async def _read_body(headers: Headers, receive: Receive) -> bytes:
    """All of the body, as long as it is small enough: what it says of its size need not be true."""
    declared = headers.get("content-length", "0")
    if declared.isdigit() and int(declared[:20]) > MAX_BODY:
        raise RequestTooLarge(f"the body is larger than {MAX_BODY} bytes")
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            raise RequestTooLarge(f"the body is larger than {MAX_BODY} bytes")
        more = message.get("more_body", False)
    return body


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """What is left to receive once the body has been read."""
    given = False

    async def receive_replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_replayed
