"""Is the port free? Asked before the model loads, so that nobody waits for a start that can't
succeed. Knows nothing else."""

from __future__ import annotations

import errno
import socket

from ernie_chat.errors import PortInUse


def check_port(host: str, port: int) -> None:
    """Raises PortInUse when something already listens there. Any other trouble with the address
    is left for the server to report."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As the server does: a port in TIME_WAIT from the last run is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortInUse(port=port) from error
