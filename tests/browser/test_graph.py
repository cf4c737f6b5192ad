"""The graph: what it shows, what a click does, and that it follows the lake."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.worlds import enter_token, node, scale, state, varied


@pytest.fixture
def page(still, opened):
    """The page over a lake in which nothing changes."""
    page = opened(still[1])
    expect(page.locator(".node")).to_have_count(16)
    return page


@pytest.fixture
def shown(open_lake, served, opened):
    """The varied lake, served with its scheduler, and the page over it."""
    lake = varied(open_lake(allow_circular=True))
    page = opened(served(lake))
    expect(page.locator(".node")).to_have_count(16)
    return lake, page


def test_every_table_is_drawn_with_its_lines_groups_and_cycles(still, page, keep):
    graph = still[0].graph()
    assert {each.get_attribute("data-id") for each in page.locator(".node").all()} == {
        each.name for each in graph.nodes
    }
    expect(page.locator(".edge")).to_have_count(len(graph.edges))
    expect(page.locator('.box[data-kind="group"]')).to_have_count(1)
    expect(page.locator('.box[data-kind="group"] text')).to_have_text(re.compile("^group · epoch"))
    expect(page.locator('.box[data-kind="cycle"] text')).to_have_text(re.compile("^cycle"))
    assert page.locator(".edge[data-back]").count() == 1
    state(page, "hr.above", "fresh")
    state(page, "ops.paused", "suspended")
    state(page, "crm.customers", "gated")
    expect(node(page, "orders")).to_have_attribute("data-kind", "source")
    keep(page)


@pytest.mark.slow
def test_a_box_holds_its_members_and_nobody_else(page):
    boxes = page.evaluate("""() => [...document.querySelectorAll('.box')].map(box => {
        const frame = box.querySelector('.frame').getBoundingClientRect();
        const inside = [...document.querySelectorAll('.node')].filter(node => {
            const body = node.querySelector('.body').getBoundingClientRect();
            return body.left < frame.right && body.right > frame.left
                && body.top < frame.bottom && body.bottom > frame.top;
        });
        return inside.map(node => node.dataset.id).sort();
    })""")
    assert sorted(boxes) == [
        ["hr.above", "hr.chains"],
        ["sales.by_product", "sales.by_region", "sales.summary"],
    ]


@pytest.mark.slow
def test_a_failing_stream_table_is_shown_with_its_reason(page, keep):
    state(page, "ops.unit_price", "failing")
    expect(node(page, "ops.unit_price")).to_have_attribute(
        "aria-label", re.compile("failed.*zero", re.I | re.S)
    )
    expect(page.locator(".attention")).to_contain_text("ops.unit_price")
    node(page, "ops.unit_price").click()
    expect(page.locator(".inspector .reason")).to_contain_text(re.compile("zero", re.I))
    keep(page)


def test_a_gate_set_by_a_click_holds_a_branch_until_it_is_opened(shown):
    lake, page = shown
    state(page, "sales.top", "fresh")
    node(page, "products").click()
    page.get_by_role("button", name="Gate", exact=True).click()
    enter_token(page)
    state(page, "products", "gated")
    for name in ("sales.by_product", "sales.summary", "ops.names"):
        state(page, name, "gated")
    assert [gate.source_table for gate in lake.source_gates() if gate.gated] == ["customers", "products"]
    expect(page.locator('.edge[data-source="products"][data-held]')).to_have_count(3)
    expect(page.locator(".inspector")).to_contain_text("not ready")
    page.get_by_role("button", name="Ungate").click()
    state(page, "products", "source")
    state(page, "ops.names", "fresh")


@pytest.mark.slow
def test_a_wrong_token_is_asked_for_again_and_changes_nothing(open_lake, served, opened):
    lake = varied(open_lake(allow_circular=True))
    page = opened(served(lake, scheduler=False), forgive=("401",))
    node(page, "products").click()
    page.get_by_role("button", name="Gate", exact=True).click()
    enter_token(page, "wrong")
    expect(page.get_by_role("dialog")).to_contain_text("doesn't accept")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate("sessionStorage.getItem('anabranch-token')") is None
    assert not lake.graph().nodes[3].gated


def test_a_commit_is_seen_at_once_and_nothing_moves(shown):
    lake, page = shown
    state(page, "sales.top", "fresh")
    node(page, "sales.top").click()
    page.get_by_role("button", name="Zoom in").click()
    before = scale(page)
    page.evaluate("document.querySelector('.canvas').dataset.mark = 'kept'")
    rows = node(page, "orders").locator(".line")
    expect(rows).to_contain_text("41 rows")
    lake.insert("orders", [(3000, "west", 2, 1, 7)])
    expect(rows).to_contain_text("42 rows")
    state(page, "sales.top", "fresh")
    expect(page.locator("#connection")).to_contain_text("live")
    assert scale(page) == before
    expect(node(page, "sales.top")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".canvas")).to_have_attribute("data-mark", "kept")


def place(page, name):
    """Where a table is drawn, from the middle of the drawing: what stands above it may wrap meanwhile."""
    box = node(page, name).locator(".body").bounding_box()
    around = page.locator(".canvas").bounding_box()
    return [
        box["x"] - around["x"] - around["width"] / 2,
        box["y"] - around["y"] - around["height"] / 2,
        box["width"],
        box["height"],
    ]


@pytest.mark.slow
def test_a_line_that_wraps_above_the_graph_does_not_scale_what_is_selected(page):
    node(page, "sales.top").click()
    before = place(page, "sales.top")
    page.evaluate("document.querySelector('.graph').style.height = '500px'")
    page.wait_for_function("document.querySelector('.canvas').clientHeight <= 500")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert place(page, "sales.top")[2:] == pytest.approx(before[2:], abs=0.1)


@pytest.mark.slow
def test_a_new_stream_table_appears_and_what_is_selected_stays_in_its_place(shown):
    lake, page = shown
    node(page, "sales.top").click()
    before = place(page, "sales.top")
    lake.create_stream_table("sales.best", "SELECT MAX(revenue) AS best FROM sales.top", schedule="1s")
    expect(node(page, "sales.best")).to_be_visible()
    assert place(page, "sales.top") == pytest.approx(before, abs=1.5)
    expect(node(page, "sales.top")).to_have_attribute("aria-pressed", "true")
    lake.drop_stream_table("sales.best")
    expect(node(page, "sales.best")).to_have_count(0)


@pytest.mark.slow
def test_groups_and_namespaces_collapse_and_expand(page, keep):
    page.get_by_role("button", name=re.compile("^Collapse group")).click()
    expect(page.locator('.node[data-form="folded"]')).to_have_count(1)
    expect(page.locator(".node")).to_have_count(14)
    page.get_by_role("button", name="Expand").click()
    expect(page.locator(".node")).to_have_count(16)
    page.get_by_label("Collapse", exact=True).select_option("namespaces")
    expect(page.locator(".node")).to_have_count(5)
    expect(page.locator('.node[data-id="namespace:ops"]')).to_have_attribute("data-state", "failing")
    keep(page)
    page.locator('.node[data-id="namespace:hr"]').dblclick()
    expect(node(page, "hr.above")).to_be_visible()
    expect(page.locator(".node")).to_have_count(7)


@pytest.mark.slow
def test_only_the_neighbours_of_a_table_are_drawn_when_asked(page):
    node(page, "crm.contacts").click()
    page.get_by_role("button", name="Only its neighbours").click()
    expect(page.locator(".node")).to_have_count(3)
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".node")).to_have_count(16)


@pytest.mark.slow
def test_a_press_on_a_state_fades_the_others(page):
    page.locator('.chip[data-state="suspended"]').click()
    expect(page.locator(".node:not([data-faded])")).to_have_count(1)
    expect(page.locator(".node:not([data-faded])")).to_have_attribute("data-id", "ops.paused")
    page.locator('.chip[data-state="suspended"]').click()
    expect(page.locator(".node[data-faded]")).to_have_count(0)


@pytest.mark.slow
def test_the_view_zooms_pans_and_fits(page):
    fitted = scale(page)
    canvas = page.locator(".canvas").bounding_box()
    page.mouse.move(canvas["x"] + 20, canvas["y"] + canvas["height"] - 20)
    page.mouse.down()
    page.mouse.move(canvas["x"] + 120, canvas["y"] + canvas["height"] - 90, steps=4)
    page.mouse.up()
    panned = scale(page)
    assert panned != fitted
    page.mouse.wheel(0, -300)
    page.wait_for_function(
        "was => document.querySelector('.canvas > g').getAttribute('transform') !== was", arg=panned
    )
    page.get_by_role("button", name="Fit").click()
    page.wait_for_function(
        "was => document.querySelector('.canvas > g').getAttribute('transform') === was", arg=fitted
    )
