"""The two moments of a socket for which Chainlit has no hook: Stop, and coming back.

Chainlit's own "stop" writes an English sentence into every chat and reaches only its own task,
neither edited messages nor actions; a socket that comes back after a drop is told nothing of
what it missed. Registering a handler under the same name replaces Chainlit's; after a reload the
new handlers replace the old ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chainlit.session import WebsocketSession

Hook = Callable[[], Awaitable[None]]


def current_session() -> WebsocketSession:
    """The session whose event is being handled. All of ours come from browsers."""
    from chainlit.context import context
    from chainlit.session import WebsocketSession

    session = context.session
    assert isinstance(session, WebsocketSession)
    return session


def install(*, on_stop: Hook, on_return: Hook) -> None:
    """`on_stop` runs when Stop is pressed; `on_return` when a known session has a socket again.
    Both run in that session's Chainlit context."""
    from chainlit import socket
    from chainlit.context import init_ws_context
    from chainlit.server import sio
    from chainlit.session import WebsocketSession

    async def stop(sid: str) -> None:
        if session := WebsocketSession.get(sid):
            init_ws_context(session)
            await on_stop()

    async def connection_successful(sid: str) -> None:
        await socket.connection_successful(sid)
        session = WebsocketSession.get(sid)
        if session and session.restored:
            init_ws_context(session)
            await on_return()

    sio.on("stop", stop)
    sio.on("connection_successful", connection_successful)
