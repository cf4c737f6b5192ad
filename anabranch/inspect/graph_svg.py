"""Boxes and arrows as an inline picture: what is read stands to the left of what reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from anabranch.notebook_html import Markup, element

CHARACTER, HEIGHT, BETWEEN, APART, MARGIN = 7.3, 40, 18, 56, 10
"""In pixels: the width of a character, the height of a box, the space below and beside it."""
LONGEST = 36
"""Characters of a line that are drawn; the whole of it shows up under the pointer."""

_COLOURS = {"good": "#2e9e5b", "bad": "#d64545", "held": "#c98a1b", "": "currentColor"}


@dataclass(frozen=True)
class Box:
    """A table: its name, how it is doing (`good`, `bad`, `held` or nothing), and a line about it."""

    name: str
    tone: str
    about: str
    is_source: bool = False


@dataclass(frozen=True)
class Place:
    """Where a box stands."""

    column: int
    x: float
    y: float
    width: float


def draw_graph(boxes: Sequence[Box], arrows: Iterable[tuple[str, str]]) -> Markup:
    """The picture. `arrows` go from what is read to its reader, both among the boxes."""
    known = {box.name for box in boxes}
    arrows = [arrow for arrow in arrows if known.issuperset(arrow)]
    places = layout(boxes, arrows)
    width = max((place.x + place.width for place in places.values()), default=0) + MARGIN
    height = max((place.y + HEIGHT for place in places.values()), default=0) + BETWEEN + MARGIN
    return element(
        "svg",
        *(_arrow(places[source], places[reader]) for source, reader in arrows),
        *(_box(box, places[box.name]) for box in boxes),
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        aria_label=f"{len(boxes)} tables and who reads whom",
        font_family="ui-monospace, monospace",
        font_size="12",
        fill="currentColor",
    )


def layout(boxes: Sequence[Box], arrows: Sequence[tuple[str, str]]) -> Mapping[str, Place]:
    """Columns from left to right: a box stands right of all it reads, but for arrows that close a circle.

    The boxes come in an order in which, circles aside, readers follow what they read.
    """
    reads: dict[str, list[str]] = {box.name: [] for box in boxes}
    for source, reader in arrows:
        reads[reader].append(source)
    depth: dict[str, int] = {}
    for box in boxes:
        depth[box.name] = max((depth[read] + 1 for read in reads[box.name] if read in depth), default=0)
    places: dict[str, Place] = {}
    x = float(MARGIN)
    for number in range(max(depth.values(), default=-1) + 1):
        column = [box for box in boxes if depth[box.name] == number]
        column.sort(key=lambda box: _mean_input_y(reads[box.name], places))
        for row, box in enumerate(column):
            places[box.name] = Place(number, x, MARGIN + row * (HEIGHT + BETWEEN), _width(box))
        x = max(place.x + place.width for place in places.values()) + APART
    return places


def _mean_input_y(reads: Iterable[str], places: Mapping[str, Place]) -> float:
    """The mean height of what is read: close to it, arrows are short, and cross less."""
    known = [places[read].y for read in reads if read in places]
    return fmean(known) if known else 0.0


def _width(box: Box) -> float:
    longest = max(len(_shorten(box.name)) + 2, len(_shorten(box.about)))
    return longest * CHARACTER + 16


def _box(box: Box, place: Place) -> Markup:
    colour = _COLOURS[box.tone]
    frame = element(
        "rect",
        x=f"{place.x:.1f}",
        y=f"{place.y:.1f}",
        width=f"{place.width:.1f}",
        height=str(HEIGHT),
        rx="3" if box.is_source else "10",
        fill="none",
        stroke=colour,
        stroke_opacity="0.9" if colour != "currentColor" else "0.5",
        **({"stroke_dasharray": "4 3"} if box.is_source else {}),
    )
    name = _line(box.name, place.x + 8, place.y + 16, font_weight="600")
    about = _line(box.about, place.x + 8, place.y + 32, opacity="0.75")
    return element("g", element("title", f"{box.name}: {box.about}"), frame, name, about)


def _line(text: str, x: float, y: float, **attributes: str) -> Markup:
    return element("text", _shorten(text), x=f"{x:.1f}", y=f"{y:.1f}", **attributes)


def _arrow(source: Place, reader: Place) -> Markup:
    return (
        _forward_arrow(source, reader) if reader.column > source.column else _backward_arrow(source, reader)
    )


def _forward_arrow(source: Place, reader: Place) -> Markup:
    """From right side to left side; between boxes that are no neighbours it hangs down, past others."""
    x, y = source.x + source.width, source.y + HEIGHT / 2
    to_x, to_y = reader.x, reader.y + HEIGHT / 2
    bend = APART / 2
    dip = 0 if reader.column == source.column + 1 else HEIGHT
    curve = f"C{x + bend:.1f} {y + dip:.1f} {to_x - bend:.1f} {to_y + dip:.1f} {to_x:.1f} {to_y:.1f}"
    return _arrow_markup(f"M{x:.1f} {y:.1f}{curve}", f"M{to_x:.1f} {to_y:.1f}l-7 -3.5v7z")


def _backward_arrow(source: Place, reader: Place) -> Markup:
    """From below to below, dashed: it closes a circle."""
    x, y = source.x + source.width * 0.6, source.y + HEIGHT
    to_x, to_y = reader.x + reader.width * 0.4, reader.y + HEIGHT
    curve = f"C{x:.1f} {y + BETWEEN:.1f} {to_x:.1f} {to_y + BETWEEN:.1f} {to_x:.1f} {to_y:.1f}"
    return _arrow_markup(
        f"M{x:.1f} {y:.1f}{curve}", f"M{to_x:.1f} {to_y:.1f}l-3.5 7h7z", stroke_dasharray="3 3"
    )


def _arrow_markup(line: str, head: str, **attributes: str) -> Markup:
    path = element("path", d=line, fill="none", stroke="currentColor", stroke_opacity="0.5", **attributes)
    return element("g", path, element("path", d=head, fill="currentColor", fill_opacity="0.6"))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
