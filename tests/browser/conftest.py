"""A real browser on the real app: one Chromium and one `chainlit run` for the whole run."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from tests.browser.chat_page import ChatPage
from tests.support.app import AppProcess, start_app

PICTURES = Path(__file__).parents[2] / "test-results"
OpenPage = Callable[..., Awaitable[ChatPage]]


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    found = os.environ.get("ERNIE_CHAT_TEST_CHROMIUM") or shutil.which("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=found,
            args=[
                "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
            ],
        )  # fmt: skip
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
async def app(embedded_folder: Path) -> AsyncIterator[AppProcess]:
    """The product as `make chat` starts it, answering with the embedded model."""
    async with start_app(
        env={"ERNIE_CHAT_MODEL": "embedded", "ERNIE_CHAT_MAX_TOKENS": "160"}
    ) as app:
        yield app


@pytest.fixture
async def open_page(browser: Browser, app: AppProcess) -> AsyncIterator[OpenPage]:
    """Opens a fresh browser profile on the app; fails a test whose page saw an error or asked
    another host."""
    troubles: list[str] = []
    contexts = []

    async def open_page(
        *, url: str = app.url, locale: str = "en-US", dark: bool = False, width: int = 1280,
        height: int = 800,
    ) -> ChatPage:  # fmt: skip
        context = await browser.new_context(
            locale=locale,
            color_scheme="dark" if dark else "light",
            viewport={"width": width, "height": height},
        )
        await context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
        contexts.append(context)
        page = await context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((url, "data:", "blob:", url.replace("http", "ws")))
                else troubles.append(f"asked another host: {request.url}")
            ),
        )
        chat = ChatPage(page, url)
        await chat.open()
        return chat

    yield open_page
    for context in contexts:
        await context.close()
    assert troubles == []
