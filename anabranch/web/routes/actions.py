"""Actions and events: work that goes on after its request, and what happens in the lake meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Body
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from anabranch.web.actions import ActionState
from anabranch.web.answers import answer
from anabranch.web.events import Client, message
from anabranch.web.models import ActionStarted, EmptyBody, problems
from anabranch.web.routes.served import Served, router
from anabranch.web.service import Service

routes = router("/api/v1", tags=["actions"], responses=problems())


@routes.post("/tick", response_model=ActionStarted, status_code=202, responses=problems(409, 415))
def tick(service: Served, body: Annotated[EmptyBody | None, Body()] = None) -> Response:
    """One pass of the scheduler. Where one leads already, nothing is done: that one leaves nothing due."""
    return answer(
        ActionStarted(
            service.actions.start("tick", None, lambda: service.lake.tick(observer=service.step)).id
        ),
        202,
    )


@routes.get("/actions/{action}", response_model=ActionState, responses=problems(404))
def action(service: Served, action: str) -> Response:
    """What became of an action; kept for an hour."""
    return answer(service.actions.get(action))


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
    client = service.events.join()
    return StreamingResponse(_stream(service, client, lsn), media_type="text/event-stream")


async def _stream(service: Service, client: Client, lsn: int) -> AsyncIterator[str]:
    try:
        async for text in client.messages(message("lake", {"lsn": lsn})):
            yield text
    finally:
        service.events.leave(client)
