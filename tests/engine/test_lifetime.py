"""Engine and app die together, and what dies first is told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_process import ended

ROOT = Path(__file__).parents[2]


class Program:
    """`tests.support.engine_program`, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def hears(self, key: str, *wanted: Any) -> Any:
        """The value of the next line that has `key`, and one of the `wanted` values if given."""
        assert self.process.stdout is not None
        async with asyncio.timeout(90):
            while line := await self.process.stdout.readline():
                said = json.loads(line) if line.startswith(b"{") else {}  # vLLM prints here too
                if key in said and (not wanted or said[key] in wanted):
                    return said[key]
        raise AssertionError(f"the program ended without {key}")


@pytest.fixture
async def program() -> AsyncIterator[Program]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.engine_program",
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    yield Program(process)
    if process.returncode is None:
        process.kill()
    await process.communicate()


async def test_a_killed_app_takes_its_engine_along(program: Program) -> None:
    (engine,) = await program.hears("engine")
    await program.hears("tokens")
    gone = ended(engine)
    os.kill(program.process.pid, signal.SIGKILL)
    await program.process.wait()
    async with asyncio.timeout(5):
        await gone


async def test_a_killed_engine_is_told(program: Program) -> None:
    """To the reader of its stream, and in the status; the app lives on."""
    (engine,) = await program.hears("engine")
    await program.hears("tokens")
    os.kill(engine, signal.SIGKILL)
    assert await program.hears("finish") == "EngineDied"
    assert await program.hears("state", "failed")
    assert program.process.returncode is None
