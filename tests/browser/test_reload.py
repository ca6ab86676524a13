"""The developer's loop: `chainlit run app.py -w` reloads code and keeps the engine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.support.app import AppProcess, start_app

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the source tree, so that touching files harms nothing."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in listed.splitlines():
        if not name.startswith("tests/") and (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
async def watched(tree: Path, embedded_folder: Path) -> AsyncIterator[AppProcess]:
    """The app with `-w`."""
    env = {"ERNIE_CHAT_MODEL": "embedded"}
    async with start_app(env=env, cwd=tree, watch=True) as app:
        yield app


async def test_reloads_keep_the_engine(watched: AppProcess, open_page: OpenPage) -> None:
    chat = await open_page(url=watched.url)
    await chat.ready()
    await chat.ask("Say hello.")
    await chat.answered(1)
    engines = watched.children()
    assert len(engines) == 1
    for name in ("app.py", "ernie_chat/web/texts.py", "ernie_chat/engine/embedded.py"):
        file = watched.cwd / name
        async with chat.page.expect_navigation(wait_until="load", timeout=30_000):
            file.write_text(file.read_text() + "\n")
        await expect(chat.said).to_have_count(0)
        await chat.ready()
        assert watched.children() == engines
        await chat.ask("What is the capital of France?")
        assert "Paris" in await chat.answered(1)
