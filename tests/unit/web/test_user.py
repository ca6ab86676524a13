"""Whose session it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ernie_chat.prefix.prefixes import LOCAL, User
from ernie_chat.web.user import user_of


def of(client: object, *, login: str | None = None, **environ: str) -> User:
    session = SimpleNamespace(
        id="abc",
        user=SimpleNamespace(identifier=login) if login else None,
        environ={"asgi.scope": {"client": client}, "REMOTE_ADDR": "127.0.0.1", **environ},
    )
    return user_of(cast(Any, session))


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.1", "::1"])
def test_this_machine_has_one_user(address: str) -> None:
    assert of((address, 5)) == LOCAL


@pytest.mark.parametrize("client", [("192.168.0.7", 5), ("2001:db8::1", 5), None, ("a.sock", 0)])
def test_anybody_else_is_only_this_session(client: object) -> None:
    assert of(client) == User("session:abc", lasting=False)


@pytest.mark.parametrize("header", ["X_FORWARDED_FOR", "FORWARDED", "X_REAL_IP"])
def test_a_proxy_on_this_machine_is_not_its_user(header: str) -> None:
    assert not of(("127.0.0.1", 5), **{f"HTTP_{header}": "127.0.0.1"}).lasting


def test_a_login_is_known_everywhere() -> None:
    assert of(("192.168.0.7", 5), login="an") == User("login:an", lasting=True)
    assert of(("127.0.0.1", 5), login="local") != LOCAL
