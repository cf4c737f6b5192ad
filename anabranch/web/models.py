"""What the service takes and gives beside the lake's own values; the OpenAPI document is made from these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from anabranch.inspect.cycles import CycleStatus
from anabranch.inspect.graph_data import GraphEdge, GraphNode
from anabranch.inspect.groups import DiamondGroupMember, RefreshGroupInfo
from anabranch.web.service import SchedulerState

# -- given ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErrorFields:
    """What went wrong, in the lake's words."""

    code: str
    message: str
    detail: str | None
    hint: str | None


@dataclass(frozen=True)
class ErrorAnswer:
    """A request that was refused, or that failed."""

    error: ErrorFields


@dataclass(frozen=True)
class Health:
    """The process lives."""

    status: Literal["ok"]


@dataclass(frozen=True)
class Checks:
    """What readiness depends on."""

    catalog: str
    """`ok`, or what is wrong."""
    scheduler: SchedulerState


@dataclass(frozen=True)
class Ready:
    """Whether the service can do its work."""

    ready: bool
    checks: Checks


@dataclass(frozen=True)
class LakeInfo:
    """The lake that is served."""

    name: str
    anabranch_version: str
    lsn: int
    now: str
    scheduler: SchedulerState
    reads_need_token: bool
    stream_tables: int
    sources: int


@dataclass(frozen=True)
class GraphInfo:
    """Every table at one moment, who reads whom, and what moves together."""

    lsn: int
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    groups: tuple[RefreshGroupInfo, ...]
    diamonds: tuple[DiamondGroupMember, ...]
    cycles: tuple[CycleStatus, ...]


@dataclass(frozen=True)
class OperatorInfo:
    """One operator of a query: how its change is computed, and why so."""

    depth: int
    operator: str
    strategy: str | None
    """None for a part that stands above already."""
    reason: str | None
    table: str
    """The stored table that it is a part of: the stream table, or state that nobody sees."""


@dataclass(frozen=True)
class ExplainInfo:
    """How a stream table is maintained."""

    text: str
    incremental: bool
    operators: tuple[OperatorInfo, ...]
    change_query: str | None
    why_not: str | None


@dataclass(frozen=True)
class ActionStarted:
    """An action that runs; its state is at `/api/v1/actions/{id}`."""

    action: str


# -- taken ----------------------------------------------------------------------------------------


class Body(BaseModel):
    """A JSON object that has no other fields than these, in exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RefreshBody(Body):
    """How to refresh."""

    full: bool = Field(False, description="Compute it from nothing.")
    upstream: bool = Field(True, description="Refresh what is stale upstream first.")


class ResetFuseBody(Body):
    """What becomes of the changes that blew a fuse."""

    action: Literal["apply", "reinitialize", "skip_changes"]


class GateBody(Body):
    """How to gate a source."""

    auto_ungate_on_watermark: bool = Field(False, description="The first watermark opens it again.")


class WatermarkBody(Body):
    """Up to which time a source is loaded."""

    timestamp: str = Field(
        min_length=1, max_length=64, description="ISO 8601.", examples=["2030-01-01T00:00:00Z"]
    )


class EmptyBody(Body):
    """Nothing: the route takes no arguments."""


class IcebergErrorFields(BaseModel):
    """What went wrong, as Iceberg's specification says it."""

    message: str
    type: str
    code: int


class IcebergError(BaseModel):
    """A request to the Iceberg REST catalog that was refused, or that failed."""

    error: IcebergErrorFields


class IcebergModel(BaseModel):
    """An answer of the Iceberg REST catalog; see its specification for the fields."""

    model_config = ConfigDict(extra="allow")


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": meaning}
    for status, meaning in {
        400: "A name or a value that can't be taken.",
        401: "The token is missing, or another one.",
        403: "The request comes from a page of another site.",
        404: "There is nothing of that name.",
        409: "Not in this state: it is held, or runs already.",
        410: "The version is no longer kept.",
        413: "The body is too large.",
        415: "The body is not declared as JSON.",
        421: "The service doesn't answer to that host.",
        422: "The body or a parameter can't be read.",
        429: "Too many at once; try again later.",
        500: "The lake's files or Spark failed.",
        503: "The catalog can't be reached, or too much waits.",
    }.items()
}
"""What any route may answer instead."""


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Those that a route may answer with, beside those that all may."""
    always = (400, 401, 403, 413, 421, 422, 429, 500, 503)
    return {status: ERRORS[status] for status in sorted({*always, *statuses})}
