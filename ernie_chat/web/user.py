"""Whose session this is, as far as anybody can tell: what decides who finds whose prompts in the
prefix cache, and whose prompts are learned.

A login's name; else, on this machine itself, its one user; else this browser, for this session.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ernie_chat.prefix.prefixes import LOCAL, User

if TYPE_CHECKING:
    from chainlit.session import WebsocketSession

_FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")


def user_of(session: WebsocketSession) -> User:
    """The user of a Chainlit session."""
    if session.user is not None:
        return User(f"login:{session.user.identifier}", lasting=True)
    if _is_here(session.environ):
        return LOCAL
    return User(f"session:{session.id}", lasting=False)


def _is_here(environ: Mapping[str, Any]) -> bool:
    """Whether the browser runs on this machine, with no proxy in between that would say so of
    everybody."""
    if any(name in environ for name in _FORWARDED):
        return False
    # engineio's REMOTE_ADDR is a constant; the real one is in the scope.
    client = environ.get("asgi.scope", {}).get("client")
    try:
        return client is not None and ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False
