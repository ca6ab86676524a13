"""The page as its user handles it: what can be pressed, and what can be read."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import Locator, Page, expect

ANSWER_MS = 60_000
"""A generous bound for an answer on two busy cores; nothing waits this long when all is well."""


class ChatPage:
    """One browser page on the app."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.input = page.locator("#chat-input")
        self.send = page.locator("#chat-submit")
        self.stop = page.locator("#stop-button")
        self.banner = page.locator("#ernie-banner")
        self.said = page.locator('[data-step-type="user_message"]')
        self.answers = page.locator('[data-step-type="assistant_message"]:has(.ernie-stats)')
        self.notes = page.locator('[data-step-type="assistant_message"]:not(:has(.ernie-stats))')

    async def open(self) -> None:
        await self.page.goto(self.url)
        await expect(self.input).to_be_visible()

    async def ready(self) -> None:
        """The engine is up, as the page knows it."""
        await self.page.wait_for_function(
            "document.documentElement.dataset.ernie === 'ready'", timeout=120_000
        )

    async def ask(self, text: str) -> None:
        await self.input.fill(text)
        await self.send.click()

    async def answered(self, count: int) -> str:
        """The text of the newest answer, once there are `count` finished ones."""
        await expect(self.answers).to_have_count(count, timeout=ANSWER_MS)
        await expect(self.stop).to_be_hidden()
        return await self.text_of(self.answers.last)

    async def text_of(self, step: Locator) -> str:
        parts = await step.locator('[role="article"], pre, li').all_inner_texts()
        return "\n".join(parts)

    async def streaming(self, characters: int = 1) -> str:
        """What is shown of an answer that still grows, once it has so many characters."""
        growing = self.page.locator('[data-step-type="assistant_message"] .message-content').last
        await expect(growing).to_have_text(
            re.compile(rf"[\s\S]{{{characters},}}"), timeout=ANSWER_MS
        )
        return await growing.inner_text()

    def stats(self, answer: Locator | None = None) -> Locator:
        return (answer or self.answers.last).locator(".ernie-stats")

    async def edit(self, nth: int, text: str) -> None:
        message = self.said.nth(nth)
        await message.hover()
        await message.locator(".edit-message").click()
        await self.page.locator("#edit-chat-input").fill(text)
        await self.page.locator(".confirm-edit").click()

    @property
    def regenerate(self) -> Locator:
        return self.page.locator(".ai-message button:has(.lucide-refresh-cw)")

    async def overlap(self, one: Locator, other: Locator) -> bool:
        """Whether both are shown, and over each other."""
        a, b = await one.bounding_box(), await other.bounding_box()
        if a is None or b is None:
            return False
        return (
            a["x"] < b["x"] + b["width"]
            and b["x"] < a["x"] + a["width"]
            and a["y"] < b["y"] + b["height"]
            and b["y"] < a["y"] + a["height"]
        )

    async def picture(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(path=file)
