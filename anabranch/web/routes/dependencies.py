"""What every route starts from: the service that its application was built for."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from anabranch.errors import UnknownStreamTable
from anabranch.inspect.status import StreamTableStatus
from anabranch.lake import Lake
from anabranch.names import TableName
from anabranch.web.responses import AsciiJsonResponse
from anabranch.web.service import Service


async def get_service(request: Request) -> Service:
    """The service behind a request."""
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(get_service)]
"""Routes are module-level functions; this is how they get at the service."""


def make_router(prefix: str = "", **options: Any) -> APIRouter:
    """Routes whose answers are made by `answer`."""
    return APIRouter(prefix=prefix, default_response_class=AsciiJsonResponse, **options)


def read_stream_table_status(lake: Lake, name: str) -> StreamTableStatus:
    """How a stream table is doing, or the error that says there is none."""
    wanted = str(TableName.parse(name))
    found = next((entry for entry in lake.status() if entry.name == wanted), None)
    if found is None:
        raise UnknownStreamTable(f'there is no stream table "{wanted}"')
    return found
