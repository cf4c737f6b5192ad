"""The curve of speed-up over share of change as a picture, made of what `python -m bench shares` found.

`python -m bench.plot_shares` reads `bench/results/shares.json` (and that of scale factor 10, if it is there)
and writes `docs/images/shares.svg`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bench.harness import RESULTS, geometric_mean

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "shares.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 360, 70, 150, 30, 50
SPEEDUPS = (0.25, 0.5, 1, 2, 4, 8, 16)
COLOURS = ("#2f6f9f", "#b3562b", "#4d7d3a", "#7a4a8c")
INK, GRID = "#808080", "#80808055"

Points = Sequence[tuple[float, float]]
"""A share of change, and how many times as fast as computing from nothing."""


def main() -> None:
    """Write the picture."""
    documents = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("shares*.json"))]
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(curves_of(documents)))
    print(PICTURE)


def curves_of(documents: Sequence[Mapping[str, Any]]) -> dict[str, Points]:
    """A curve for all queries of each scale, and one for those whose tables changed.

    >>> rows = [
    ...     {"query": "q01", "share": 0.01, "speedup": 2.0, "reads_changes": True},
    ...     {"query": "q02", "share": 0.01, "speedup": 8.0, "reads_changes": False},
    ... ]
    >>> curves_of([{"scale": 1, "rows": rows}])
    {'22 queries, SF 1': [(0.01, 4.0)], 'those that read changes, SF 1': [(0.01, 2.0)]}
    """
    curves: dict[str, Points] = {}
    for document in documents:
        rows = document["rows"]
        for name, chosen in (
            ("22 queries", rows),
            ("those that read changes", [row for row in rows if row["reads_changes"]]),
        ):
            shares = sorted({row["share"] for row in chosen})
            curves[f"{name}, SF {document['scale']:g}"] = [
                (share, geometric_mean(row["speedup"] for row in chosen if row["share"] == share))
                for share in shares
            ]
    return curves


def draw(curves: Mapping[str, Points]) -> str:
    """The picture as SVG; both axes are logarithmic, and its colours do on light and dark ground."""
    shares = sorted({share for points in curves.values() for share, _ in points})
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="{INK}">',
        "<title>How many times as fast a differential refresh is, by share of change</title>",
    ]
    for speedup in SPEEDUPS:
        y = _height_of(speedup)
        line = INK if speedup == 1 else GRID
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{line}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{speedup:g} ×</text>')
    for share in shares:
        x, y = _place_of(share, shares), HEIGHT - BOTTOM + 22
        parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{100 * share:.3g} %</text>')
    for (name, points), colour in zip(curves.items(), COLOURS * len(curves), strict=False):
        places = [(_place_of(share, shares), _height_of(speedup)) for share, speedup in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in places]
        x, y = places[-1]
        words = name.replace(", ", ",\n").split("\n")
        for line_number, word in enumerate(words):
            parts.append(
                f'<text x="{x + 10:.1f}" y="{y + 4 + 15 * line_number:.1f}" fill="{colour}" '
                f'font-size="12">{escape(word)}</text>'
            )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">share of orders that changed</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def _place_of(share: float, shares: Sequence[float]) -> float:
    low, high = math.log(shares[0]), math.log(shares[-1])
    part = (math.log(share) - low) / (high - low) if high > low else 0.5
    return LEFT + 20 + part * (WIDTH - LEFT - RIGHT - 40)


def _height_of(speedup: float) -> float:
    low, high = math.log(SPEEDUPS[0]), math.log(SPEEDUPS[-1])
    part = (math.log(min(max(speedup, SPEEDUPS[0]), SPEEDUPS[-1])) - low) / (high - low)
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


if __name__ == "__main__":
    main()
