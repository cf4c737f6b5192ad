"""Stream tables: how each is doing, what it is, how it is maintained; and what a person may do about it."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import Body
from starlette.responses import Response

from anabranch.inspect.definition import StreamTableInfo
from anabranch.inspect.explain import StreamTableExplanation
from anabranch.inspect.history import RefreshRecord
from anabranch.inspect.status import StreamTableStatus
from anabranch.lake import Lake
from anabranch.names import TableName
from anabranch.web.models import (
    ActionStarted,
    EmptyBody,
    ExplainInfo,
    OperatorInfo,
    RefreshBody,
    ResetFuseBody,
    error_responses,
)
from anabranch.web.responses import json_response
from anabranch.web.routes.dependencies import Served, make_router, read_stream_table_status
from anabranch.web.routes.lake import Limit

routes = make_router("/api/v1/stream-tables", tags=["stream tables"], responses=error_responses())


@routes.get("", response_model=list[StreamTableStatus])
def stream_tables(service: Served) -> Response:
    """How every stream table is doing."""
    return json_response(service.lake.status())


@routes.get("/{name}", response_model=StreamTableInfo, responses=error_responses(404))
def stream_table(service: Served, name: str) -> Response:
    """A stream table's definition, status and company. Never starts Spark."""
    return json_response(service.lake.describe_stream_table(name))


@routes.get("/{name}/explain", response_model=ExplainInfo, responses=error_responses(404, 409))
async def explain(service: Served, name: str) -> Response:
    """How a stream table is maintained. May start Spark, where a type depends on it."""
    # One at a time, in a thread of its own: whoever waits for Spark keeps nobody else waiting.
    explained = await to_thread.run_sync(_explain, service.lake, name, limiter=service.explaining)
    return json_response(_to_explain_info(explained))


def _explain(lake: Lake, name: str) -> StreamTableExplanation:
    # A name, not a query: text from outside is not worked out here.
    explained = lake.explain(read_stream_table_status(lake, name).name)
    assert isinstance(explained, StreamTableExplanation), "the name is that of a stream table"
    return explained


def _to_explain_info(explained: StreamTableExplanation) -> ExplainInfo:
    explanation = explained.explanation
    statements = [
        f"-- {part.table}{f': {step}' if step else ''}\n{text}"
        for part in explanation.parts
        for step, text in part.statements
    ]
    refusal = explanation.refusal
    return ExplainInfo(
        text=str(explained),
        incremental=explained.incremental,
        operators=tuple(
            OperatorInfo(
                depth=operator.depth,
                operator=operator.text,
                strategy=None if operator.choice is None else operator.choice.strategy,
                reason=None if operator.choice is None else operator.choice.reason,
                table=part.table,
            )
            for part in explanation.parts
            for operator in part.tree
        ),
        change_query="\n\n".join(statements) or None,
        why_not=None if refusal is None else " ".join(filter(None, (refusal.message, refusal.detail))),
    )


@routes.get("/{name}/history", response_model=list[RefreshRecord], responses=error_responses(404))
def history(service: Served, name: str, limit: Limit = 100) -> Response:
    """The newest refreshes of one stream table, newest first; those of a dropped one, too."""
    found = service.lake.refresh_history(name, limit)
    if not found:
        read_stream_table_status(service.lake, name)
    return json_response(found)


# -- changes --------------------------------------------------------------------------------------

Nothing = Annotated[EmptyBody | None, Body()]


@routes.post(
    "/{name}/refresh", response_model=ActionStarted, status_code=202, responses=error_responses(404, 409, 415)
)
def refresh(service: Served, name: str, body: Annotated[RefreshBody | None, Body()] = None) -> Response:
    """Bring it up to now. Answers at once; the action says how it went."""
    wanted, how = read_stream_table_status(service.lake, name).name, body or RefreshBody()
    work = partial(service.lake.refresh_stream_table, wanted, full=how.full, upstream=how.upstream)
    return json_response(ActionStarted(service.actions.start("refresh", wanted, work).id), 202)


@routes.post("/{name}/suspend", response_model=StreamTableStatus, responses=error_responses(404, 409, 415))
def suspend(service: Served, name: str, body: Nothing = None) -> Response:
    """Refresh it no more until it is resumed."""
    service.lake.suspend_stream_table(name)
    return json_response(read_stream_table_status(service.lake, name))


@routes.post("/{name}/resume", response_model=StreamTableStatus, responses=error_responses(404, 409, 415))
def resume(service: Served, name: str, body: Nothing = None) -> Response:
    """Refresh it again."""
    service.lake.resume_stream_table(name)
    return json_response(read_stream_table_status(service.lake, name))


@routes.post("/{name}/reset-fuse", response_model=StreamTableStatus, responses=error_responses(404, 409, 415))
def reset_fuse(service: Served, name: str, body: ResetFuseBody) -> Response:
    """Arm a blown fuse again, and say what becomes of the changes that it stopped."""
    service.lake.reset_fuse(str(TableName.parse(name)), body.action)
    return json_response(read_stream_table_status(service.lake, name))
