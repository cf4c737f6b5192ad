"""The page in a real browser, over a real service; whatever the browser complains of fails the test."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import anabranch as ab
from tests.browser.serving import PATIENCE, Services
from tests.browser.worlds import tick_until_one_failed, varied
from tests.engines.lakes import duck_lake

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MISSING = (
    "the browser tests need Chromium: run `sh tools/install_chromium.sh`, name one with ANABRANCH_CHROMIUM, "
    "or leave these tests out with ANABRANCH_NO_BROWSER=1"
)
SCREENS = Path("build/screenshots")

expect.set_options(timeout=PATIENCE * 1000)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Notices are expected here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all; a missing one is a failure, unless it was said that there is none."""
    if os.environ.get("ANABRANCH_NO_BROWSER") == "1":
        pytest.skip("ANABRANCH_NO_BROWSER=1")
    path = os.environ.get("ANABRANCH_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.fail(MISSING)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_lake(place) -> Iterator[Callable[..., ab.Lake]]:
    """A fresh lake on the machine's clock, on the engine for tests."""
    lakes: list[ab.Lake] = []

    def opened(**settings: object) -> ab.Lake:
        lakes.append(duck_lake(place, **settings))
        return lakes[-1]

    yield opened
    for lake in lakes:
        lake.close()


@pytest.fixture
def served() -> Iterator[Services]:
    """Serves lakes while a test runs."""
    services = Services()
    yield services
    services.close()


@pytest.fixture(scope="session")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ab.Lake, str]]:
    """The varied lake after its first ticks, and where it is served: for tests that only look."""
    services = Services()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        with duck_lake(tmp_path_factory.mktemp("still") / "lake", allow_circular=True) as lake:
            tick_until_one_failed(varied(lake))
            yield lake, services(lake, scheduler=False)
            services.close()


Opened = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens a page. At the end, no error was logged, no script failed, no policy was violated."""
    contexts, complaints, forgiven = [], [], []

    def open_page(address: str, route: str = "#/", *, forgive: tuple[str, ...] = (), **options: Any) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | options))
        contexts.append(context)
        forgiven.extend(forgive)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"a dialog opened: {dialog.message}"))
        page.goto(f"{address}/{route}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in complaints if not any(part in text for part in forgiven)] == []


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keeps a picture of a page, to be looked at."""

    def kept(page: Page, name: str = "") -> None:
        SCREENS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENS / f"{request.node.name}{name and '-'}{name}.png")

    return kept
