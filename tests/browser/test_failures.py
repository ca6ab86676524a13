"""What goes wrong at the start is said, where it is read, in words that help."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.support.app import AppProcess, start_app

ROOT = Path(__file__).parents[2]


async def test_a_wrong_model_path(open_page: OpenPage, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    async with start_app(env={"ERNIE_CHAT_MODEL": str(missing)}) as app:
        chat = await open_page(url=app.url)
        await expect(chat.banner).to_contain_text("could not be found")
        await chat.ask("Hello?")
        await expect(chat.notes.last).to_contain_text("ERNIE_CHAT_MODEL")
        await expect(chat.stop).to_be_hidden()
        chinese = await open_page(url=app.url, locale="zh-CN")
        await expect(chinese.banner).to_contain_text("找不到模型")
        assert "Traceback" not in await chat.page.content()


async def test_a_message_sent_early_waits_and_is_answered(open_page: OpenPage) -> None:
    async with start_app(env={"ERNIE_CHAT_MODEL": "embedded"}) as app:
        chat = await open_page(url=app.url)
        await chat.ask("What is the capital of France?")
        await expect(chat.notes).to_contain_text("as soon as the model is ready")
        assert "Paris" in await chat.answered(1)
        await expect(chat.notes).to_have_count(0)


async def test_a_taken_port_ends_the_start_at_once(app: AppProcess) -> None:
    """Told before the model loads, and the program ends with an error."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chainlit", "run", "app.py", "--headless", "--port", str(app.port),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(60):
        printed, _ = await process.communicate()
    assert process.returncode != 0
    assert f"Port {app.port} is already in use" in printed.decode()
    assert "Loading the model" not in printed.decode()
