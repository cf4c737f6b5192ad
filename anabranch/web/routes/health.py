"""Whether the process lives, whether it can work, and its metrics."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response

from anabranch.errors import AnabranchError
from anabranch.web.models import Checks, Health, Ready, error_responses
from anabranch.web.responses import json_response
from anabranch.web.routes.dependencies import Served, make_router
from anabranch.web.service import SchedulerState

STOPPED: SchedulerState = "stopped"
METRICS = "text/plain; version=0.0.4; charset=utf-8"

routes = make_router(tags=["health"])


@routes.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """The process lives; says nothing about the lake."""
    return json_response(Health("ok"))


@routes.get("/readyz", response_model=Ready, responses={**error_responses(), 503: {"model": Ready}})
def readyz(service: Served) -> Response:
    """Whether the catalog answers, and the scheduler runs if it should."""
    catalog, scheduler = "ok", STOPPED
    try:
        service.lake.pulse()
        scheduler = service.read_scheduler_state()
    except AnabranchError as error:
        catalog = str(error)
    ready = catalog == "ok" and not service.is_scheduler_down()
    return json_response(Ready(ready, Checks(catalog, scheduler)), 200 if ready else 503)


@routes.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={
        **error_responses(),
        200: {"content": {"text/plain": {}}, "description": "Prometheus' text format."},
    },
)
def metrics(service: Served) -> Response:
    """How fresh the stream tables are, what refreshes did, what was asked over HTTP."""
    return Response(service.metrics.render_text(), headers={"Content-Type": METRICS})
