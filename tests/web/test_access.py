"""Who may ask for what: tokens, hosts, origins, rates, and what a browser is told."""

from __future__ import annotations

import pytest

from anabranch.clock import new_token
from anabranch.errors import InvalidServiceOption, UnsafeAddress
from anabranch.web import serve
from anabranch.web.access import Access, check_host, check_token
from anabranch.web.app import build_app
from anabranch.web.guard import Limits
from anabranch.web.rate_limits import MAX_CLIENTS, Rate, RateLimiter
from tests.web.conftest import BEARER, TOKEN, TestClient

CHANGE = "/api/v1/stream-tables/large/suspend"


def client_of(lake, **options) -> TestClient:
    return TestClient(build_app(lake, token=TOKEN, **options), base_url="http://localhost")


def test_a_made_token_can_not_be_guessed_and_is_never_the_same():
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert all(len(check_token(token)) == 43 for token in made)


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 513, "with blanks in between", "größe" * 5, "x" * 20 + "\n", 7]
)
def test_a_token_that_is_weak_or_fits_no_header_is_refused(token):
    with pytest.raises(InvalidServiceOption) as caught:
        check_token(token)
    assert caught.value.code == "AB934"
    assert str(token) not in str(caught.value) or not token


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "example.org", ""])
def test_an_address_that_others_reach_needs_a_token_of_its_owner(standing, host):
    with pytest.raises(UnsafeAddress) as caught:
        serve(standing, host=host)
    assert caught.value.code == "AB933"
    with pytest.raises(UnsafeAddress):
        build_app(standing, host=host)


@pytest.mark.parametrize("host", ["a b", "http://x", "x/y", "", "*", 7, "x:80:90"])
def test_a_name_that_is_none_is_not_allowed(host):
    with pytest.raises(InvalidServiceOption):
        check_host(host)


@pytest.mark.parametrize("port", [-1, 65_536, "80", None, True, 1.5])
def test_a_port_that_is_none_is_refused(standing, port):
    with pytest.raises(InvalidServiceOption):
        serve(standing, port=port)


def test_an_address_that_is_not_ours_is_refused(standing):
    with pytest.raises(InvalidServiceOption, match="can't listen"):
        serve(standing, host="203.0.113.7", port=0, token=TOKEN)


def test_reads_are_open_on_this_machine_and_need_the_token_elsewhere(standing):
    with client_of(standing) as here, client_of(standing, host="0.0.0.0") as elsewhere:
        assert here.get("/api/v1/lake").json()["reads_need_token"] is False
        assert here.get("/api/v1/lake", headers={"Authorization": "Bearer wrong"}).status_code == 200
        assert elsewhere.get("/api/v1/lake").status_code == 401
        assert elsewhere.get("/api/v1/lake", headers=BEARER).json()["reads_need_token"] is True
        assert elsewhere.get("/healthz").status_code == 200
        assert elsewhere.get("/static/nothing.js").status_code == 404
        assert here.post(CHANGE).status_code == 401


def test_what_stays_open_is_exactly_the_shell_of_the_page():
    access = Access(TOKEN, reads_need_token=True)
    assert not access.needs_token("GET", "/")
    assert not access.needs_token("GET", "/static/app.js")
    for path in (
        "/api/v1/lake",
        "/metrics",
        "/readyz",
        "/openapi.json",
        "/iceberg/v1/config",
        "/statics",
        "//",
    ):
        assert access.needs_token("GET", path), path
    assert access.needs_token("POST", "/static/app.js")


def test_a_host_that_is_allowed_is_answered_and_its_page_may_ask(standing):
    with client_of(standing, allow_hosts=["Lake.Example", "[2001:db8::1]"]) as client:
        for host in ("lake.example", "LAKE.example:8321", "[2001:db8::1]:8321"):
            headers = {"Host": host, "Origin": f"https://{host}"}
            assert client.get("/api/v1/lake", headers=headers).status_code == 200
        other = {"Host": "lake.example", "Origin": "https://other.example"}
        assert client.get("/api/v1/lake", headers=other).status_code == 403
        assert client.get("/api/v1/lake", headers={"Host": "other.example"}).status_code == 421


def test_too_many_wrong_tokens_are_not_even_looked_at(standing):
    limits = Limits(guesses=Rate(burst=3, per_second=0.0))
    with client_of(standing, limits=limits) as client:
        wrong = {"Authorization": "Bearer not-this-one-surely"}
        assert [client.post(CHANGE, headers=wrong).status_code for _ in range(5)] == [401, 401, 401, 429, 429]
        refused = client.post(CHANGE, headers=BEARER)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "AB927")
        assert refused.headers["retry-after"]
        assert client.get("/api/v1/lake").status_code == 200


def test_a_missing_token_is_no_guess(standing):
    with client_of(standing, limits=Limits(guesses=Rate(burst=1, per_second=0.0))) as client:
        assert [client.post(CHANGE).status_code for _ in range(5)] == [401] * 5
        assert client.post(CHANGE, headers=BEARER).status_code == 200
        assert client.post(CHANGE.replace("suspend", "resume"), headers=BEARER).status_code == 200


def test_changes_can_not_come_too_fast(standing):
    with client_of(standing, limits=Limits(changes=Rate(burst=2, per_second=0.0))) as client:
        path = "/api/v1/sources/orders/ungate"
        assert [client.post(path, headers=BEARER).status_code for _ in range(4)] == [200, 200, 429, 429]
        assert client.get("/api/v1/lake").status_code == 200


def test_a_bucket_fills_up_again_and_is_each_clients_own():
    now = [0.0]
    limiter = RateLimiter(Rate(burst=2, per_second=0.5), lambda: now[0])
    assert [limiter.take("a") for _ in range(3)] == [True, True, False]
    assert limiter.take("b")
    assert limiter.is_exhausted("a")
    now[0] = 2.0
    assert [limiter.take("a") for _ in range(2)] == [True, False]
    now[0] = 1000.0
    assert [limiter.take("a") for _ in range(3)] == [True, True, False]


def test_no_more_clients_are_remembered_than_there_is_room_for():
    limiter = RateLimiter(Rate(burst=1, per_second=0.0), lambda: 0.0)
    for number in range(MAX_CLIENTS + 10):
        limiter.take(str(number))
    assert len(limiter._left) == MAX_CLIENTS
    assert limiter.is_exhausted(str(MAX_CLIENTS + 9))


def test_a_browser_is_told_what_the_page_may_do(standing):
    with client_of(standing) as client:
        headers = client.get("/api/v1/lake").headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
