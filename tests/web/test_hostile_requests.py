"""Every route, called in every wrong way: refused as documented, in one form, and never a failure of ours."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from anabranch.web.app import build_app
from tests.web.calls import CALLS, PAGE, Call, routes_of
from tests.web.conftest import BEARER, TOKEN, UNLIMITED, TestClient

JSON = {"Content-Type": "application/json"}
NAMES = {
    "markup": "<img src=x onerror=alert(1)>",
    "a path": "../..",
    "an absolute path": "/etc/passwd",
    "a statement": "orders; DROP TABLE orders",
    "a quote": "'\"`",
    "very long": "x" * 1_000,
    "longer than an address": "x" * 30_000,
    "many parts": ".".join("abcdefgh"),
    "nothing but dots": "...",
    "NUL": "a\0b",
    "a line break": "a\r\nSet-Cookie: b=c",
    "not ASCII": "größe😀",
    "percent": "%s%n%00",
    "a state table": "by_region__state",
    "a hidden name": "__h0",
    "a reserved word": "select",
    "unknown": "nobody",
}
FINITE = [call for call in CALLS if not call.endless]
CHANGES = [call for call in CALLS if call.changes]
WITH_NAMES = [call for call in FINITE if call.values and "rest" not in call.values]


@pytest.fixture(scope="module")
def app(standing):
    """The service for another machine: there, reads need the token, too."""
    return build_app(standing, token=TOKEN, host="0.0.0.0", limits=UNLIMITED)


@pytest.fixture(scope="module")
def outside(app):
    """A client that gets the service's failures as answers."""
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def send(client: TestClient, call: Call, path: str | None = None, **options):
    """Send a call; by default with its own body."""
    if call.changes and not {"json", "content"} & options.keys():
        options["json"] = call.body
    return client.request(call.method, path or call.path, **options)


def check_refused(answer, call: Call, *statuses: int) -> None:
    """It was refused with one of these, in the form that the route's errors have."""
    assert answer.status_code in statuses, (call, answer.status_code, answer.text[:300])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    if call.method == "HEAD":
        return
    error = answer.json()["error"]
    if answer.url.path.startswith("/iceberg/"):
        assert set(error) == {"message", "type", "code"}
        assert error["code"] == answer.status_code
    else:
        assert set(error) == {"code", "message", "detail", "hint"}
        assert error["code"].startswith("AB")
    assert answer.headers["content-type"] == "application/json"


def name(call: Call) -> str:
    return f"{call.method} {call.route}"


def test_every_route_has_its_call_here(app):
    known = {(call.method, call.route) for call in CALLS}
    assert routes_of(app) - PAGE == known


@pytest.mark.parametrize("call", FINITE, ids=name)
def test_with_the_token_all_is_well(outside, call):
    assert send(outside, call, headers=BEARER).status_code == call.status


TOKENS = (
    None,
    "",
    "Bearer",
    "Bearer ",
    f"Basic {TOKEN}",
    f"Bearer {TOKEN}x",
    "Bearer " + 5000 * "x",
    "Bearer ö",
)


@pytest.mark.parametrize("call", [call for call in CALLS if not call.open], ids=name)
def test_without_the_right_token_it_is_refused(outside, call):
    for token in TOKENS:
        headers = {} if token is None else {b"Authorization": token.encode()}
        answer = send(outside, call, headers=headers)
        check_refused(answer, call, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text


def test_the_process_says_that_it_lives_without_a_token(outside):
    assert outside.get("/healthz").json() == {"status": "ok"}


ORIGINS = ("https://evil.example", "null", "http://localhost:1", "", "http://localhost.evil")


@pytest.mark.parametrize("call", CALLS, ids=name)
def test_a_page_of_another_site_is_refused(outside, call):
    for origin in ORIGINS:
        check_refused(send(outside, call, headers={**BEARER, "Origin": origin}), call, 403)


@pytest.mark.parametrize("call", FINITE, ids=name)
def test_a_page_of_this_service_is_not(outside, call):
    answer = send(outside, call, headers={**BEARER, "Origin": "http://localhost"})
    assert answer.status_code in (call.status, 409)


HOSTS = ("evil.example", "localhost.evil", "127.0.0.1.evil", "0.0.0.0", "", "[::", "a b", "::1")


@pytest.mark.parametrize("call", CALLS, ids=name)
def test_another_host_is_refused(outside, call):
    for host in HOSTS:
        check_refused(send(outside, call, headers={**BEARER, "Host": host}), call, 421)


@pytest.mark.parametrize("host", ["localhost:8321", "127.0.0.1", "[::1]:8321", "LOCALHOST", "127.1.2.3:1"])
def test_names_of_this_machine_are_not(outside, host):
    assert outside.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("call", CHANGES, ids=name)
def test_a_body_that_is_too_large_is_refused(outside, call):
    large = json.dumps({"full": "x" * 70_000})
    check_refused(send(outside, call, content=large, headers={**BEARER, **JSON}), call, 413)


@pytest.mark.parametrize("call", CHANGES, ids=name)
def test_a_body_that_lies_about_its_size_is_refused(outside, call):
    pieces = (b"x" * 10_000 for _ in range(8))
    check_refused(send(outside, call, content=pieces, headers={**BEARER, **JSON}), call, 413)


BODIES = (
    b"{",
    b"nonsense",
    b"\xff\xfe",
    b"[]",
    b"1",
    b'"text"',
    b"[" * 60_000,
    b'{"a":' * 10_000,
    b'{"unknown": 1}',
    b'{"full": "yes", "action": 1, "timestamp": 1, "auto_ungate_on_watermark": "no"}',
    b'{"timestamp": "\\ud83d", "action": "\\ud83d", "full": "\\ud83d"}',
    b'{"timestamp": ""}',
)


@pytest.mark.parametrize("call", [call for call in CHANGES if "rest" not in call.values], ids=name)
def test_a_body_that_can_not_be_read_is_refused(outside, call):
    for body in BODIES:
        check_refused(send(outside, call, content=body, headers={**BEARER, **JSON}), call, 400, 422)


@pytest.mark.parametrize("call", CHANGES, ids=name)
def test_a_body_that_is_not_declared_as_json_is_refused(outside, call):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"):
        headers = {**BEARER, "Content-Type": kind}
        check_refused(send(outside, call, content=json.dumps(call.body), headers=headers), call, 415)


@pytest.mark.parametrize("call", WITH_NAMES, ids=name)
def test_a_name_that_is_none_is_refused(outside, standing, call):
    lsn, before = standing.lsn, [entry.status for entry in standing.status()]
    for wrong in NAMES.values():
        for value in call.values:
            answer = send(outside, call, call.filled(**{value: quote(wrong, safe="")}), headers=BEARER)
            check_refused(answer, call, 400, 404, 405, 422)
    assert standing.lsn == lsn
    assert [entry.status for entry in standing.status()] == before


@pytest.mark.parametrize("call", FINITE, ids=name)
def test_no_method_does_more_than_it_should(app, outside, call):
    known = routes_of(app)
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"):
        if (method, call.route) in known or (call.route.startswith("/iceberg") and "rest" in call.values):
            continue
        answer = outside.request(method, call.path, headers=BEARER)
        assert answer.status_code in (404, 405), (method, answer.status_code)


@pytest.mark.parametrize(
    ("path", "limits"),
    [
        ("/api/v1/history", ["0", "-1", "1001", "1e3", "x", "", "9" * 5000, "1;DROP"]),
        ("/api/v1/stream-tables/by_region/history", ["0", "1001", "x"]),
        ("/api/v1/tables/orders/rows", ["-1", "501", "x", "nan", "9" * 400]),
    ],
)
def test_a_limit_out_of_bounds_is_refused(outside, path, limits):
    for limit in limits:
        answer = outside.get(path, params={"limit": limit}, headers=BEARER)
        check_refused(answer, Call("GET", path), 422)


@pytest.mark.parametrize("path", ["/nope", "/api/v1/nope", "/static/../app.py", "/api/v1/lake/", "/docs"])
def test_an_unknown_path_is_a_404(outside, path):
    assert outside.get(path, headers=BEARER).status_code == 404


def test_a_failure_that_nobody_foresaw_says_nothing_about_itself(outside, standing, monkeypatch):
    def fail():
        raise RuntimeError("secret")

    monkeypatch.setattr(standing, "status", fail)
    answer = outside.get("/api/v1/stream-tables", headers=BEARER)
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "AB935"
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
