from __future__ import annotations

import socket

import pytest

from ernie_chat.errors import PortInUse
from ernie_chat.web.port import check_port


def test_a_taken_port_is_told_with_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse) as caught:
            check_port("127.0.0.1", port)
    assert str(port) in caught.value.sentence("zh")
    assert "make chat PORT=" in caught.value.sentence("en")


def test_a_free_port_is_left_free() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))


def test_a_strange_host_is_left_to_the_server() -> None:
    check_port("192.0.2.1", 8000)  # TEST-NET-1 (RFC 5737): never ours to bind
