"""What the page shows when there is nothing, when nobody answers, and when it isn't trusted."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.worlds import HOSTILE, enter_token, node, state

LOST = ("ERR_CONNECTION", "ERR_INCOMPLETE_CHUNKED", "ERR_EMPTY_RESPONSE", "503")


def test_an_empty_lake_says_how_to_begin_and_fills_by_itself(open_lake, served, opened, keep):
    lake = open_lake()
    page = opened(served(lake, scheduler=False))
    expect(page.locator(".empty")).to_contain_text("CREATE STREAM TABLE")
    keep(page)
    lake.create_table("orders", "id BIGINT")
    expect(page.locator(".empty")).to_contain_text("There is one source")
    lake.create_stream_table("copied", "SELECT id FROM orders")
    expect(node(page, "copied")).to_be_visible()
    expect(page.locator(".empty")).to_have_count(0)


@pytest.mark.slow
def test_a_service_that_is_gone_is_said_so_and_found_again(open_lake, served, opened, keep):
    lake = open_lake()
    lake.create_table("orders", "id BIGINT")
    lake.create_stream_table("copied", "SELECT id FROM orders")
    address = served(lake, scheduler=False)
    page = opened(address, forgive=LOST)
    expect(node(page, "copied")).to_be_visible()
    served.halt(address)
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    expect(page.locator("#connection")).to_have_text("not connected")
    expect(node(page, "copied")).to_be_visible()
    keep(page)
    served(lake, scheduler=False, port=urlsplit(address).port)
    expect(page.locator("#connection")).to_contain_text("live")
    expect(page.locator("#banner")).to_be_hidden()
    lake.insert("orders", [(1,)])
    expect(node(page, "orders").locator(".line")).to_contain_text("1 row")


@pytest.mark.slow
def test_where_reading_needs_a_token_the_page_asks_for_it(open_lake, served, opened):
    lake = open_lake()
    lake.create_table("orders", "id BIGINT")
    lake.create_stream_table("copied", "SELECT id FROM orders")
    address = served(lake, scheduler=False, host="0.0.0.0", allow_hosts=["localhost"])
    page = opened(f"http://localhost:{urlsplit(address).port}", forgive=("401",))
    expect(page.get_by_role("dialog")).to_contain_text("Reading needs the token")
    enter_token(page, "wrong")
    expect(page.get_by_role("dialog")).to_contain_text("doesn't accept")
    enter_token(page)
    expect(node(page, "copied")).to_be_visible()
    expect(page.locator("#connection")).to_contain_text("live")


def test_text_from_outside_stays_text(open_lake, served, opened, keep):
    lake = open_lake()
    lake.create_table("notes", "id BIGINT, body STRING")
    lake.insert("notes", [(1, HOSTILE)])
    lake.create_stream_table("copied", f"SELECT id, body, '{HOSTILE}' AS fixed FROM notes", schedule="1s")
    lake.create_stream_table(
        "numbers", "SELECT CAST(body AS INT) AS n FROM notes WHERE id > 1", schedule="1s"
    )
    lake.insert("notes", [(2, HOSTILE)])
    page = opened(served(lake), forgive=("400",))
    state(page, "numbers", "failing")
    node(page, "numbers").click()
    expect(page.locator(".inspector .reason")).to_contain_text("<img src=x")
    for route, shown in (
        ("#/t/copied", ".scroll"),
        ("#/t/numbers", ".error-text"),
        ("#/s/notes", ".scroll"),
        ("#/history", ".error-text"),
        ("#/list", ".wide"),
    ):
        page.evaluate("route => { location.hash = route }", route)
        expect(page.locator(shown).filter(has_text="<img src=x").first).to_be_visible()
    page.evaluate("hash => { location.hash = hash }", f"#/t/{HOSTILE}")
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.ran") is None


@pytest.mark.slow
def test_an_error_of_the_lake_is_shown_with_its_code_and_hint(open_lake, served, opened):
    lake = open_lake()
    lake.create_table("orders", "id BIGINT")
    lake.create_stream_table("copied", "SELECT id FROM orders")
    page = opened(served(lake, scheduler=False), forgive=("503",))
    expect(page.locator(".node")).to_have_count(2)
    # A catalog that stays busy for long can't be had at will; what the service then answers can.
    said = {"code": "AB304", "message": "the catalog stayed busy", "detail": None, "hint": "try again later."}
    page.route("**/api/v1/graph", lambda route: route.fulfill(status=503, json={"error": said}))
    lake.create_table("late_comer", "id BIGINT")
    expect(page.get_by_role("alert")).to_contain_text("AB304 · the catalog stayed busy · try again later.")
    expect(page.locator(".node")).to_have_count(2)
    page.reload()
    expect(page.locator(".problem")).to_contain_text("Hint: try again later.")
    page.unroute("**/api/v1/graph")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".node")).to_have_count(3)
