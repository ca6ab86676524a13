"""Waiting for the end of a process that is nobody's child here."""

from __future__ import annotations

import asyncio
import os


def ended(pid: int) -> asyncio.Future[None]:
    """Done when the process `pid`, which must exist now, has ended. Call in a running loop."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    descriptor = os.pidfd_open(pid)

    def end() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        if not done.done():
            done.set_result(None)

    loop.add_reader(descriptor, end)
    return done
