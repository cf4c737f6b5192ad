"""The site builds without a warning, nothing in it comes from elsewhere, and no page is stale."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

import anabranch as ab
from anabranch import remedies
from anabranch.errors import AnabranchError, InputError, InvalidName, every_error
from anabranch.remedies import REMEDIES, remedy
from tools.pages import DOCS, PAGES
from tools.pages.python import python_page

ROOT = DOCS.parent
SITE_PAGES = ("changelog.md", "contributing.md", "security.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    built = build(ROOT, place)
    assert built.returncode == 0, built.stderr
    return place


def build(root: Path, place: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


class Loaded(HTMLParser):
    """What a browser fetches by itself to show a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.addresses.append(found["src"] or "")
        if tag == "link" and found.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(found.get("href") or "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[glossary](glosary.md)", "glosary.md"),
        ("[below](#nowhere)", "#nowhere"),
        ("[changes](../CHANGE.md)", "../CHANGE.md"),
        ("[changes](../CHANGELOG.md)", None),
    ],
)
def test_a_broken_link_is_an_error(tmp_path, text, complaint):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Here\n\n{text}\n", "utf-8")
    small = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(tmp_path / "docs"),
        "theme": {"name": "mkdocs"},
    }
    small |= {
        "nav": ["index.md", *SITE_PAGES],
        "hooks": [str(ROOT / "tools" / "mkdocs_hooks.py")],
        "plugins": [],
    }
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(small), "utf-8")
    built = build(tmp_path, tmp_path / "site")
    warned = [line for line in built.stderr.splitlines() if "'index.md'" in line]
    assert bool(warned) == (complaint is not None)
    if complaint is not None:
        assert built.returncode != 0
        assert complaint in warned[0]


def test_every_page_of_the_repository_is_a_page_of_the_site(site):
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS).with_suffix(".html")).exists(), page
    for name in SITE_PAGES:
        assert (site / name).with_suffix(".html").exists()


def test_the_site_loads_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert pages
    for page in pages:
        outside = [address for address in Loaded(page).addresses if re.match(r"(?:https?:)?//", address)]
        assert not outside, page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", sheet.read_text("utf-8")), sheet


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_that_is_made_from_the_code_is_up_to_date(name):
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "make docs writes it"


def test_the_reference_has_all_that_the_calls_of_a_lake_return():
    page = python_page()
    for method in vars(ab.Lake).values():
        returned = str(getattr(method, "__annotations__", {}).get("return"))
        for name in set(re.findall(r"[A-Z]\w+", returned)) - {"None", "Any", "DataFrame", "Lake", "Clock"}:
            assert f"\n### {name}\n" in page or name in ("Snapshot", "Transaction"), name


def test_every_error_says_what_to_do_in_a_sentence_or_two():
    for kind in every_error():
        assert kind is AnabranchError or remedy(kind) != REMEDIES[AnabranchError], (
            f"{kind}: nor has its family"
        )
        assert remedy(kind).endswith("."), kind
        assert len(remedy(kind)) < 120, kind
    assert set(REMEDIES) <= set(every_error())


def test_an_error_without_advice_of_its_own_has_that_of_its_family(monkeypatch):
    monkeypatch.setattr(remedies, "REMEDIES", {InputError: "Look again."})
    assert remedy(InvalidName) == "Look again."
