"""Ports for servers that tests start."""

import contextlib
import random
import socket


def free_ports(n):
    """Returns n unused ports, below those that systems give to outgoing connections, which may be many."""
    ports = []
    with contextlib.ExitStack() as bound:
        while len(ports) < n:
            port = random.randrange(15_000, 32_000)
            with contextlib.suppress(OSError):
                bound.enter_context(socket.create_server(("127.0.0.1", port)))
                ports.append(str(port))
    return ports
