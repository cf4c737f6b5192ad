"""Sources: whether they are ready, and saying so."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body
from starlette.responses import Response

from anabranch.errors import UnknownTable
from anabranch.inspect.sources import SourceInfo
from anabranch.names import TableName
from anabranch.web.models import EmptyBody, GateBody, WatermarkBody, error_responses
from anabranch.web.responses import json_response
from anabranch.web.routes.dependencies import Served, make_router
from anabranch.web.service import Service

routes = make_router("/api/v1/sources", tags=["sources"], responses=error_responses())


@routes.get("", response_model=list[SourceInfo])
def sources(service: Served) -> Response:
    """Every source: whether it is ready, how far it is loaded, who reads it."""
    return json_response(service.lake.sources())


@routes.post("/{name}/gate", response_model=SourceInfo, responses=error_responses(404, 409, 415))
def gate(service: Served, name: str, body: Annotated[GateBody | None, Body()] = None) -> Response:
    """Say that it is not ready: what is made from it waits."""
    how = body or GateBody()
    service.lake.gate_source(name, how.auto_ungate_on_watermark)
    return _read_source(service, name)


@routes.post("/{name}/ungate", response_model=SourceInfo, responses=error_responses(404, 409, 415))
def ungate(service: Served, name: str, body: Annotated[EmptyBody | None, Body()] = None) -> Response:
    """Say that it is ready."""
    service.lake.ungate_source(name)
    return _read_source(service, name)


@routes.post("/{name}/watermark", response_model=SourceInfo, responses=error_responses(404, 409, 415))
def watermark(service: Served, name: str, body: WatermarkBody) -> Response:
    """Say up to which time it is loaded."""
    service.lake.advance_watermark(name, body.timestamp)
    return _read_source(service, name)


def _read_source(service: Service, name: str) -> Response:
    wanted = str(TableName.parse(name))
    found = next((source for source in service.lake.sources() if source.name == wanted), None)
    if found is None:
        raise UnknownTable(f'there is no source "{wanted}"')
    return json_response(found)
