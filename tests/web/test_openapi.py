"""The OpenAPI document: complete, true to the dataclasses, and true to what the service answers."""

from __future__ import annotations

import dataclasses
import re
import warnings

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from anabranch.errors import every_error
from anabranch.web.app import build_app
from anabranch.web.models import ERRORS
from anabranch.web.responses import STATUS, http_status
from tests.web.calls import CALLS
from tests.web.conftest import BEARER, TOKEN, UNLIMITED

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=200, derandomize=False)


@pytest.fixture(scope="module")
def app(standing):
    return build_app(standing, token=TOKEN, limits=UNLIMITED, allow_hosts=["testserver"])


@pytest.fixture(scope="module")
def document(app) -> dict:
    return app.openapi()


@pytest.fixture(scope="module")
def api(app):
    """The document, without the stream that never ends."""
    return schemathesis.openapi.from_asgi("/openapi.json", app).exclude(path_regex="/events$")


def ask(api, how: settings) -> None:
    """Ask for everything that the document describes, with values drawn from it."""
    for operation in (found.ok() for found in api.get_all_operations()):

        @how
        @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        def asked(case):
            case.call_and_validate(headers=BEARER, checks=CHECKS)

        asked()


def test_whatever_is_asked_the_answer_is_as_documented(api):
    ask(api, FEW)


@pytest.mark.slow
def test_whatever_is_asked_at_length_the_answer_is_as_documented(api):
    ask(api, MANY)


def operations(document: dict):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_route_is_documented_but_those_that_refuse(document):
    known = {f"{call.method} {call.route}" for call in CALLS if "rest" not in call.values}
    assert {name for name, _ in operations(document)} == known - {"GET /openapi.json", "HEAD /openapi.json"}


def test_every_operation_says_what_it_does_and_what_it_may_answer(document):
    for name, operation in operations(document):
        assert operation["description"].strip().endswith("."), name
        if name == "GET /healthz":
            continue
        answers = operation["responses"]
        assert {"401", "403", "421", "503"} <= answers.keys(), name
        for status, answer in answers.items():
            assert answer["description"], (name, status)
            if int(status) >= 400 and not name.startswith("HEAD"):
                assert "schema" in answer["content"]["application/json"], (name, status)


def test_changes_are_documented_to_need_the_token(document):
    scheme = document["components"]["securitySchemes"]["token"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for name, operation in operations(document):
        if name.startswith("POST"):
            assert operation["security"] == [{"token": []}], name
        elif name == "GET /healthz":
            assert operation["security"] == []
        else:
            assert operation["security"] == [{"token": []}, {}], name


def test_a_model_has_the_fields_of_its_dataclass(document):
    from anabranch.inspect import (
        cycles,
        definition,
        fuses,
        gates,
        graph_data,
        groups,
        history,
        sources,
        status,
    )
    from anabranch.read import preview

    models = document["components"]["schemas"]
    seen = 0
    for module in (cycles, definition, fuses, gates, groups, history, graph_data, sources, status, preview):
        for kind in vars(module).values():
            if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__:
                if (model := models.get(kind.__name__)) is None:
                    continue
                names = {field.name for field in dataclasses.fields(kind)}
                assert set(model["properties"]) == names, kind
                assert set(model["required"]) >= names - {"status"}, kind  # of a source
                seen += 1
    assert seen >= 14


def test_every_error_has_a_status_that_is_documented():
    documented = {int(status) for status in ERRORS} | {405}
    for kind in every_error():
        assert http_status(kind("it broke")) in documented, kind
    assert all(issubclass(kind, BaseException) for kind in STATUS)


def test_the_document_speaks_of_nothing_but_this_service(document):
    text = str(document)
    assert not re.search(r"\bviews?\b|pipeline|HTTPValidationError", text)
