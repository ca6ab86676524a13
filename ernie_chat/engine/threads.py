"""A blocking call in a thread of its own.

Not `asyncio.to_thread`: its pool's threads are waited for when the process ends, and they have
run other things before. OpenMP keeps a team of threads per thread that used it; a fork from a
fresh thread has none to miss.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_own_thread(function: Callable[[], T], *, name: str) -> T:
    """What `function` returns or raises. A cancelled caller leaves the thread to itself."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = function()
        except BaseException as error:
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await done
