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
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tests.support.engine_process import ended

ROOT = Path(__file__).parents[2]
SERVES = "Your app is available at"
"""What Chainlit logs when its start-up hooks have run."""
START_S = 90.0
NOTHING_LEARNED = {"ERNIE_CHAT_LEARN_PROMPTS": "0"}
"""What tests ask isn't what the person asks in whose home they run."""
END_S = 30.0
"""Generous bounds for two busy cores."""


class AppProcess:
    """A running `chainlit run`, and all it has printed."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, cwd: Path) -> None:
        self.process = process
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

    async def serves(self) -> None:
        """Returns when the page is served."""
        await self.logged(SERVES)  # a moment before it listens, of which nothing tells
        async with asyncio.timeout(START_S):
            while not self._reading.done():
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except ConnectionRefusedError:
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    await writer.wait_closed()
                    return
        raise AssertionError(f"the app ended before it served its page\n{self.log}")

    def children(self) -> list[int]:
        """The processes it has started, and theirs, by id; but for Python's own helper."""
        return [pid for pid in self._family() if b"resource_tracker" not in _about(pid, "cmdline")]

    async def stop(self) -> None:
        """Ctrl-C. Fails when the app doesn't end, or leaves a process behind."""
        ends = {}
        for pid in self._family():
            with contextlib.suppress(ProcessLookupError):  # it ended just now
                ends[pid] = ended(pid)
        try:
            self._send(signal.SIGINT, self.process.pid)
            async with asyncio.timeout(END_S):
                await self.process.wait()
                await asyncio.gather(*ends.values())
                await self._reading  # it ends with the last process that can print here
        except TimeoutError:
            left = [pid for pid, end in ends.items() if not end.done()]
            raise AssertionError(
                f"{END_S:g} s after Ctrl-C: app ended: {self.process.returncode is not None},"
                f" its processes still there: {left}\n{self.log}"
            ) from None
        finally:
            for pid, end in ends.items():
                if not end.done():
                    self._send(signal.SIGKILL, pid)
            self._send(signal.SIGKILL, self.process.pid)
            self._reading.cancel()
            await asyncio.gather(self.process.wait(), *ends.values())

    def _send(self, number: signal.Signals, pid: int) -> None:
        # Not through `process`, whose look at the child takes its exit status from asyncio.
        if pid != self.process.pid or self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _family(self) -> list[int]:
        """Every process below the app's, by id."""
        parents = {
            pid: _parent(pid) for pid in map(int, filter(str.isdecimal, os.listdir("/proc")))
        }
        family = [self.process.pid]
        for ancestor in family:  # grows on the way
            family += [pid for pid, parent in parents.items() if parent == ancestor]
        return family[1:]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            async with self._news:
                self._printed.append(line.decode(errors="replace"))
                self._news.notify_all()
        async with self._news:
            self._news.notify_all()


def _about(pid: int, name: str) -> bytes:
    """A file about a process; empty when the process has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int | None:
    # The name, in parentheses, may hold anything; what follows it are state and parent.
    _, _, rest = _about(pid, "stat").rpartition(b")")
    return int(rest.split()[1]) if rest else None


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
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chainlit", "run", str(target), "--headless", "--port", str(port),
        *(["-w"] if watch else []),
        cwd=cwd,
        env={**inherited, "PYTHONUNBUFFERED": "1", **NOTHING_LEARNED, **(env or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=2**20,  # a line of a log
        start_new_session=True,  # Ctrl-C in the terminal of the tests is not for the app
    )  # fmt: skip
    app = AppProcess(process, port, cwd)
    try:
        await app.serves()
        yield app
    finally:
        await app.stop()
