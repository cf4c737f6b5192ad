"""The application: all routes behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from anabranch.clock import new_token
from anabranch.errors import AnabranchError, InvalidRequest, ServiceFailed, UnknownRoute, WrongMethod
from anabranch.lake import Lake
from anabranch.web.access import Access
from anabranch.web.guard import Guard, Limits, security_headers
from anabranch.web.openapi import openapi_builder
from anabranch.web.responses import AsciiJsonResponse, error_response
from anabranch.web.routes import actions, health, iceberg, sources, stream_tables, tables
from anabranch.web.routes import lake as lake_routes
from anabranch.web.service import Service

GRACE = 30.0
"""Seconds that a refresh has to finish when the service stops."""
THREADS = 8
"""Requests that look at the lake at a time; each takes a connection of the catalog's pool."""
PAGE = Path(__file__).parent / "static"

DESCRIPTION = """\
The lake over HTTP. Reads are open on this machine and need the token elsewhere; changes always need it, as
`Authorization: Bearer …`. Errors have a stable code, a message, and where useful a detail and a hint.
"""


def build_app(
    lake: Lake,
    *,
    token: str | None = None,
    host: str = "127.0.0.1",
    allow_hosts: Sequence[str] = (),
    scheduler: bool = False,
    limits: Limits | None = None,
    grace: float = GRACE,
) -> FastAPI:
    """The application that serves a lake at `host`; its scheduler and watcher live as long as it does."""
    access = Access.for_host(
        new_token() if token is None else token,
        host=host,
        allow_hosts=tuple(allow_hosts),
        chosen=token is not None,
    )
    service = Service(lake, access, scheduler=scheduler)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        service.start()
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(service.close, grace)

    app = FastAPI(
        title="Anabranch",
        version=lake_routes.anabranch_version(),
        description=DESCRIPTION,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        default_response_class=AsciiJsonResponse,
        redirect_slashes=False,
    )
    app.state.service = service
    for module in (health, lake_routes, stream_tables, tables, sources, actions, iceberg):
        app.include_router(module.routes)
    _add_page_routes(app)
    _add_error_handlers(app)
    app.openapi = openapi_builder(app)  # type: ignore[method-assign]
    app.add_middleware(Guard, access=access, limits=limits or Limits(), metrics=service.metrics)
    return app


def _add_page_routes(app: FastAPI) -> None:
    """The page's shell at `/`, what it needs below `/static/`."""

    async def page() -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html")

    if (PAGE / "index.html").is_file():
        app.add_api_route("/", page, include_in_schema=False)
        app.mount("/static", StaticFiles(directory=PAGE), name="static")


def _add_error_handlers(app: FastAPI) -> None:
    """Every error is JSON of one form."""

    async def handle_lake_error(request: Request, error: AnabranchError) -> Response:
        return error_response(error, request.url.path)

    async def handle_invalid_request(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return error_response(
            InvalidRequest("the request can't be read", detail=f"{where}: {first['msg']}"), request.url.path
        )

    async def handle_routing_error(request: Request, error: HTTPException) -> Response:
        match error.status_code:
            case 404:
                return error_response(UnknownRoute("there is nothing at this address"), request.url.path)
            case 405:
                return error_response(
                    WrongMethod("this address doesn't take that method"), request.url.path, error.headers
                )
        return error_response(
            InvalidRequest("the request can't be read", detail=str(error.detail)), request.url.path
        )

    async def handle_unexpected_error(request: Request, _error: Exception) -> Response:
        failed = ServiceFailed("the service failed to answer", hint="its log says why.")
        return error_response(failed, request.url.path, security_headers(request.url.path))

    app.add_exception_handler(AnabranchError, handle_lake_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, handle_invalid_request)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, handle_routing_error)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, handle_unexpected_error)
