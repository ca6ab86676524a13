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
        """Whether both are shown, and over each other. What has scrolled away isn't shown."""
        a, b = await _shown(one), await _shown(other)
        left, right = max(a[0], b[0]), min(a[2], b[2])
        top, bottom = max(a[1], b[1]), min(a[3], b[3])
        return left < right and top < bottom

    async def picture(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(path=file)


async def _shown(element: Locator) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of what can be seen of it."""
    left, top, right, bottom = await element.evaluate(
        """element => {
          const box = element.getBoundingClientRect();
          let shown = [box.left, box.top, box.right, box.bottom];
          for (let around = element.parentElement; around; around = around.parentElement) {
            if (getComputedStyle(around).overflowY === "visible") continue;
            const view = around.getBoundingClientRect();
            shown = [Math.max(shown[0], view.left), Math.max(shown[1], view.top),
                     Math.min(shown[2], view.right), Math.min(shown[3], view.bottom)];
          }
          return shown;
        }"""
    )
    return left, top, right, bottom
