"""`chainlit run -w`: the engine outlives every reload of the code, and the app leaves nothing.

A small app of its own that answers over HTTP, so that the subject is the engine and no page. The
browser tests do the same with the real page.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.engine_process import ended

ROOT = Path(__file__).parents[2]

APP = """
import multiprocessing
import os
import sys

import chainlit as cl
from chainlit.server import app
from fastapi.responses import StreamingResponse

os.environ["ERNIE_CHAT_CONTEXT_LENGTH"] = "1024"

from ernie_chat.engine.interface import Request, Sampling
from ernie_chat.service import service


@cl.on_app_startup
async def start_up():
    service().begin()


@cl.on_message
async def on_message(message):
    pass  # Chainlit wants one


@cl.on_app_shutdown
async def shut_down():
    await service().shutdown()


def request(name, max_tokens):
    return Request(id=name, prompt_ids=[5, 6, 7], sampling=Sampling(max_tokens=max_tokens))


async def probe():
    running = await service().ready()
    tokens = 0
    async for delta in running.engine.stream(request("probe", 4)):
        tokens += len(delta.token_ids)
    return {
        "tokens": tokens,
        "engines": [child.pid for child in multiprocessing.active_children()],
        "restart_needed": service().status().restart_needed,
        "code": id(sys.modules["ernie_chat.engine.embedded"]),
        "mine": type(running.engine) is sys.modules["ernie_chat.prefix.engine"].WarmedEngine
        and type(running.engine._engine)
        is sys.modules["ernie_chat.engine.embedded"].EmbeddedEngine,
    }


async def long():
    async def lines():
        running = await service().ready()
        async for delta in running.engine.stream(request("long", 900)):
            yield f"{delta.text}\\n"
    return StreamingResponse(lines())


for path, handler in {"/probe": probe, "/long": long}.items():
    app.router.routes[:] = [r for r in app.router.routes if getattr(r, "path", "") != path]
    app.add_api_route(path, handler)
    app.router.routes.insert(0, app.router.routes.pop())
print("the code is loaded", flush=True)
"""


class Watched:
    """`chainlit run -w` on a copy of the package."""

    def __init__(self, folder: Path, process: asyncio.subprocess.Process, url: str) -> None:
        self.folder = folder
        self.process = process
        self.client = httpx.AsyncClient(base_url=url, timeout=90, trust_env=False)
        self.printed = ""

    async def prints(self, wanted: str) -> None:
        """Returns when a line with `wanted` is printed from now on."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while line := (await self.process.stdout.readline()).decode():
                self.printed += line
                if wanted in line:
                    return
        raise AssertionError(self.printed)

    async def reload(self, name: str, old: str = "", new: str = "\n") -> None:
        """Returns when the app runs with `name` changed."""
        file = self.folder / name
        text = file.read_text()
        file.write_text(text.replace(old, new) if old else text + new)
        await self.prints("the code is loaded")

    async def first_reload(self, name: str) -> None:
        """Chainlit doesn't say when it has begun to watch, so this changes `name` until it has."""
        while True:
            try:
                async with asyncio.timeout(1):
                    return await self.reload(name)
            except TimeoutError:
                continue

    async def probe(self) -> dict[str, Any]:
        answer: dict[str, Any] = (await self.client.get("/probe")).raise_for_status().json()
        return answer


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    shutil.copytree(
        ROOT / "ernie_chat", tmp_path / "ernie_chat", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "app.py").write_text(APP)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chainlit", "run", "app.py", "-w", "--headless", "--port", str(port),
        cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env=os.environ | {"ERNIE_CHAT_MODEL": "embedded", "ERNIE_CHAT_KV_CACHE_GIB": "0.25"},
        start_new_session=True,
    )  # fmt: skip
    watched = Watched(tmp_path, process, f"http://127.0.0.1:{port}")
    yield watched
    await watched.client.aclose()
    if process.returncode is None:
        process.kill()
    await process.communicate()


async def test_the_engine_outlives_reloads_and_leaves_with_the_app(watched: Watched) -> None:
    await watched.prints("Your app is available")
    await watched.first_reload("ernie_chat/errors.py")  # while the engine is still being started
    assert "engine: loaded" not in watched.printed
    first = await watched.probe()
    assert first["tokens"] == 4
    assert len(first["engines"]) == 1
    assert not first["restart_needed"]

    seen = {first["code"]}
    for name in ("app.py", "ernie_chat/service.py", "ernie_chat/engine/embedded.py"):
        await watched.reload(name)
        probe = await watched.probe()
        assert probe["engines"] == first["engines"]
        assert probe["tokens"] == 4
        assert probe["mine"], "the engine is wrapped by the code that is loaded"
        assert not probe["restart_needed"]
        seen.add(probe["code"])
    assert len(seen) > 1, "the code was really loaded anew"

    await watched.reload("app.py", '"1024"', '"2048"')
    probe = await watched.probe()
    assert probe["restart_needed"]
    assert probe["engines"] == first["engines"]
    assert probe["tokens"] == 4

    gone = ended(first["engines"][0])
    async with watched.client.stream("GET", "/long") as answer:
        await anext(answer.aiter_lines())
        os.killpg(watched.process.pid, signal.SIGINT)  # what Ctrl-C in a terminal does
        async with asyncio.timeout(20):
            rest, _ = await watched.process.communicate()
    async with asyncio.timeout(5):
        await gone
    printed = watched.printed + rest.decode()
    assert "Traceback" not in printed, printed
    assert printed.count("engine: loaded") == 1
