"""The OpenAPI document: what the framework finds out by itself, and what only the guard knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from anabranch.web.access import OPEN, READS

JSON = "application/json"
TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "The service's token. Reads need it only where others can reach the service.",
}


def openapi_builder(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """What makes the document, once."""

    def build_openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            made.setdefault("components", {})["securitySchemes"] = {"token": TOKEN}
            for path, methods in made["paths"].items():
                for method, operation in methods.items():
                    operation["security"] = _security(method.upper(), path)
                    _correct_contents(method.upper(), operation["responses"])
            app.openapi_schema = made
        return app.openapi_schema

    return build_openapi


def _security(method: str, path: str) -> list[dict[str, list[str]]]:
    if method in READS:
        return [] if path in OPEN else [{"token": []}, {}]
    return [{"token": []}]


def _correct_contents(method: str, responses: dict[str, dict[str, Any]]) -> None:
    """Whatever a route gives when all is well, its errors are JSON; answers to HEAD have no body at all."""
    for status, response in responses.items():
        content = response.get("content", {})
        if method == "HEAD":
            response.pop("content", None)
            continue
        if status.startswith(("4", "5")) and content and JSON not in content:
            response["content"] = {JSON: next(iter(content.values()))}
