"""An Iceberg REST catalog, for reading: what is loaded is each table's current version.

Other clients attach here (pyiceberg, Spark, Trino, DuckDB). They read the files themselves, from the lake's
warehouse. State that nobody sees is not listed, and hidden columns are in no schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query, Request
from starlette.responses import Response

from anabranch.errors import InvalidName, UnknownTable, WrongMethod
from anabranch.lake import Lake
from anabranch.names import DEFAULT_NAMESPACE, TableName
from anabranch.web.models import IcebergError, IcebergModel, error_responses
from anabranch.web.responses import AsciiJsonResponse, error_response
from anabranch.web.routes.dependencies import Served, make_router

_TABLE = "/namespaces/{namespace}/tables/{table}"
ENDPOINTS = (
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}" + _TABLE,
    "HEAD /v1/{prefix}" + _TABLE,
)
"""What clients may ask for; what isn't here they don't try."""

NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": IcebergError, "description": "There is nothing of that name."}
}

routes = make_router(
    "/iceberg/v1",
    tags=["iceberg"],
    responses={status: {**known, "model": IcebergError} for status, known in error_responses().items()},
)


@routes.get("/config", response_model=IcebergModel)
async def config() -> Response:
    """What this catalog can do. It has no settings, and no prefix."""
    return AsciiJsonResponse({"defaults": {}, "overrides": {}, "endpoints": ENDPOINTS})


Parent = Annotated[str | None, Query(max_length=300, description="A namespace. None has others in it.")]


@routes.get("/namespaces", response_model=IcebergModel, responses=NOT_FOUND)
def namespaces(service: Served, parent: Parent = None) -> Response:
    """Every namespace; they are not nested."""
    known = _read_namespaces(service.lake)
    if parent:
        return AsciiJsonResponse({"namespaces": []}) if parent in known else _namespace_not_found(parent)
    return AsciiJsonResponse({"namespaces": [[name] for name in sorted(known)]})


@routes.get("/namespaces/{namespace}", response_model=IcebergModel, responses=NOT_FOUND)
def namespace(service: Served, namespace: str) -> Response:
    """One namespace; it has no properties."""
    if namespace not in _read_namespaces(service.lake):
        return _namespace_not_found(namespace)
    return AsciiJsonResponse({"namespace": [namespace], "properties": {}})


@routes.head("/namespaces/{namespace}", status_code=204, response_class=Response, responses=NOT_FOUND)
def namespace_exists(service: Served, namespace: str) -> Response:
    """Whether there is such a namespace."""
    return Response(status_code=204 if namespace in _read_namespaces(service.lake) else 404)


@routes.get("/namespaces/{namespace}/tables", response_model=IcebergModel, responses=NOT_FOUND)
def tables(service: Served, namespace: str) -> Response:
    """The sources and stream tables of a namespace."""
    known = _read_namespaces(service.lake)
    if namespace not in known:
        return _namespace_not_found(namespace)
    return AsciiJsonResponse(
        {"identifiers": [{"namespace": [namespace], "name": name} for name in sorted(known[namespace])]}
    )


Snapshots = Annotated[Literal["all", "refs"], Query(description="All that are kept, or the current one.")]


@routes.get(_TABLE, response_model=IcebergModel, responses=NOT_FOUND)
def table(service: Served, namespace: str, table: str, snapshots: Snapshots = "all") -> Response:
    """A table's current version, as Iceberg metadata."""
    try:
        found = service.lake.iceberg_table(f"{namespace}.{table}", refs_only=snapshots == "refs")
    except (InvalidName, UnknownTable):
        return _not_found("NoSuchTableException", f"there is no table {ascii(table)[:150]}")
    return AsciiJsonResponse(
        {"metadata-location": found.metadata_location, "metadata": found.metadata, "config": {}},
    )


@routes.head(_TABLE, status_code=204, response_class=Response, responses=NOT_FOUND)
def table_exists(service: Served, namespace: str, table: str) -> Response:
    """Whether there is such a table."""
    return Response(status_code=204 if table in _read_namespaces(service.lake).get(namespace, ()) else 404)


@routes.api_route(
    "/{rest:path}", methods=["POST", "PUT", "PATCH", "DELETE"], include_in_schema=False, status_code=405
)
async def write(request: Request) -> Response:
    """Whatever writes: no. Rows come in through the lake, which knows what has to move with them."""
    refused = WrongMethod("this catalog is only read from", hint="write through the lake.")
    return error_response(refused, request.url.path, {"Allow": "GET, HEAD"})


def _read_namespaces(lake: Lake) -> dict[str, list[str]]:
    """The tables of each namespace; the default one is always there."""
    found: dict[str, list[str]] = {DEFAULT_NAMESPACE: []}
    for info in lake.tables():
        name = TableName.parse(info.name)
        found.setdefault(name.namespace, []).append(name.table)
    return found


def _namespace_not_found(name: str) -> Response:
    return _not_found("NoSuchNamespaceException", f"there is no namespace {ascii(name)[:150]}")


def _not_found(kind: str, message: str) -> Response:
    return AsciiJsonResponse({"error": {"message": message, "type": kind, "code": 404}}, 404)
