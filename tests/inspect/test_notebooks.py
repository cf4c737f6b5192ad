"""What notebooks and terminals show: tables, trees and pictures, in which names and values stay text."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

import pytest

import anabranch as ab
from anabranch.inspect.dependency_tree import SHOWN, DependencyTree, TreeNode
from anabranch.inspect.explain_query import Explanation, Refusal
from anabranch.inspect.graph_data import MAX_DRAWN, GraphNode, LakeGraph
from anabranch.inspect.graph_svg import Box, draw_graph, layout
from anabranch.jsonable import to_jsonable
from anabranch.listing import SHOWN_ROWS, Listing
from tests.streams.shop import diamond, stock

HOSTILE = '<script>alert(\'x\')</script>" onload="alert(1)" & </style></svg><img src=x>'
ALLOWED = set(
    "div style table thead tbody tr th td ul li b i h4 pre code span details summary".split()
    + "svg g title rect text path".split()
)


class Page(HTMLParser):
    """Which elements and attributes a page has, and its text; that all it opens is closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text += data

    @property
    def harmless(self) -> bool:
        return self.elements <= ALLOWED and not any(name.startswith("on") for name in self.attributes)


def page_of(value: object) -> Page:
    page = Page(value._repr_html_())  # type: ignore[attr-defined]
    assert page.harmless
    return page


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        yield


@pytest.fixture
def shop(duck_lake: ab.Lake) -> ab.Lake:
    stock(duck_lake)
    diamond(duck_lake)
    return duck_lake


@dataclass(frozen=True)
class Pair:
    """A record of the simplest kind."""

    left: object
    right: object


# -- lists ----------------------------------------------------------------------------------------


def test_a_listing_is_a_list_for_programs(shop):
    listing = shop.status()
    assert isinstance(listing, list)
    assert listing == list(listing)
    assert list(listing) == listing
    assert to_jsonable(listing) == [to_jsonable(entry) for entry in listing]
    assert pickle.loads(pickle.dumps(listing)) == listing


def test_a_part_of_a_listing_is_shown_as_one(shop):
    history = shop.refresh_history()
    assert isinstance(history[:2], Listing)
    assert history[:2] == [history[0], history[1]]
    assert history[-1] == list(history)[-1]


LISTS = [
    name
    for name, method in inspect.getmembers(ab.Lake, inspect.isfunction)
    if str(method.__annotations__.get("return")).startswith("list[")
]


def test_everything_that_lists_can_be_looked_at(shop):
    shop.gate_source("sales")
    shop.advance_watermark("sales", "2030-01-01")
    assert {"status", "refresh_history", "tables", "source_gates"} <= set(LISTS)
    for name in LISTS:
        listing = getattr(shop, name)()
        assert isinstance(listing, Listing), name
        assert page_of(listing).text, name
        assert repr(listing), name


def test_a_terminal_shows_an_aligned_table():
    assert repr(Listing([Pair("one", 1), Pair("seven", None), Pair(("a", "b"), 1000)])) == (
        "left   right\n─────  ─────\none        1\nseven\na, b    1000"
    )


def test_a_terminal_shows_the_columns_that_matter_most(shop):
    text = repr(shop.status())
    assert text.splitlines()[0].split() == list(shop.status()[0].shown)
    assert "by_region" in text
    assert "ACTIVE" in text


def test_a_notebook_shows_the_other_columns_too_unless_they_are_empty(shop):
    text = page_of(shop.status()).text
    assert "mode reason" in text
    assert "last error" not in text


def test_an_empty_listing_says_so():
    assert repr(Listing([])) == "[]"
    assert page_of(Listing([])).text == "nothing"


def test_what_has_no_columns_is_shown_as_a_list():
    assert repr(Listing([1, 2])) == "[1, 2]"
    assert page_of(Listing(["<b>"])).text == "['<b>']"


def test_a_long_listing_is_cut_and_says_by_how_much():
    exact = Listing([Pair(number, 0) for number in range(SHOWN_ROWS)])
    longer = Listing([Pair(number, 0) for number in range(SHOWN_ROWS + 1200)])
    assert "more" not in repr(exact) + page_of(exact).text
    assert repr(longer).endswith("… and 1,200 more")
    assert page_of(longer).text.endswith("… and 1,200 more")


def test_a_value_with_markup_stays_a_value():
    page = page_of(Listing([Pair(HOSTILE, {HOSTILE: 1}), Pair((HOSTILE,), "ACTIVE")]))
    assert page.text.count("<script>") == 3


def test_a_value_cannot_drive_the_terminal():
    shown = repr(Listing([Pair("\x1b[31mred\x1b[0m\nnext\r\x07", "x" * 500)]))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert len(shown.splitlines()) == 3
    assert max(map(len, shown.splitlines())) < 100


# -- the graph ------------------------------------------------------------------------------------


def test_the_graph_is_drawn_with_every_table_and_every_arrow(shop):
    shop.gate_source("sales")
    page = page_of(shop.graph())
    assert "svg" in page.elements
    for name in ("sales", "by_region", "by_product", "summary", "gated", "group 1"):
        assert name in page.text


def test_what_is_read_stands_to_the_left_of_what_reads_it():
    boxes = [Box(name, "", "") for name in ("a", "b", "c", "d")]
    places = layout(boxes, [("a", "b"), ("b", "d"), ("a", "d"), ("c", "d")])
    assert places["a"].x == places["c"].x < places["b"].x < places["d"].x
    assert len({(place.x, place.y) for place in places.values()}) == 4


def test_a_circle_is_drawn_too():
    boxes = [Box(name, "", "") for name in ("a", "b")]
    arrows = [("a", "b"), ("b", "a"), ("b", "b")]
    places = layout(boxes, arrows)
    assert places["a"].x < places["b"].x
    assert draw_graph(boxes, arrows).count("stroke-dasharray") == 2


def test_a_terminal_lists_the_graph_with_what_each_table_is_made_from(shop):
    lines = repr(shop.graph()).splitlines()
    assert lines[0] == f"lsn {shop.lsn}, 4 tables"
    assert lines[-1] == "  summary     ACTIVE, 1 row, group 1 <- by_product, by_region"


def test_a_graph_without_tables_is_drawn(duck_lake):
    assert "0 tables" in page_of(duck_lake.graph()).text


def test_a_graph_that_nobody_could_read_as_a_picture_is_listed():
    nodes = tuple(GraphNode(f"t{number}", "source", 1, False, False) for number in range(MAX_DRAWN + 1))
    assert "svg" in page_of(LakeGraph(1, nodes[:-1], ())).elements
    listed = page_of(LakeGraph(1, nodes, ()))
    assert "svg" not in listed.elements
    assert listed.text.endswith(f"… and {MAX_DRAWN + 1 - SHOWN_ROWS} more")


def test_a_hostile_name_is_drawn_as_text():
    nodes = (GraphNode(HOSTILE, "source", 1, True, False), GraphNode("x" * 500, "source", 1, False, True))
    page = page_of(LakeGraph(1, nodes, ()))
    assert "<script>" in page.text


# -- trees and explanations -----------------------------------------------------------------------


def test_a_terminal_shows_trees_and_explanations_as_they_are_printed(shop):
    for value in (
        shop.dependency_tree(),
        shop.explain("by_region"),
        shop.explain("SELECT region FROM sales"),
    ):
        assert repr(value) == str(value)


def test_a_tree_is_a_nested_list_of_the_same_names(shop):
    tree = shop.dependency_tree("summary")
    page = page_of(tree)
    assert {"ul", "li"} <= page.elements
    for word in ("summary is made from", "by_region", "sales", "made from summary"):
        assert word in page.text
        assert word in str(tree)


def test_a_tree_is_cut_and_hostile_names_stay_names():
    many = tuple(TreeNode(HOSTILE, (HOSTILE,)) for _ in range(SHOWN + 7))
    page = page_of(DependencyTree(((HOSTILE, many),)))
    assert page.text.endswith("… and 7 more")
    assert page.text.count("<script>") == 1 + 2 * SHOWN


def test_an_explanation_shows_operators_strategies_and_sql(shop):
    page = page_of(shop.explain("by_region"))
    for word in ("Stream table by_region", "GROUP BY region", "stored state", "__h0", "SQL of the change"):
        assert word in page.text
    assert {"details", "table"} <= page.elements


def test_an_explanation_of_a_query_has_its_literals_as_text(shop):
    page = page_of(shop.explain("SELECT region, '<script>' AS x FROM sales WHERE region <> '<img src=x>'"))
    assert "<script>" in page.text
    assert "<img src=x>" in page.text


def test_a_refusal_says_why():
    refusal = Refusal("AB203", HOSTILE, HOSTILE, HOSTILE)
    page = page_of(Explanation(("t",), (), (HOSTILE,), refusal))
    assert "Not maintained incrementally" in page.text
    assert page.text.count("<script>") == 4
