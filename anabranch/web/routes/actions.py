"""Actions and events: work that goes on after its request, and what happens in the lake meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Body
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from anabranch.web.actions import ActionState
from anabranch.web.events import Client, format_event
from anabranch.web.models import ActionStarted, EmptyBody, error_responses
from anabranch.web.responses import json_response
from anabranch.web.routes.dependencies import Served, make_router
from anabranch.web.service import Service

routes = make_router("/api/v1", tags=["actions"], responses=error_responses())


@routes.post("/tick", response_model=ActionStarted, status_code=202, responses=error_responses(409, 415))
def tick(service: Served, body: Annotated[EmptyBody | None, Body()] = None) -> Response:
    """One pass of the scheduler. Where one leads already, nothing is done: that one leaves nothing due."""
    return json_response(
        ActionStarted(
            service.actions.start("tick", None, lambda: service.lake.tick(observer=service.record_step)).id
        ),
        202,
    )


@routes.get("/actions/{action}", response_model=ActionState, responses=error_responses(404))
def action(service: Served, action: str) -> Response:
    """What became of an action; kept for an hour."""
    return json_response(service.actions.get(action))


@routes.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
            "description": "Events `lake`, `step` and `action`, and a comment every 15 seconds.",
        }
    },
)
async def events(service: Served) -> Response:
    """A stream of server-sent events, for as long as the client listens."""
    lsn = (await run_in_threadpool(service.lake.pulse)).lsn
    client = service.events.open_stream()
    return StreamingResponse(_stream_events(service, client, lsn), media_type="text/event-stream")


async def _stream_events(service: Service, client: Client, lsn: int) -> AsyncIterator[str]:
    try:
        async for text in client.stream_messages(format_event("lake", {"lsn": lsn})):
            yield text
    finally:
        service.events.close_stream(client)
