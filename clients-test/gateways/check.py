"""Runs the gateway of docs/budgets.md in a language: python3 check.py node, say.

The gateway runs as it stands on the page, but extends more often, and waits longer for a busy machine. The clock of its server stands still, so
that a reservation ends only when a case moves the clock.
"""

import contextlib
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import programs
from ports import free_ports
from report import Between, expect, run

PAGE = programs.HERE.parent.parent / "docs" / "budgets.md"

LANGUAGE = sys.argv[1]

PATIENCE = 60  # seconds for the start of a server, and for a settlement

# A gateway of the cases answers within 3 s while there is no server. This is for a busy machine, in
# milliseconds.
IN_TIME = Between(0, 10_000)

RULES = """domain: chat
rules:
  - {name: calls, per: [tenant], limits: [{count: 60, window: hour, algorithm: log, hits: 1}]}
  - {name: tokens, per: [tenant], limits: [{count: 100000, window: hour, algorithm: log, name: hour}]}
"""

ANSWER = {"text": "The answer is 42.", "ms": IN_TIME}


class Server:
    def __init__(self, port):
        self.port = port
        self.rules = programs.BUILD / f"rules-{LANGUAGE}.yaml"
        self.rules.write_text(RULES)
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LIMITSRV_")}
        command = [os.environ["LIMITSRV_PROGRAM"], "--listen", f"127.0.0.1:{self.port}", "--rules", self.rules, "--test-clock"]
        self.process = subprocess.Popen(command, stdout=sys.stderr, env=environment)
        wait_for(lambda: self.left()[0], 60)

    def call(self, *arguments):
        parts = [part.encode() for part in arguments]
        line = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        with socket.create_connection(("127.0.0.1", int(self.port)), PATIENCE) as connection, connection.makefile("rb") as replies:
            connection.sendall(line)
            return read(replies)

    def left(self):
        """Returns the numbers of calls and tokens that the tenant has left."""
        return [row[3] for row in self.call("RL.CHECK", "chat", "tenant", "acme", "HITS", "0", "ROWS")[7]]

    def advance(self, seconds):
        expect(self.call("DEBUG", "ADVANCE-TIME", f"{seconds}s"), "OK")

    def close(self):
        self.process.kill()
        self.process.wait()


def read(replies):
    """Reads a reply of RESP2."""
    line = replies.readline().decode().rstrip()
    kind, text = line[:1], line[1:]
    if kind == "*":
        return [read(replies) for _ in range(int(text))]
    if kind == "$":
        return replies.read(int(text) + 2)[:-2].decode()
    if kind not in ("+", ":"):
        raise ValueError(f"got {line!r}")
    return text if kind == "+" else int(text)


def wait_for(get, want):
    """Waits until get() returns a value."""
    deadline, got = time.monotonic() + PATIENCE, None
    while got != want and time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):
            got = get()
        time.sleep(0.02)
    expect(got, want)


class Gateway:
    def __init__(self, command):
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)

    def ask(self, name, policy="closed", pause=0):
        """Begins a request. Each part of the answer is followed by a pause in milliseconds."""
        self.process.stdin.write(f"{name} {policy} {pause}\n")

    def result(self):
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.kill()
        self.process.wait()


def ends_with(name, result, left, server, gateway):
    """A request has a result, and then the limits have so many calls and tokens left."""
    gateway.ask(name)
    expect(gateway.result(), result)
    wait_for(server.left, left)


def extends(server, gateway):
    gateway.ask("answer", pause=1000)
    wait_for(server.left, [59, 94_800])
    for _ in range(3):  # later than the TTL together
        server.advance(20)
        wait_for(lambda: server.call("RL.CHECK", "chat", "tenant", "acme", "HITS", "0")[0], 1)
        time.sleep(0.4)  # some extensions
    expect(server.left(), [59, 94_800])
    expect(gateway.result()["text"], ANSWER["text"])
    wait_for(server.left, [59, 98_795])


def dies(server, gateway):
    gateway.ask("die")
    expect(gateway.process.wait(PATIENCE), 9)
    expect(server.left(), [59, 94_800])
    server.advance(30)
    expect(server.left(), [59, 98_800])


def down(policy, result, left, server, gateway):
    """The server is down for a request. Once it runs again, the limits have so many calls and tokens left."""
    server.close()
    gateway.ask("answer", policy)
    expect(gateway.result(), result)
    server.start()
    wait_for(server.left, left)


def stopped(policy, result, server, gateway):
    server.process.send_signal(signal.SIGSTOP)
    try:
        gateway.ask("answer", policy)
        expect(gateway.result(), result)
    finally:
        server.process.send_signal(signal.SIGCONT)


def failed(error):
    return {"error": error, "ms": IN_TIME}


CASES = {
    "answer": functools.partial(ends_with, "answer", ANSWER, [59, 98_795]),
    "hang-up": functools.partial(ends_with, "hang-up", {"text": "The ", "ms": IN_TIME}, [59, 98_799]),
    "no-provider": functools.partial(ends_with, "no-provider", failed("refused"), [60, 100_000]),
    "broken-provider": functools.partial(ends_with, "broken-provider", failed("broken"), [59, 98_800]),
    "too-much": functools.partial(ends_with, "too-much", failed("429 tokens/hour"), [60, 100_000]),
    "extends": extends,
    "dies": dies,
    "down-closed": functools.partial(down, "closed", failed("503"), [60, 100_000]),
    "down-open": functools.partial(down, "open", ANSWER, [60, 98_795]),
    "stopped-closed": functools.partial(stopped, "closed", failed("503")),
    "stopped-open": functools.partial(stopped, "open", ANSWER),
}


def with_server(case, port, command):
    with contextlib.closing(Server(port)) as server, contextlib.closing(Gateway(command)) as gateway:
        case(server, gateway)


def main():
    block = programs.LANGUAGES[LANGUAGE].block
    blocks = re.findall(rf"^```{block}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        raise SystemExit(f"the page has {len(blocks)} blocks of {block}, want one")
    [port] = free_ports(1)
    command = programs.write(LANGUAGE, blocks[0], port)

    return run({name: functools.partial(with_server, case, port, command) for name, case in CASES.items()})


if __name__ == "__main__":
    sys.exit(main())
