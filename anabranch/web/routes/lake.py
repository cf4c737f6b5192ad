"""The lake as a whole: its graph, its history, its lists."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from anabranch.inspect.cycles import CycleStatus
from anabranch.inspect.fuses import FuseStatus
from anabranch.inspect.gates import SourceGate, SourceWatermark, WatermarkGroupInfo
from anabranch.inspect.groups import DiamondGroupMember, RefreshGroupInfo
from anabranch.inspect.history import RefreshRecord
from anabranch.web.models import GraphInfo, LakeInfo, error_responses
from anabranch.web.responses import json_response
from anabranch.web.routes.dependencies import Served, make_router

MAX_HISTORY = 1000

Limit = Annotated[int, Query(ge=1, le=MAX_HISTORY, description="How many, at most.")]

routes = make_router("/api/v1", tags=["lake"], responses=error_responses())


def anabranch_version() -> str:
    """Which release this is."""
    try:
        return version("anabranch")
    except PackageNotFoundError:  # run from its sources
        return "unknown"


@routes.get("/lake", response_model=LakeInfo)
def lake(service: Served) -> Response:
    """Which lake this is, and how it is served."""
    pulse, tables = service.lake.pulse(), service.lake.tables()
    stream_tables = len(service.lake.status())
    return json_response(
        LakeInfo(
            name=service.lake.name,
            anabranch_version=anabranch_version(),
            lsn=pulse.lsn,
            now=service.lake.clock.now().isoformat(),
            scheduler=service.read_scheduler_state(),
            reads_need_token=service.access.reads_need_token,
            stream_tables=stream_tables,
            sources=len(tables) - stream_tables,
        )
    )


@routes.get("/graph", response_model=GraphInfo)
def graph(service: Served) -> Response:
    """Every table with its status, who reads whom, and what moves together."""
    found = service.lake.graph()
    return json_response(
        GraphInfo(
            lsn=found.lsn,
            nodes=found.nodes,
            edges=found.edges,
            groups=tuple(service.lake.refresh_groups()),
            diamonds=tuple(service.lake.diamond_groups()),
            cycles=tuple(service.lake.scc_status()),
        )
    )


@routes.get("/history", response_model=list[RefreshRecord])
def history(service: Served, limit: Limit = 100) -> Response:
    """The newest refreshes of all stream tables, newest first."""
    return json_response(service.lake.refresh_history(limit=limit))


@routes.get("/gates", response_model=list[SourceGate])
def gates(service: Served) -> Response:
    """The sources that are gated, or were."""
    return json_response(service.lake.source_gates())


@routes.get("/watermarks", response_model=list[SourceWatermark])
def watermarks(service: Served) -> Response:
    """Up to which time each source is loaded."""
    return json_response(service.lake.watermarks())


@routes.get("/watermark-groups", response_model=list[WatermarkGroupInfo])
def watermark_groups(service: Served) -> Response:
    """The watermark groups, and whether their sources are aligned."""
    return json_response(service.lake.watermark_groups())


@routes.get("/groups", response_model=list[RefreshGroupInfo])
def groups(service: Served) -> Response:
    """The groups that were declared."""
    return json_response(service.lake.refresh_groups())


@routes.get("/diamonds", response_model=list[DiamondGroupMember])
def diamonds(service: Served) -> Response:
    """The stream tables that move together because data that flowed apart meets in them."""
    return json_response(service.lake.diamond_groups())


@routes.get("/cycles", response_model=list[CycleStatus])
def cycles(service: Served) -> Response:
    """The stream tables that are made from each other."""
    return json_response(service.lake.scc_status())


@routes.get("/fuses", response_model=list[FuseStatus])
def fuses(service: Served) -> Response:
    """The fuse of every stream table."""
    return json_response(service.lake.fuse_status())
