"""What a person may do: refresh, tick, suspend, resume, gate, ungate, reset a fuse."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

import anabranch as ab
from anabranch.errors import AlreadyRunning, ServiceBusy, UnknownAction
from anabranch.web.actions import KEPT_FOR, MAX_KEPT, MAX_WAITING, WORKERS, ActionPool
from tests.web.conftest import BEARER, PATIENCE


def finished(client, action: str) -> dict:
    """An action once it is over."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.02)):
        found = client.get(f"/api/v1/actions/{action}").json()
        if found["state"] != "running":
            return found
        pause.wait(0.02)
    raise AssertionError("it runs and runs")


def test_a_refresh_goes_on_after_its_request_and_says_how_it_went(client, shop):
    shop.insert("orders", [(4, "west", 5)])
    answer = client.post("/api/v1/stream-tables/by_region/refresh", headers=BEARER)
    assert answer.status_code == 202
    done = finished(client, answer.json()["action"])
    assert (done["kind"], done["name"], done["state"], done["error"]) == (
        "refresh",
        "by_region",
        "succeeded",
        None,
    )
    assert done["result"]["action"] == "DIFFERENTIAL"
    assert done["started_at"] <= done["finished_at"]
    assert ["west", 5] in client.get("/api/v1/tables/by_region/rows").json()["rows"]


def test_a_full_refresh_is_one(client, shop):
    body = {"full": True, "upstream": False}
    answer = client.post("/api/v1/stream-tables/by_region/refresh", headers=BEARER, json=body)
    assert finished(client, answer.json()["action"])["result"]["action"] == "FULL"


def test_a_refresh_that_fails_says_why(client, shop):
    shop.suspend_stream_table("large")
    answer = client.post("/api/v1/stream-tables/large/refresh", headers=BEARER)
    done = finished(client, answer.json()["action"])
    assert done["state"] == "failed"
    assert done["error"]["code"] == "AB605"
    assert "resume_stream_table" in done["error"]["hint"]


def test_a_tick_refreshes_what_is_due(client, shop):
    shop.alter_stream_table("by_region", schedule="1s")
    shop.insert("orders", [(4, "west", 5)])
    threading.Event().wait(1.1)
    done = finished(client, client.post("/api/v1/tick", headers=BEARER).json()["action"])
    assert done["state"] == "succeeded"
    assert "by_region" in done["result"]["refreshed"]


def test_a_stream_table_is_suspended_and_resumed(client):
    suspended = client.post("/api/v1/stream-tables/large/suspend", headers=BEARER)
    assert (suspended.status_code, suspended.json()["status"]) == (200, "SUSPENDED")
    resumed = client.post("/api/v1/stream-tables/large/resume", headers=BEARER, json={})
    assert (resumed.status_code, resumed.json()["status"]) == (200, "ACTIVE")


def test_a_source_is_gated_ungated_and_loaded_up_to_a_time(client):
    gated = client.post(
        "/api/v1/sources/sales.customers/gate", headers=BEARER, json={"auto_ungate_on_watermark": True}
    ).json()
    assert gated["name"] == "sales.customers"
    assert gated["gate"]["gated"] is True
    assert gated["gate"]["affected_stream_tables"] == ["sales.names"]
    marked = client.post(
        "/api/v1/sources/sales.customers/watermark",
        headers=BEARER,
        json={"timestamp": "2030-01-01T00:00:00Z"},
    ).json()
    assert marked["gate"]["gated"] is False
    assert marked["watermark"]["watermark"] == "2030-01-01T00:00:00+00:00"
    back = client.post(
        "/api/v1/sources/sales.customers/watermark", headers=BEARER, json={"timestamp": "2029-01-01"}
    )
    assert (back.status_code, back.json()["error"]["code"]) == (409, "AB703")
    client.post("/api/v1/sources/orders/gate", headers=BEARER)
    assert client.post("/api/v1/sources/orders/ungate", headers=BEARER).json()["gate"]["gated"] is False
    wrong = client.post("/api/v1/sources/by_region/gate", headers=BEARER)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (409, "AB701")


def test_a_blown_fuse_is_reset(client, shop):
    shop.alter_stream_table("large", fuse="on", fuse_ceiling=2, schedule="1s", diamond_consistency="none")
    shop.insert("orders", [(number, "west", 50) for number in range(10, 20)])
    threading.Event().wait(1.1)
    shop.tick()
    assert client.get("/api/v1/stream-tables/large").json()["fuse"]["state"] == "blown"
    reset = client.post("/api/v1/stream-tables/large/reset-fuse", headers=BEARER, json={"action": "apply"})
    assert (reset.status_code, reset.json()["status"], reset.json()["fuse_state"]) == (200, "ACTIVE", "armed")


def test_reading_changes_nothing(client, shop):
    lsn, pulse = shop.lsn, shop.pulse()
    for path in ("suspend", "resume", "refresh", "reset-fuse"):
        assert client.get(f"/api/v1/stream-tables/large/{path}", headers=BEARER).status_code == 405
    assert client.get("/api/v1/tick", headers=BEARER).status_code == 405
    assert (shop.lsn, shop.pulse()) == (lsn, pulse)


# -- the pool -------------------------------------------------------------------------------------


@pytest.fixture
def actions_that_wait():
    """Actions whose work waits until it is let go."""
    clock, go, done = ab.ManualClock(), threading.Event(), []
    actions = ActionPool(clock, done.append)
    yield actions, clock, go, done
    go.set()
    assert actions.close(PATIENCE)


def test_one_refresh_per_stream_table_at_a_time(actions_that_wait):
    actions, _, go, _ = actions_that_wait
    first = actions.start("refresh", "a", go.wait)
    with pytest.raises(AlreadyRunning) as caught:
        actions.start("refresh", "a", go.wait)
    assert first.id in (caught.value.hint or "")
    actions.start("refresh", "b", go.wait)
    actions.start("tick", None, go.wait)


def test_no_more_actions_wait_than_there_is_room_for(actions_that_wait):
    actions, _, go, _ = actions_that_wait
    for number in range(WORKERS + MAX_WAITING):
        actions.start("refresh", f"t{number}", go.wait)
    with pytest.raises(ServiceBusy):
        actions.start("refresh", "one more", go.wait)


def test_what_became_of_an_action_is_kept_for_a_while_and_not_for_ever(actions_that_wait):
    actions, clock, go, done = actions_that_wait
    go.set()
    state = actions.start("refresh", "a", lambda: 7)
    settle(actions, state.id)
    assert actions.get(state.id).result == 7
    assert done[0].id == state.id
    clock.advance((KEPT_FOR + timedelta(seconds=1)).total_seconds())
    with pytest.raises(UnknownAction):
        actions.get(state.id)


def test_no_more_are_kept_than_there_is_room_for(actions_that_wait):
    actions, _, _, _ = actions_that_wait
    ids = []
    for number in range(MAX_KEPT + 20):
        ids.append(actions.start("refresh", f"t{number}", lambda: None).id)
        settle(actions, ids[-1])
    actions.get(ids[-1])
    with pytest.raises(UnknownAction):
        actions.get(ids[0])


def test_what_fails_unforeseen_says_nothing_about_itself(actions_that_wait):
    actions, _, _, _ = actions_that_wait

    def fail() -> None:
        raise RuntimeError("secret")

    done = settle(actions, actions.start("tick", None, fail).id)
    assert done.state == "failed"
    assert done.error is not None
    assert done.error["code"] == "AB935"
    assert "secret" not in str(done)
    assert settle(actions, actions.start("tick", None, lambda: 1).id).state == "succeeded"


def test_what_has_not_begun_when_the_service_stops_is_failed_and_what_runs_is_waited_for():
    go, done, begun = threading.Event(), [], threading.Semaphore(0)
    actions = ActionPool(ab.ManualClock(), done.append)

    def work() -> None:
        begun.release()
        go.wait(PATIENCE)

    for number in range(WORKERS + 3):
        actions.start("refresh", f"t{number}", work)
    for _ in range(WORKERS):
        assert begun.acquire(timeout=PATIENCE)
    assert actions.close(0.01) is False
    assert [state.state for state in done] == ["failed"] * 3
    with pytest.raises(ServiceBusy):
        actions.start("refresh", "later", go.wait)
    go.set()
    assert actions.close(PATIENCE) is True
    assert [state.state for state in done[3:]] == ["succeeded"] * WORKERS


def settle(actions: ActionPool, action: str):
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.002)):
        if (state := actions.get(action)).state != "running":
            return state
        pause.wait(0.002)
    raise AssertionError("it runs and runs")
