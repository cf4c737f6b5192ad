"""Dark and light, narrow and wide, with less motion; nothing too faint to read."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.worlds import node

ROUTES = (
    "#/",
    "#/list",
    "#/sources",
    "#/history",
    "#/t/sales.by_product",
    "#/t/ops.unit_price",
    "#/s/orders",
)
READABLE = 4.5
"""The contrast that WCAG asks for, level AA."""


@pytest.fixture
def address(still) -> str:
    """Where the varied lake is served."""
    return still[1]


def visit(page: Page, route: str) -> None:
    page.evaluate("route => { location.hash = route }", route)
    expect(page.locator(".loading")).to_have_count(0)
    expect(page.locator("main h1")).to_have_count(1)


def ground(page: Page) -> int:
    """How light the page is, from 0 to 765."""
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return sum(int(part) for part in colour[4:-1].split(",")[:3])


@pytest.mark.slow
def test_nothing_scrolls_sideways_on_a_phone(address, opened, keep):
    page = opened(address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    expect(page.locator(".node")).to_have_count(16)
    for route in ROUTES:
        visit(page, route)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, route
        keep(page, route.strip("#/").replace("/", "-"))


@pytest.mark.slow
def test_a_tap_selects_on_a_phone(address, opened):
    page = opened(address, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    node(page, "orders").tap()
    expect(page.locator(".inspector h2")).to_have_text("orders")
    expect(page.get_by_role("button", name="Gate", exact=True)).to_be_in_viewport()


def test_dark_follows_the_system_and_the_toggle_is_remembered(address, opened, keep):
    page = opened(address, color_scheme="dark")
    expect(page.locator(".node")).to_have_count(16)
    assert ground(page) < 150
    keep(page, "dark")
    page.get_by_role("button", name="Use the light theme").click()
    assert ground(page) > 600
    page.reload()
    expect(page.get_by_role("button", name="Use the dark theme")).to_be_visible()
    assert ground(page) > 600


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(address, opened, scheme):
    page = opened(address, color_scheme=scheme)
    faint = page.evaluate(
        """least => {
        const probe = document.body.appendChild(document.createElement('i'));
        const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
        const light = name => {
            probe.style.color = `var(--${name})`;
            canvas.fillStyle = getComputedStyle(probe).color;
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(part => part / 255)
                .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const contrast = (one, other) => {
            const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
            return (high + 0.05) / (low + 0.05);
        };
        const pairs = [['on-accent', 'accent']];
        for (const text of ['ink', 'muted', 'accent', 'good', 'warn', 'bad', 'held'])
            for (const behind of ['ground', 'surface', 'raised', 'sunken']) pairs.push([text, behind]);
        for (const tone of ['good', 'warn', 'bad', 'held', 'accent']) pairs.push([tone, `${tone}-wash`]);
        return pairs.map(pair => [...pair, contrast(...pair)]).filter(([, , found]) => found < least);
    }""",
        READABLE,
    )
    assert faint == []


@pytest.mark.slow
def test_nothing_turns_for_those_who_asked_for_less_motion(address, opened):
    page = opened(address, reduced_motion="reduce")
    expect(page.locator(".node")).to_have_count(16)
    turning = "() => document.getAnimations().length"
    page.evaluate("document.querySelectorAll('.node').forEach(each => each.dataset.running = 'true')")
    assert page.evaluate(turning) == 0


@pytest.mark.slow
def test_a_refresh_that_runs_turns_for_the_others(address, opened):
    page = opened(address)
    expect(page.locator(".node")).to_have_count(16)
    page.evaluate("document.querySelectorAll('.node').forEach(each => each.dataset.running = 'true')")
    assert page.evaluate("() => document.getAnimations().length") == 16
