"""HTML for notebooks, in which text from outside is always text: only `element` makes markup.

No scripts, no addresses, no fonts: it must look right in a light and in a dark notebook, and stay there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
.anabranch{font-size:13px;line-height:1.45;overflow-x:auto;color:inherit}
.anabranch table{border-collapse:collapse;margin:4px 0;font-size:inherit}
.anabranch th,.anabranch td{text-align:left;vertical-align:top;padding:3px 12px 3px 0;background:none;
border:0;border-bottom:1px solid rgba(128,128,128,.3);font-variant-numeric:tabular-nums}
.anabranch th{font-weight:600;white-space:nowrap}
.anabranch td.number{text-align:right}
.anabranch td.short{white-space:nowrap}
.anabranch pre{margin:4px 0;padding:6px 8px;overflow-x:auto;background:rgba(128,128,128,.12);color:inherit;
border-radius:4px;font-size:12px;line-height:1.4;white-space:pre}
.anabranch ul{margin:2px 0;padding-left:20px}
.anabranch h4{margin:10px 0 2px;font-size:13px}
.anabranch .quiet{opacity:.7}
.anabranch .good::before,.anabranch .bad::before,.anabranch .held::before{content:"\\25CF\\00A0"}
.anabranch .good::before{color:#2e9e5b}
.anabranch .bad::before{color:#d64545}
.anabranch .held::before{color:#c98a1b}
"""
"""Colours are the notebook's own, or read well on white and on black."""

_TONES = {
    "good": ("ACTIVE", "SUCCEEDED", "ok"),
    "bad": ("ERROR", "FAILED", "fail"),
    "held": ("SUSPENDED", "INITIALIZING", "ROLLED_BACK", "SKIPPED", "warn"),
}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str) -> Markup:
    """An element around its children: what isn't markup is escaped, in attributes too.

    >>> element("td", "a < b", class_="number")
    '<td class="number">a &lt; b</td>'
    >>> element("b", element("i", "&"))
    '<b><i>&amp;</i></b>'
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in attributes.items()
    )
    return Markup(f"<{tag}{named}>{_join_escaped(children)}</{tag}>")


def _join_escaped(children: Iterable[str]) -> str:
    return "".join(child if isinstance(child, Markup) else escape(child) for child in children)


def styled_block(*children: str) -> str:
    """What a notebook shows: the children, and the style they need."""
    return element("div", element("style", Markup(STYLE)), *children, class_="anabranch")


def table(heads: Sequence[str], rows: Iterable[Sequence[Markup]], left_out: int = 0) -> Markup:
    """A table of ready cells; how many rows are left out stands below it."""
    head = element("tr", *(element("th", name) for name in heads))
    body = (element("tr", *cells) for cells in rows)
    drawn = element("table", element("thead", head), element("tbody", *body))
    return Markup(drawn + left_out_note(left_out))


def left_out_note(left_out: int) -> Markup:
    """That something is left out, if it is."""
    return element("div", f"… and {left_out:,} more", class_="quiet") if left_out else Markup("")


def status_class(status: str) -> str:
    """The class of a status: `good`, `bad`, `held`, or none; the word itself is always there too."""
    return next((name for name, words in _TONES.items() if status in words), "")
