"""The pages beside the graph: a stream table, a source, the lists."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.worlds import enter_token, varied


def test_a_stream_tables_page_tells_all_about_it(open_lake, served, opened, keep):
    lake = varied(open_lake(allow_circular=True))
    for number in range(3):
        lake.insert("orders", [(5000 + number, "east", 1, 1, 1)])
        lake.refresh_stream_table("sales.by_product")
    page = opened(served(lake, scheduler=False), "#/t/sales.by_product")
    expect(page.get_by_role("heading", level=1)).to_have_text("sales.by_product")
    expect(page.locator(".page-head .badge")).to_have_text("fresh")
    expect(page.locator("pre.sql").first).to_contain_text("GROUP BY p.name")
    expect(page.locator(".operators li").first).to_be_visible()
    assert {text.strip() for text in page.locator(".strategy").all_inner_texts()} >= {"linear", "bilinear"}
    page.get_by_text("Change query").click()
    expect(page.get_by_label("Change query")).to_contain_text(re.compile("select", re.I))
    expect(page.locator("svg.chart")).to_have_attribute(
        "aria-label", re.compile("refreshes of sales.by_product")
    )
    page.get_by_text("Show as a table").click()
    expect(page.locator(".chart-box tbody tr")).to_have_count(len(lake.refresh_history("sales.by_product")))
    expect(page.get_by_label("Refreshes of this stream table").locator("tbody tr").first).to_contain_text(
        "manual"
    )
    expect(page.get_by_label("Preview of rows").locator("tbody tr")).to_have_count(7)
    keep(page)
    page.locator(".facts").get_by_role("link", name="sales.summary").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("sales.summary")


@pytest.mark.slow
def test_a_stream_table_is_suspended_resumed_and_refreshed_by_buttons(open_lake, served, opened):
    lake = varied(open_lake(allow_circular=True))
    page = opened(served(lake, scheduler=False), "#/t/ops.names")
    badge = page.locator(".page-head .badge").first
    page.get_by_role("button", name="Suspend").click()
    enter_token(page)
    expect(badge).to_have_text("suspended")
    page.get_by_role("button", name="Resume").click()
    expect(badge).to_have_text("fresh")
    lake.insert("products", [(77, "a late one")])
    expect(badge).to_contain_text("behind")
    page.get_by_role("button", name="Refresh", exact=True).click()
    expect(page.get_by_label("Preview of rows")).to_contain_text("a late one")
    expect(badge).to_have_text("fresh")
    page.get_by_role("button", name="Full refresh").click()
    expect(page.locator(".toast")).to_contain_text(["Full refresh of ops.names: done"])
    assert lake.refresh_history("ops.names", 1)[0].initiated_by == "manual"


@pytest.mark.slow
def test_a_refresh_that_fails_says_why(open_lake, served, opened):
    lake = varied(open_lake(allow_circular=True))
    page = opened(served(lake, scheduler=False), "#/t/ops.unit_price")
    page.get_by_role("button", name="Refresh", exact=True).click()
    enter_token(page)
    toast = page.locator('.toast[data-tone="bad"]')
    expect(toast).to_contain_text("Refresh of ops.unit_price failed")
    expect(toast.locator("code")).to_have_text(re.compile(r"^AB\d{3}$"))
    expect(page.locator(".page-head .reason")).to_contain_text(re.compile("zero", re.I))
    expect(page.get_by_label("Refreshes of this stream table")).to_contain_text(re.compile("zero", re.I))


def test_a_blown_fuse_is_reset_in_a_dialog(open_lake, served, opened):
    lake = open_lake()
    lake.create_table("events", "id BIGINT")
    lake.create_stream_table(
        "counted", "SELECT COUNT(*) AS n FROM events", fuse="on", fuse_ceiling=5, schedule="1s"
    )
    lake.insert("events", [(number,) for number in range(50)])
    page = opened(served(lake), "#/t/counted")
    expect(page.locator(".page-head .badge").first).to_have_text("fuse blown")
    page.get_by_role("button", name="Reset fuse").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply the changes").click()
    enter_token(page)
    expect(page.locator(".page-head .badge").first).to_have_text("fresh")
    expect(page.get_by_label("Preview of rows")).to_contain_text("50")


def test_sources_show_gates_and_watermarks_and_can_be_gated(open_lake, served, opened, keep):
    lake = varied(open_lake(allow_circular=True))
    lake.advance_watermark("orders", "2024-02-29 12:00:00")
    lake.create_watermark_group("loads", ["orders", "products"])
    page = opened(served(lake, scheduler=False), "#/sources")
    row = page.get_by_label("Sources", exact=True).locator("tbody tr")
    expect(row).to_have_count(4)
    expect(row.filter(has_text="crm.customers")).to_contain_text("gated")
    expect(row.filter(has_text="orders").last).to_contain_text("29 Feb 2024")
    expect(page.get_by_label("Watermark groups").last).to_contain_text("not aligned")
    keep(page)
    row.filter(has_text="hr.reports_to").get_by_role("button", name="Gate").click()
    enter_token(page)
    expect(row.filter(has_text="hr.reports_to")).to_contain_text("by ")
    page.get_by_role("link", name="hr.reports_to").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("hr.reports_to")
    expect(page.get_by_label("Preview of rows")).to_contain_text("ann")


def test_the_history_lists_and_filters_what_happened(still, opened, keep):
    lake, address = still
    page = opened(address, "#/history")
    rows = page.get_by_label("Refreshes", exact=True).locator("tbody tr")
    expect(rows).to_have_count(len(lake.refresh_history(limit=300)))
    keep(page)
    page.get_by_label("Outcome").select_option("FAILED")
    expect(rows).to_have_count(sum(entry.status == "FAILED" for entry in lake.refresh_history(limit=300)))
    expect(rows.first).to_contain_text(re.compile("ops.unit_price.*zero", re.I | re.S))
    page.get_by_label("Filter by name or text").fill("nothing like this")
    expect(page.locator("main")).to_contain_text("Nothing in the history is like that")


def test_the_list_puts_what_needs_attention_first(still, opened, keep):
    page = opened(still[1], "#/list")
    rows = page.get_by_label("Stream tables", exact=True).locator("tbody tr")
    expect(rows).to_have_count(12)
    expect(rows.first).to_contain_text("ops.unit_price")
    keep(page)
    page.get_by_label("Filter by name").fill("hr.")
    expect(rows).to_have_count(2)


@pytest.mark.slow
def test_a_stream_table_that_is_not_there_is_said_to_be_unknown(still, opened):
    page = opened(still[1], "#/t/nobody", forgive=("404",))
    expect(page.locator(".problem")).to_contain_text("AB601")
