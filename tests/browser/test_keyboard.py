"""The page without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.serving import TOKEN
from tests.browser.worlds import node


@pytest.fixture
def page(still, opened) -> Page:
    """The page over a lake in which nothing changes by itself."""
    page = opened(still[1])
    expect(page.locator(".node")).to_have_count(16)
    return page


def focused(page: Page) -> str | None:
    return page.evaluate("document.activeElement?.dataset.id ?? null")


def test_search_finds_a_table_and_arrows_lead_along_the_lines(page, keep):
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search tables")).to_be_focused()
    page.keyboard.type("products")
    expect(page.locator(".search-list [role=option]")).to_have_count(1)
    expect(page.locator(".node:not([data-faded])")).to_have_count(1)
    page.keyboard.press("Enter")
    assert focused(page) == "products"
    expect(node(page, "products")).to_have_attribute("aria-pressed", "true")
    keep(page)
    page.keyboard.press("ArrowRight")
    assert focused(page) in {"sales.by_product", "ops.names", "ops.paused"}
    page.keyboard.press("ArrowLeft")
    assert focused(page) in {"products", "orders"}


@pytest.mark.slow
def test_the_focus_is_visible_and_one_tab_leaves_the_graph(page):
    page.locator(".canvas").evaluate("() => document.querySelector('.chip:last-child').focus()")
    page.keyboard.press("Tab")
    first = focused(page)
    assert first is not None
    halo = node(page, first).locator(".halo").evaluate("each => getComputedStyle(each).stroke")
    assert halo != "none"
    page.keyboard.press("ArrowDown")
    assert focused(page) not in (None, first)
    page.keyboard.press("Tab")
    assert focused(page) is None


@pytest.mark.slow
def test_enter_selects_then_opens_and_escape_goes_back(page):
    node(page, "sales.top").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".inspector h2")).to_have_text("sales.top")
    page.keyboard.press("Escape")
    expect(page.locator(".inspector h2")).not_to_have_text("sales.top")
    assert focused(page) == "sales.top"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="sales.top")).to_be_visible()
    assert page.url.endswith("#/t/sales.top")
    page.go_back()
    expect(node(page, "sales.top")).to_be_visible()
    expect(node(page, "sales.top")).to_have_attribute("aria-pressed", "true")


@pytest.mark.slow
def test_what_is_typed_right_after_the_slash_goes_into_the_search(page):
    for route in ("#/", "#/history"):
        page.evaluate("route => { location.hash = route }", route)
        expect(page.locator(f'nav a[href="{route}"]')).to_have_attribute("aria-current", "page")
        page.keyboard.type("/contacts")
        expect(page.get_by_role("combobox", name="Search tables")).to_have_value("contacts")
        expect(page.locator(".search-list [role=option]")).to_have_count(1)


@pytest.mark.slow
def test_a_group_collapses_and_opens_by_keys(page):
    node(page, "sales.summary").focus()
    page.keyboard.press("c")
    folded = page.locator('.node[data-form="folded"]')
    expect(folded).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".node")).to_have_count(16)


@pytest.mark.slow
def test_a_gate_is_shut_by_keys_alone(page):
    page.keyboard.press("/")
    page.keyboard.type("products")
    page.keyboard.press("Enter")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.key") == "gate":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_label("Token of this service")).to_be_focused()
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    expect(node(page, "products")).to_have_attribute("data-state", "gated")
    expect(page.get_by_role("button", name="Ungate")).to_be_focused()
    page.keyboard.press("Enter")
    expect(node(page, "products")).to_have_attribute("data-state", "source")


def test_every_control_has_a_name_and_every_page_one_heading(page):
    for route in ("#/", "#/list", "#/sources", "#/history", "#/t/sales.top", "#/s/orders"):
        page.evaluate("route => { location.hash = route }", route)
        expect(page.locator("main h1")).to_have_count(1)
        page.wait_for_timeout(300)
        nameless = page.evaluate("""() => {
            const named = each =>
                each.getAttribute('aria-label') || each.textContent.trim() || each.labels?.length;
            const controls = [...document.querySelectorAll('button, a, input, select, [role=button]')];
            return controls.filter(each => !named(each)).map(each => each.outerHTML);
        }""")
        assert nameless == []
