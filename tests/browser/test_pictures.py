"""Pictures of the page for a person to look at, and the one of the README. They fail only when the
page can't be brought into the state they show."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.conftest import PICTURES, OpenPage

QUESTIONS = {"en-US": "What is the capital of France?", "zh-CN": "你好！请介绍一下你自己。"}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("locale", QUESTIONS)
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)], ids=["wide", "narrow"])
async def test_picture(
    open_page: OpenPage, dark: bool, locale: str, width: int, height: int
) -> None:
    chat = await open_page(locale=locale, dark=dark, width=width, height=height)
    await chat.ready()
    name = f"{locale[:2]}-{'dark' if dark else 'light'}-{width}"
    await expect(chat.page.locator("#starters")).to_be_visible()
    await chat.picture(PICTURES / f"{name}-empty.png")
    await chat.ask(QUESTIONS[locale])
    await chat.answered(1)
    await chat.picture(PICTURES / f"{name}-answer.png")
    overflow = await chat.page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0, "the page scrolls sideways"
    assert not await chat.overlap(chat.said.first, chat.banner), "the banner hides the question"
    await chat.page.set_viewport_size({"width": width, "height": 360})  # now it has to scroll
    for _ in range(4):
        await chat.page.mouse.move(width / 2, 200)
        await chat.page.mouse.wheel(0, 25)
        assert not await chat.overlap(chat.said.first, chat.banner), "it hides what has scrolled"
