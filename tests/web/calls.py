"""How every route is called when all is well; what is new fails the tests until it stands here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI


@dataclass(frozen=True)
class Call:
    """A request that succeeds."""

    method: str
    route: str
    """The path as the application has it."""
    values: dict[str, str] = field(default_factory=dict)
    body: Any = None
    status: int = 200
    open: bool = False
    """Whether it needs no token even where reads do."""
    endless: bool = False
    """A stream: it ends when the client does."""

    @property
    def path(self) -> str:
        """The path with its values in place."""
        return self.filled(**self.values)

    @property
    def changes(self) -> bool:
        """Whether it is a request for a change."""
        return self.method not in ("GET", "HEAD")

    def filled(self, **values: str) -> str:
        """The path with these values."""
        path = self.route.replace("{rest:path}", "{rest}")
        for name, value in (self.values | values).items():
            path = path.replace("{" + name + "}", value)
        return path


API, ICEBERG = "/api/v1", "/iceberg/v1"
STREAM = {"name": "by_region"}
SOURCE = {"name": "orders"}
SPACE = {"namespace": "main"}
TABLE = {"namespace": "main", "table": "orders"}

CALLS = (
    Call("GET", "/healthz", open=True),
    Call("GET", "/readyz"),
    Call("GET", "/metrics"),
    Call("GET", "/openapi.json"),
    Call("HEAD", "/openapi.json"),
    Call("GET", f"{API}/lake"),
    Call("GET", f"{API}/graph"),
    Call("GET", f"{API}/history"),
    Call("GET", f"{API}/gates"),
    Call("GET", f"{API}/watermarks"),
    Call("GET", f"{API}/watermark-groups"),
    Call("GET", f"{API}/groups"),
    Call("GET", f"{API}/diamonds"),
    Call("GET", f"{API}/cycles"),
    Call("GET", f"{API}/fuses"),
    Call("GET", f"{API}/sources"),
    Call("GET", f"{API}/events", endless=True),
    Call("GET", f"{API}/stream-tables"),
    Call("GET", API + "/stream-tables/{name}", STREAM),
    Call("GET", API + "/stream-tables/{name}/explain", STREAM),
    Call("GET", API + "/stream-tables/{name}/history", STREAM),
    Call("GET", API + "/tables/{name}/rows", STREAM),
    Call("GET", API + "/actions/{action}", {"action": "0" * 32}, status=404),
    Call("POST", API + "/stream-tables/{name}/refresh", STREAM, {"full": False, "upstream": True}, 202),
    Call("POST", API + "/stream-tables/{name}/suspend", {"name": "sales.names"}, {}),
    Call("POST", API + "/stream-tables/{name}/resume", {"name": "sales.names"}, {}),
    Call("POST", API + "/stream-tables/{name}/reset-fuse", {"name": "report"}, {"action": "apply"}, 409),
    Call("POST", API + "/sources/{name}/gate", SOURCE, {"auto_ungate_on_watermark": False}),
    Call("POST", API + "/sources/{name}/ungate", SOURCE, {}),
    Call("POST", API + "/sources/{name}/watermark", SOURCE, {"timestamp": "2030-01-01T00:00:00Z"}),
    Call("POST", f"{API}/tick", body={}, status=202),
    Call("GET", f"{ICEBERG}/config"),
    Call("GET", f"{ICEBERG}/namespaces"),
    Call("GET", ICEBERG + "/namespaces/{namespace}", SPACE),
    Call("HEAD", ICEBERG + "/namespaces/{namespace}", SPACE, status=204),
    Call("GET", ICEBERG + "/namespaces/{namespace}/tables", SPACE),
    Call("GET", ICEBERG + "/namespaces/{namespace}/tables/{table}", TABLE),
    Call("HEAD", ICEBERG + "/namespaces/{namespace}/tables/{table}", TABLE, status=204),
    Call("POST", ICEBERG + "/{rest:path}", {"rest": "namespaces"}, {}, 405),
    Call("PUT", ICEBERG + "/{rest:path}", {"rest": "namespaces"}, {}, 405),
    Call("PATCH", ICEBERG + "/{rest:path}", {"rest": "namespaces"}, {}, 405),
    Call("DELETE", ICEBERG + "/{rest:path}", {"rest": "namespaces"}, {}, 405),
)
PAGE = {("GET", "/"), ("GET", "/static")}
"""The page's own files, which are tested where the page is."""


def routes_of(app: FastAPI) -> set[tuple[str, str]]:
    """Method and path of every route of the application."""
    found: set[tuple[str, str]] = set()
    pending: list[Any] = list(app.routes)
    for route in pending:
        if (inner := getattr(route, "original_router", None)) is not None:
            pending += inner.routes
        else:
            found |= {(method, route.path) for method in getattr(route, "methods", None) or {"GET"}}
    return found
