"""The app as a process of its own, as its user starts it; it leaves nothing behind, or the test
fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tests.support.engine_process import ended

ROOT = Path(__file__).parents[2]
SERVES = "Your app is available at"
"""What Chainlit logs once it listens."""
MARK = "TESTED_APP"
"""An environment variable by which the app's processes are found."""

START_S = 90.0
END_S = 30.0
"""Generous bounds for two busy cores."""


class AppProcess:
    """A running `chainlit run`, and all it has printed."""

    def __init__(
        self, process: asyncio.subprocess.Process, port: int, cwd: Path, mark: str
    ) -> None:
        self.process = process
        self._mark = mark
        self.port = port
        self.cwd = cwd
        self.url = f"http://localhost:{port}"
        self._printed: list[str] = []
        self._news = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @property
    def log(self) -> str:
        """Everything printed so far."""
        return "".join(self._printed)

    async def logged(self, text: str, *, within_s: float = START_S) -> None:
        """Returns when `text` has been printed."""
        try:
            async with asyncio.timeout(within_s), self._news:
                await self._news.wait_for(lambda: text in self.log or self._reading.done())
        except TimeoutError:
            raise AssertionError(f"not logged within {within_s:g} s: {text}\n{self.log}") from None
        if text not in self.log:
            raise AssertionError(f"the app ended without logging: {text}\n{self.log}")

    def children(self) -> list[int]:
        """The processes it has started, and theirs, by id; but for Python's own helper."""
        return [pid for pid in self._marked() if "resource_tracker" not in _command(pid)]

    async def stop(self) -> None:
        """Ctrl-C. Fails when the app doesn't end well, or leaves a process behind."""
        try:
            self._send(signal.SIGINT, self.process.pid)
            async with asyncio.timeout(END_S):
                await self.process.wait()
                for pid in self._marked():
                    with contextlib.suppress(ProcessLookupError):
                        await ended(pid)
                await self._reading
        except TimeoutError:
            raise AssertionError(f"still there {END_S:g} s after Ctrl-C\n{self.log}") from None
        finally:
            self._kill()
            await self._reading

    def _kill(self) -> None:
        for pid in [self.process.pid, *self._marked()]:
            self._send(signal.SIGKILL, pid)

    def _send(self, number: signal.Signals, pid: int) -> None:
        # Not through `process`, whose look at the child takes its exit status from asyncio.
        if pid != self.process.pid or self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _marked(self) -> list[int]:
        """Every other process that inherited the app's environment, whoever its parent is now."""
        entry = f"{MARK}={self._mark}".encode()
        return [
            pid
            for pid in map(int, filter(str.isdecimal, os.listdir("/proc")))
            if pid != self.process.pid and entry in _read(pid, "environ").split(b"\0")
        ]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            async with self._news:
                self._printed.append(line.decode(errors="replace"))
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()


def _read(pid: int, name: str) -> bytes:
    """A file about a process; empty when the process has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _command(pid: int) -> str:
    return _read(pid, "cmdline").decode(errors="replace")


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def start_app(
    *,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    target: Path = Path("app.py"),
    watch: bool = False,
) -> AsyncIterator[AppProcess]:
    """The app of the source tree `cwd`, as soon as its page is served; its engine may still be
    starting. Ends with Ctrl-C, checked."""
    port = port or free_port()
    mark = uuid.uuid4().hex
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chainlit", "run", str(target), "--headless", "--port", str(port),
        *(["-w"] if watch else []),
        cwd=cwd,
        env={**inherited, "PYTHONUNBUFFERED": "1", **(env or {}), MARK: mark},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=2**20,  # a line of a log
        start_new_session=True,  # Ctrl-C in the terminal of the tests is not for the app
    )  # fmt: skip
    app = AppProcess(process, port, cwd, mark)
    try:
        await app.logged(SERVES)
        yield app
    finally:
        await app.stop()
