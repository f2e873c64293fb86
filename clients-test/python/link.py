"""A link to a server that can fail, and commands to a server without a client library."""

import contextlib
import socket
import threading


class Link:
    """A proxy to a server that can be down, open, or stalled: forwarding nothing with open connections."""

    def __init__(self, to):
        self.to = (to["host"], to["port"])
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))  # connections are refused until it listens
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.flowing = threading.Event()
        self.flowing.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def open(self):
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def stall(self):
        self.flowing.clear()

    def accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(self.to)
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()

    def carry(self, source, sink):
        with contextlib.suppress(OSError):
            while some := source.recv(65536):
                self.flowing.wait()
                sink.sendall(some)
        sink.close()


def call(to, *arguments):
    """Sends a command to a server, and returns the first line of its reply."""
    parts = [part.encode() for part in arguments]
    line = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    with socket.create_connection((to["host"], to["port"]), 60) as connection, connection.makefile("rb") as replies:
        connection.sendall(line)
        reply = replies.readline().decode().rstrip()
    if not reply or reply[0] == "-":
        raise ValueError(f"{arguments[0]}: {reply or 'no reply'}")
    return reply
