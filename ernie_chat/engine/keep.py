"""What a reload of the app must not lose: the running engine.

`chainlit run -w` drops every module whose file lies under the app's folder and runs `app.py`
again in the same process. A module without a file is not dropped, so one holds the engine. Only
plain data and objects of installed packages go in: an instance of a class of ours would keep the
old code alive, and fail `isinstance` in the new one. (The task and the collector are there only to
be ended by the code that comes next.)

Used from the event loop only.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import types
from typing import Any, Protocol, cast

from ernie_chat.engine.status import Status

NAME = "_ernie_chat_kept"


class Kept(Protocol):
    """What is kept. A Protocol: the object itself is a bare module."""

    status: dict[str, Any]
    """`Status.as_plain()`."""
    fingerprint: str | None
    """The settings the engine was started with; None before."""
    model: dict[str, Any] | None
    """The fields of the located Model."""
    llm: Any
    """The AsyncLLM once it is built."""
    starting: asyncio.Task[None] | None
    """The start in progress, so that nobody starts a second one and it isn't collected."""
    prefix_numbers: dict[str, float]
    """What `prefix.metrics` counts."""
    prefix_secret: bytes
    """Cache salts are made with it; a new one would hide from users what they have cached."""
    prefix_task: asyncio.Task[None] | None
    """Warms prefixes; code of a reload puts its own in its place."""
    prefix_collector: Any
    """What Prometheus asks for these numbers, of the newest code; None before."""
    changed: asyncio.Event
    """Set, and replaced by a new one, at each change of `status`."""


def kept() -> Kept:
    """The one kept object of this process."""
    module = sys.modules.get(NAME)
    if module is None:
        module = types.ModuleType(NAME, "ERNIE Chat's engine, where a reload can't reach it.")
        vars(module).update(
            status=Status().as_plain(),
            fingerprint=None,
            model=None,
            llm=None,
            starting=None,
            prefix_numbers={},
            prefix_secret=secrets.token_bytes(32),
            prefix_task=None,
            prefix_collector=None,
            changed=asyncio.Event(),
        )
        sys.modules[NAME] = module
    return cast(Kept, module)


def publish(status: Status) -> None:
    """Make `status` the current one and wake everybody who waits for a change. "stopped" is
    final: what a start in progress still has to say is late."""
    keep = kept()
    if keep.status["state"] == "stopped":
        return
    keep.status = status.as_plain()
    changed, keep.changed = keep.changed, asyncio.Event()
    changed.set()
