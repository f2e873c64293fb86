"""Runs the limiters of docs/moving-here.md in a language: python3 check.py node, say.

The code before runs on redis-server and on limitsrv, and the RL command on limitsrv, with the same
requests. The page says whether they decide the same. The snippets run as they stand on the
page. Time is the test's: it moves the clock of the snippets, the clock of limitsrv and the expiry of keys in Redis.
"""

import contextlib
import functools
import itertools
import os
import random
import re
import socket
import subprocess
import sys
import time

import programs
from link import call
from ports import free_ports
from report import expect, run

PAGE = programs.HERE.parent.parent / "docs" / "moving-here.md"

LANGUAGE = sys.argv[1]

PATIENCE = 60  # seconds for the start of a server

HOUR = 3_600_000  # in milliseconds, as all times of the clocks here

# Requests begin some milliseconds after a full hour, and then alternate with waits: from 500,
# [12, 200, 3] are 12 requests at 500 and 3 at 700. Then come the numbers of requests that the code
# before allows each time, and those that the command allows, if they are others. No request may
# come when a window of the clock begins.
SEQUENCES = {
    "counter-with-expiry": [
        (1000, [12, 30_000, 5, 40_000, 12], [10, 0, 10]),
        (30_000, [12, 40_000, 12, 40_000, 12], [10, 0, 10], [10, 10, 0]),
    ],
    "two-counters-burst-and-sustained": [
        (500, [5, 1000, 5, 1000, 5, 1000, 5, 1000, 5, 57_000, 5], [5, 5, 5, 5, 0, 5]),
        (500, [7, 1000, 7, 1000, 7, 1000, 7], [5, 5, 5, 0], [5, 5, 5, 5]),
    ],
    "two-counters-previous-and-current-window": [(50_000, [12, 10_001, 3, 10_000, 3, 30_000, 12, 60_000, 12], [10, 1, 1, 5, 8])],
    "sorted-set-log": [
        (0, [10, 60_000, 10, 60_000, 10], [10, 10, 10]),
        (0, [10, 30_000, 5, 30_000, 10], [10, 0, 5], [10, 0, 10]),
    ],
    "token-bucket-per-second": [
        (0, [12, 1000, 6, 3000, 12], [10, 5, 10]),
        (900, [12, 100, 6, 500, 6, 500, 6], [10, 5, 0, 5], [10, 0, 3, 2]),
    ],
    "token-bucket-per-millisecond": [
        (0, [12, 200, 2, 199, 1, 1, 1, 1000, 6, 2000, 12], [10, 1, 0, 1, 5, 10]),
        (0, [10, *[20, 1] * 10, 1, 1], [10, *[0] * 10, 1], [10, *[0] * 9, 1, 0]),
    ],
    "leaky-list": [(0, [12, 200, 2, 199, 1, 1, 1, 1000, 6, 2000, 12], [10, 1, 0, 1, 5, 10])],
    "gcra": [(0, [7, 6000, 2, 5999, 1, 1, 1, 12_000, 3, 30_000, 7], [5, 1, 0, 1, 2, 5])],
}

# The longest waits of random requests, which limiters with equal decisions get as well.
WAITS = {"two-counters-previous-and-current-window": 20_000, "leaky-list": 1500, "gcra": 15_000}
RANDOM_STEPS = 60

# Redis has no clock that a test can move, so the remaining lifetimes shrink instead.
SHORTEN_LIVES = """for _, key in ipairs(redis.call('KEYS', '*')) do
    local left = redis.call('PTTL', key)
    if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1]) end
end
return 0"""

# Lifetimes in Redis also shrink by the time that requests take. A sequence that takes longer than
# MARGIN, in seconds, is sent again. No sequence comes closer to the end of a lifetime that decides.
MARGIN = 10

TRIES = 5  # of a sequence, and of the start of a server


class Server:
    """A server whose clock the test moves."""

    def __init__(self, name, program, options):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LIMITSRV_")}
        for _ in range(TRIES):  # another program may take the port
            [self.port] = free_ports(1)
            self.process = subprocess.Popen([program, *options(self.port)], cwd=programs.BUILD, stdout=sys.stderr, env=environment)
            deadline = time.monotonic() + PATIENCE
            while self.process.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(OSError, ValueError):
                    if self.call("PING") == "+PONG" and self.process.poll() is None:
                        return
                time.sleep(0.02)
            self.end()
        raise OSError(f"{name} does not answer")

    def call(self, *arguments):
        return call({"host": "127.0.0.1", "port": int(self.port)}, *arguments)

    def end(self):
        self.process.kill()
        self.process.wait()


class Redis(Server):
    def __init__(self):
        super().__init__("redis-server", "redis-server", lambda port: ["--bind", "127.0.0.1", "--port", port, "--save", "", "--loglevel", "warning"])
        self.now = 490_000 * HOUR

    def wait(self, milliseconds):
        self.call("EVAL", SHORTEN_LIVES, "0", str(milliseconds))
        self.now += milliseconds


class Limitsrv(Server):
    def __init__(self):
        super().__init__("limitsrv", os.environ["LIMITSRV_PROGRAM"], lambda port: ["--listen", f"127.0.0.1:{port}", "--test-clock"])
        with socket.create_connection(("127.0.0.1", int(self.port))) as connection, connection.makefile("rb") as replies:
            connection.sendall(b"TIME\r\n")
            _, _, seconds, _, microseconds = (replies.readline() for _ in range(5))
        begun = int(seconds) * 1_000_000 + int(microseconds)
        self.now = (begun // 1000 // HOUR + 1) * HOUR
        # Less than a microsecond before now: the reply to TIME is rounded down.
        self.call("DEBUG", "ADVANCE-TIME", f"{self.now * 1000 - 1 - begun}us")

    def wait(self, milliseconds):
        self.call("DEBUG", "ADVANCE-TIME", f"{milliseconds}ms")
        self.now += milliseconds


class Program:
    """The snippets of the page in a language."""

    def __init__(self, snippets, scripts):
        compile_all, run_it = programs.write(LANGUAGE, snippets, scripts)
        for compile_it in compile_all:
            subprocess.run(compile_it, check=True, stdout=sys.stderr)
        self.process = subprocess.Popen(run_it, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)

    def ask(self, name, server, requests, key):
        """Returns the decisions of a snippet as a text of 0 and 1."""
        self.process.stdin.write(f"{name} {server.port} {server.now} {requests} {key}\n")
        answer = self.process.stdout.readline()
        if not answer:
            raise ValueError(f"{LANGUAGE} failed in {name}; its error is in the output")
        return answer.strip()

    def end(self):
        self.process.kill()
        self.process.wait()


KEYS = (f"key{i}" for i in itertools.count())


def decisions(program, name, server, offset, steps):
    """Returns the decisions of a snippet, a text for each number of requests."""
    for _ in range(TRIES):
        key, answers = next(KEYS), []
        server.wait(HOUR - server.now % HOUR + offset)
        begun = time.monotonic()
        for i, step in enumerate(steps):
            if i % 2 == 0:
                answers.append(program.ask(name, server, step, key))
            else:
                server.wait(step)
        if time.monotonic() - begun < MARGIN:
            return answers
    raise ValueError(f"{len(steps)} steps took longer than {MARGIN} s, {TRIES} times")


def compare(program, redis, limitsrv, section, offset, steps):
    """Returns the decisions before, which must be the same on both servers, and after."""
    before, unchanged = (decisions(program, name_of("before", section), server, offset, steps) for server in (redis, limitsrv))
    if unchanged != before:
        raise ValueError(f"{steps} from {offset}: the code before decides {unchanged} on limitsrv, {before} on Redis")
    return before, decisions(program, name_of("after", section), limitsrv, offset, steps)


def texts(steps, allowed):
    """Returns the decisions when of each burst this many requests are allowed, and then no more."""
    return ["1" * passed + "0" * (requests - passed) for requests, passed in zip(steps[::2], allowed, strict=True)]


def check(section, *tested):
    for offset, steps, *allowed in SEQUENCES[section]:
        before, after = compare(*tested, section, offset, steps)
        expect({"before": before, "after": after}, {"before": texts(steps, allowed[0]), "after": texts(steps, allowed[-1])})
    if section in WAITS:
        chosen = random.Random(section)
        steps = [chosen.randint(1, WAITS[section]) if i % 2 else chosen.randint(1, 6) for i in range(RANDOM_STEPS)]
        before, after = compare(*tested, section, 1, steps)
        if after != before or "0" not in "".join(before):
            raise ValueError(f"{steps}: {after} with the command, {before} before")


def name_of(form, section):
    return f"{form}_{section.replace('-', '_')}"


def read_page():
    """Returns equal or differ for each section, the snippets by name, and the scripts by name."""
    page = PAGE.read_text()
    said = dict(re.findall(r"^\|.*\(#([\w-]+)\) \|.*\| (equal|differ|differ by rounding) \|$", page, re.MULTILINE))
    snippets = {}
    for text in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        section = re.sub(r"[^\w -]", "", text.partition("\n")[0].lower()).replace(" ", "-")
        if section not in said:
            continue
        [block] = re.findall(rf"<summary>{programs.LANGUAGES[LANGUAGE].name}</summary>\n\n```diff\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for form, mark in (("before", "-"), ("after", "+")):
            snippets[name_of(form, section)] = "".join(line[1:] + "\n" for line in block.splitlines() if line[0] in (mark, " "))
    scripts = re.findall(r"^```lua\n(-- (\w+): .*?)^```", page, re.MULTILINE | re.DOTALL)
    return said, snippets, {name: text for text, name in scripts}


def main():
    said, snippets, scripts = read_page()
    if set(said) != set(SEQUENCES) or len(snippets) != 2 * len(said) or {name for name in said if said[name] == "equal"} != set(WAITS):
        raise SystemExit(f"the page says {said} and has the snippets {list(snippets)}, want both for {list(SEQUENCES)}, and equal for {list(WAITS)}")
    with contextlib.ExitStack() as ended:
        tested = []
        for make in (lambda: Program(snippets, scripts), Redis, Limitsrv):
            tested.append(make())
            ended.callback(tested[-1].end)
        return run({section: functools.partial(check, section) for section in SEQUENCES}, *tested)


if __name__ == "__main__":
    sys.exit(main())
