"""The page in a real browser: headless Chromium, driven by playwright (`tox -e page`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.left_out import Need, chromium, leave_out

from assay_reports.page import page as render
from assay_reports.report import Report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]


# No longer than its module: while it lives, its own event loop is a running one, and no other test could begin another.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="the page's own environment has it: tox -e page")
    if (found := chromium()) is None:
        leave_out(Need.CHROMIUM)
    command, environment = found
    with sync_api.sync_playwright() as playwright:
        # The page runs nothing but itself, and root has no sandbox.
        started = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"], env=environment)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a report from disk without network. In the end the page must have asked for nothing else, and complained
    of nothing."""
    complaints: list[str] = []
    asked: list[str] = []
    contexts: list[Any] = []

    def opened(report: Report, *, anchor: str = "", **options: Any) -> Page:
        (tmp_path / "report.html").write_text(render(report), "utf-8")
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        shown = context.new_page()
        shown.on("console", lambda message: complaints.append(message.text))
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.on("request", lambda request: asked.append(request.url))
        shown.goto((tmp_path / "report.html").as_uri() + anchor)
        return shown

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url.partition("#")[0] for url in asked} <= {(tmp_path / "report.html").as_uri()}
