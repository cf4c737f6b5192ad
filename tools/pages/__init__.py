"""Pages of the documentation that are made from the code, so that they can't say something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from anabranch.cli import reference
from anabranch.sql import support
from tools.pages.errors import errors_page
from tools.pages.python import python_page
from tools.pages.settings import settings_page

DOCS = Path(__file__).parents[2] / "docs"

PAGES: Mapping[str, Callable[[], str]] = {
    "cli-reference.md": reference.markdown,
    "errors.md": errors_page,
    "python-api.md": python_page,
    "settings.md": settings_page,
    "sql-support.md": support.render_support_page,
}
