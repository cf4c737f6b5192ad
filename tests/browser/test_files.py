"""The page's own files: all of them are loaded at once, none comes from elsewhere, none writes markup."""

from __future__ import annotations

import re
from pathlib import Path

import anabranch.web

STATIC = Path(anabranch.web.__file__).parent / "static"
SCRIPTS = ("theme.js", "early.js")
MODULES = sorted(path for path in STATIC.glob("js/**/*.js") if path.name not in SCRIPTS)
TEXTS = [path for path in STATIC.rglob("*") if path.is_file()]
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser")
ELSEWHERE = re.compile(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!#)")
INLINE = re.compile(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)")


def test_every_module_is_fetched_without_waiting_for_another():
    page = (STATIC / "index.html").read_text()
    preloaded = re.findall(r'<link rel="modulepreload" href="/static/([^"]+)">', page)
    wanted = [path.relative_to(STATIC).as_posix() for path in MODULES if path.name != "main.js"]
    assert sorted(preloaded) == sorted(wanted)


def test_no_file_writes_markup_or_loads_from_elsewhere():
    assert len(TEXTS) > 30
    for path in TEXTS:
        text = path.read_text()
        assert not MARKUP.search(text), path
        assert not ELSEWHERE.search(text), path


def test_the_shell_has_no_inline_script_or_style():
    assert not INLINE.search((STATIC / "index.html").read_text())


def test_every_file_begins_with_its_idea_and_is_short():
    for path in [*MODULES, *STATIC.glob("css/*.css")]:
        lines = path.read_text().splitlines()
        assert lines[0].startswith(("// ", "/* ")), path
        assert len(lines) < 400, path
