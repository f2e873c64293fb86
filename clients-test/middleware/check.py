"""Tests middleware over HTTP, for example: python3 check.py express, with all cases or those that follow."""

import concurrent.futures
import contextlib
import functools
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import twolimits
from link import Link, call
from ports import free_ports
from report import Between, OneOf, address, expect, run

FRAMEWORK = sys.argv[1]

PYTHON = pathlib.Path(".build/python/bin/python").absolute()

PROGRAMS = {
    "express": ["node", "app.mjs"],
    "fastify": ["node", "app.mjs"],
    "fastapi": [PYTHON, "app.py"],
    "django": [PYTHON, "app.py"],
    "net-http": ["../.build/net-http"],
    "servlet": ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "@.build/arguments", "App"],
    "axum": ["../.build/axum/debug/recipe"],
}

# Timeouts of the application's requests to limitsrv, in milliseconds. A long one is for
# requests that limitsrv must decide, on a machine that may stand still for seconds.
SHORT, LONG = 100, 15_000

# Seconds within which a request must be answered on an idle machine if limitsrv fails and
# the timeout is SHORT. On one that stands still at times, one of the TRIES must.
REQUEST_TIMEOUT, TRIES = 1, 5
LATE = 10  # requests that may get no decision within SHORT

PATIENCE = 120  # seconds for any other request, and for the start of the application

WORK_ROUNDS, WORK_SECONDS = 1_000_000, 0.04  # of a loop, and its time on an idle machine
LOAD_PERIOD = 5  # seconds for which a measurement of the load is used

REMEMBER = 600_000  # milliseconds for which the application answers a denial by itself

HOURS_THIRD = Between(1140, 1200)  # seconds to refill one of 3 tokens per hour


@contextlib.contextmanager
def app(limiter, fail, timeout=LONG, remember=REMEMBER, program=None):
    """Runs the application, or another program, with the limiter at HOST:PORT; yields its URL."""
    [port] = free_ports(1)
    environment = os.environ | {
        "LIMITSRV_ADDR": limiter, "FAIL": fail, "TIMEOUT": str(timeout), "REMEMBER": str(remember), "PORT": port}
    process = subprocess.Popen(program or PROGRAMS[FRAMEWORK], cwd=FRAMEWORK, env=environment, stdout=sys.stderr)
    try:
        wait_for(lambda: socket.create_connection(("127.0.0.1", port)).close())
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def wait_for(attempt):
    """Repeats attempt for up to PATIENCE until it does not raise."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return attempt()
        except (OSError, AssertionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def request_timeout():
    """Returns REQUEST_TIMEOUT, scaled by the load of this machine."""
    return REQUEST_TIMEOUT * load_factor(time.monotonic() // LOAD_PERIOD)


@functools.cache
def load_factor(_period):
    """Returns how much slower the machine is than when idle, measured once in a period."""
    begin = time.monotonic()
    for _ in range(WORK_ROUNDS):
        pass
    return max(1, (time.monotonic() - begin) / WORK_SECONDS)


def get_soon(url, key):
    """Returns the same as get, within the time for a failure of limitsrv."""
    for left in reversed(range(TRIES)):
        try:
            return get(url, key, request_timeout())
        except OSError:
            if left == 0:
                raise


def timed(times, url, key):
    """Returns the same as get_soon, and appends its seconds to times."""
    begin = time.monotonic()
    answer = get_soon(url, key)
    times.append(time.monotonic() - begin)
    return answer


def slowest(times):
    """Returns the note of a case about the seconds of its requests."""
    return f"{len(times)} requests, the slowest in {max(times) * 1000:.0f} ms"


def get(url, key=None, timeout=PATIENCE):
    """Returns the status, headers and JSON of a page."""
    request = urllib.request.Request(url, headers={"X-API-Key": key} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return response.status, response.headers, json.load(response)
    except urllib.error.HTTPError as response:
        return response.code, response.headers, json.load(response)


def settled(url, key):
    """Waits until a request is decided by limitsrv, because the application has connected to it."""

    def attempt():
        assert get(url, key)[1]["X-RateLimit-Limit"] is not None

    wait_for(attempt)


def limits(headers):
    """Returns the values of a response's headers, None for a missing one."""
    names = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After")
    return [None if headers[name] is None else int(headers[name]) for name in names]


PLAIN = os.environ["LIMITSRV_ADDR"]


def allowed():
    with app(PLAIN, "closed") as url:
        settled(url, "someone")
        for remaining, reset in ((2, Between(1140, 1200)), (1, Between(2340, 2400)), (0, Between(3540, 3600))):
            status, headers, page = get(url, "allowed")
            expect((status, page), (200, {"hello": "world"}))
            expect(limits(headers), [3, remaining, reset, None])


def refused():
    with app(PLAIN, "open") as url:
        settled(url, "someone-else")
        for _ in range(3):
            get(url, "refused")
        status, headers, page = get(url, "refused")
        expect(status, 429)
        expect(limits(headers), [3, 0, Between(3540, 3600), HOURS_THIRD])
        expect(headers.get_content_type(), "application/json")
        body = page.get("detail", page)  # FastAPI wraps the body
        expect(body, {"error": "too many requests", "retry_after_ms": Between(1140000, 1200000)})
        expect(get(url, "another")[0], 200)
        expect(get(url)[0], 200)


def fail_open():
    outage("open", 200)


def fail_closed():
    outage("closed", 503)


def outage(fail, status):
    """limitsrv is down, then up, and then stalls with open connections."""
    keys = (f"{fail}-{i}" for i in itertools.count())

    def decided():
        assert limits(get(url, next(keys))[1])[:2] == [3, 2]

    with Link(address("LIMITSRV_ADDR")) as link, app(link.address, fail, SHORT) as url:
        wait_for(lambda: get(url, f"first-{fail}"))  # the first request may load code
        expect(get_soon(url, f"down-{fail}")[0], status)
        link.open()
        wait_for(decided)
        link.stall()
        answer = get_soon(url, next(keys))
        expect((answer[0], limits(answer[1])[:3]), (status, [None] * 3))


def recovers():
    with app(os.environ["LIMITSRV_RESTART_ADDR"], "closed") as url:
        settled(url, "before")
        expect(limits(get(url, "again")[1])[:2], [3, 2])
        subprocess.run([os.environ["LIMITSRV_RESTART"]], check=True)
        settled(url, "after")
        expect(limits(get(url, "again")[1])[:2], [3, 2])


RULES = """domain: middleware
rules:
  - {name: calls, match: {path: /ruled, method: GET}, per: [api_key], limits: [3/hour token, 1000/day]}
  - {name: addresses, match: {path: /ruled}, per: [ip], limits: 100000/hour}
"""

POLICY = '"calls/token-1h";q=3;w=3600, "calls/fixed-day";q=1000;w=86400, "addresses/slide-1h";q=100000;w=3600'


def ruled():
    """The same by rules: allowed, denied, and another limit for a request without a key."""
    call(address("LIMITSRV_ADDR"), "RL.RULES", "LOAD", RULES)
    with app(PLAIN, "closed") as url:
        url += "/ruled"
        settled(url, "ruled-first")
        for remaining in (2, 1, 0):
            status, headers, page = get(url, "ruled")
            expect((status, page), (200, {"hello": "rules"}))
            expect(limits(headers), [3, remaining, Between(1140, 3600), None])
            expect(headers["RateLimit-Policy"], POLICY)
        status, headers, page = get(url, "ruled")
        expect((status, limits(headers)), (429, [3, 0, Between(3540, 3600), HOURS_THIRD]))
        expect(page.get("detail", page), {"error": "too many requests", "reason": "limited", "retry_after_ms": Between(1140000, 1200000)})
        status, headers, page = get(url)
        expect((status, page, limits(headers)[0]), (200, {"hello": "rules"}, 100000))


def ruled_open():
    ruled_outage("open", 200)


def ruled_closed():
    ruled_outage("closed", 503)


def ruled_outage(fail, status):
    """The rules of limitsrv are out of reach: it is down, then up, and then stalls."""
    call(address("LIMITSRV_ADDR"), "RL.RULES", "LOAD", RULES)
    with Link(address("LIMITSRV_ADDR")) as link, app(link.address, fail, SHORT) as url:
        url += "/ruled"
        wait_for(lambda: get(url, f"ruled-first-{fail}"))  # the first request may load code
        answer = get_soon(url, f"ruled-down-{fail}")
        expect((answer[0], limits(answer[1])[:3]), (status, [None] * 3))
        link.open()
        settled(url, f"ruled-up-{fail}")
        link.stall()
        answer = get_soon(url, f"ruled-{fail}")
        expect((answer[0], limits(answer[1])[:3]), (status, [None] * 3))


def concurrency():
    """Of three concurrent requests the third is denied; after one is done another is allowed.

    They are not concurrent if the machine stands still for longer than the first takes.
    """

    def third_is_denied():
        answers = [pool.submit(slow, url) for _ in range(3)]
        statuses = sorted(answer.result()[0] for answer in answers)
        assert statuses == [200, 200, 429], statuses

    with app(PLAIN, "closed") as url, concurrent.futures.ThreadPoolExecutor() as pool:
        settled(url, "yet-someone-else")
        wait_for(third_is_denied)
        expect(slow(url)[0], 200)


def slow(url):
    request = urllib.request.Request(url + "/slow", headers={"X-API-Key": "busy"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as response:
        return response.code, json.load(response)


def policy(name, quota, window=3600):
    return f'"{name}";q={quota};w={window}'


def headers():
    """The headers of the IETF's draft, which name each limit."""
    with app(PLAIN, "closed") as url:
        settled(url, "headers-first")
        _, got, _ = get(url, "headers")
        expect(", ".join(got.get_all("RateLimit-Policy")), policy("home/address", 100000) + ", " + policy("home/key", 3))
        expect(got["RateLimit"], OneOf(*(f'"home/key";r=2;t={left}' for left in range(1140, 1201))))
        _, got, _ = get(url)
        expect(got["RateLimit-Policy"], policy("home/address", 100000))


def names():
    """Limits with different names share nothing, also for the same key in one application."""
    with app(PLAIN, "closed") as url:
        settled(url, "names-first")
        expect([get(url, "names")[0] for _ in range(4)], [200] * 3 + [429])
        status, got, _ = get(url + "/second", "names")
        expect((status, limits(got)[:2]), (200, [3, 2]))


def own_response():
    """A handler that returns a response of its own keeps the headers."""
    with app(PLAIN, "closed") as url:
        settled(url, "own-first")
        status, got, page = get(url + "/own")
        expect((status, page, limits(got)[0]), (201, {"own": True}, 100000))
        expect(got["RateLimit-Policy"], policy("own/address", 100000))


def unvalidated_key():
    """An invented key for each request does not avoid the limit of the address, and no key the limit of another."""
    with app(os.environ["LIMITSRV_RESTART_ADDR"], "closed") as url:
        subprocess.run([os.environ["LIMITSRV_RESTART"]], check=True)
        settled(url, "unvalidated-first")
        expect([get(url + "/strict", "one")[0] for _ in range(3)], [200, 200, 429])
        expect([get(url + "/strict", f"invented-{i}")[0] for i in range(3)], [200, 429, 429])
        status, got, _ = get(url + "/strict")
        expect((status, limits(got)[:2]), (429, [3, 0]))


def remembered():
    """A denied client gets its answer without a request to limitsrv, and after a while with one."""
    with Link(address("LIMITSRV_ADDR")) as link, app(link.address, "open") as url:
        link.open()
        settled(url, "remembered-first")
        expect([get(url, "remembered")[0] for _ in range(4)], [200] * 3 + [429])
        link.stall()
        for _ in range(3):
            status, got, page = get(url, "remembered")
            expect((status, limits(got)), (429, [3, 0, Between(3000, 3600), Between(600, 1200)]))
            expect(page.get("detail", page)["retry_after_ms"], Between(600_000, 1_200_000))
    with app(PLAIN, "closed", remember=500) as url:
        settled(url, "forgotten-first")
        expect([get(url, "forgotten")[0] for _ in range(4)], [200] * 3 + [429])
        call(address("LIMITSRV_ADDR"), "FLUSHALL")

        def allowed_again():
            assert get(url, "forgotten")[0] == 200

        wait_for(allowed_again)


@contextlib.contextmanager
def server():
    """Runs a limitsrv that the test may stop; yields its address, and a function that starts it again."""
    [port] = free_ports(1)
    running = []

    def start():
        for process in running:
            process.wait()
        running[:] = [subprocess.Popen([os.environ["LIMITSRV_PROGRAM"], "--listen", f"127.0.0.1:{port}"], stdout=sys.stderr,
                                       env={k: v for k, v in os.environ.items() if not k.startswith("LIMITSRV_")})]
        wait_for(lambda: call({"host": "127.0.0.1", "port": int(port)}, "PING"))
        return running[0]

    try:
        yield f"127.0.0.1:{port}", start
    finally:
        for process in running:
            process.kill()
            process.wait()


def killed():
    """After a SIGKILL of limitsrv, and after its start."""
    with server() as (limiter, start), app(limiter, "open", SHORT) as url:
        process = start()
        settled(url, "killed-first")
        process.kill()
        process.wait()
        times = []
        for i in range(10):
            expect(timed(times, url, f"killed-{i}")[0], 200)
        start()
        settled(url, "killed-last")
    return slowest(times)


def stopped():
    """limitsrv is stopped by SIGSTOP, and goes on: its connections are open all the time."""
    times = []
    for fail, status in (("open", 200), ("closed", 503)):
        with server() as (limiter, start), app(limiter, fail, SHORT) as url:
            process = start()
            settled(url, "stopped-first")
            process.send_signal(signal.SIGSTOP)
            wait_for(lambda: expect_stopped(process.pid))
            for i in range(10):
                answer = timed(times, url, f"stopped-{i}")
                expect((answer[0], limits(answer[1])[:3]), (status, [None] * 3))
            process.send_signal(signal.SIGCONT)
            settled(url, "stopped-last")
    return slowest(times)


def expect_stopped(pid):
    """Expects that all threads of a process are stopped, which takes a while after the signal."""
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        assert status.read_text().rpartition(")")[2].split()[0] == "T"


def restarted():
    """limitsrv restarts several times under requests, which are all answered."""
    statuses, times, done = [], [], threading.Event()

    def ask(worker):
        for i in itertools.count():
            if done.is_set():
                return
            statuses.append(timed(times, url, f"restarted-{worker}-{i}")[0])

    with app(os.environ["LIMITSRV_RESTART_ADDR"], "open", SHORT) as url, concurrent.futures.ThreadPoolExecutor() as pool:
        settled(url, "restarted-first")
        workers = [pool.submit(ask, worker) for worker in range(4)]
        try:
            for _ in range(3):
                subprocess.run([os.environ["LIMITSRV_RESTART"]], check=True)
                before = len(statuses)
                wait_for(lambda: expect_more(statuses, before + 20))
        finally:
            done.set()
        for worker in workers:
            worker.result()
        expect(set(statuses), {200})
        settled(url, "restarted-last")
    return slowest(times)


def expect_more(some, count):
    assert len(some) >= count


def broken():
    """A server that is none: it closes, sends nonsense, an error, a wrong reply, or an answer byte by byte."""
    for fail, status in (("open", 200), ("closed", 503)):
        with Broken() as limiter, app(limiter.address, fail, SHORT) as url:
            wait_for(lambda: get(url, "first"))
            for replies in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"-ERR broken\r\n" * 50, b"+OK\r\n" * 50, None):
                limiter.turn(replies)

                def fails():
                    answer = get_soon(url, "broken")
                    expect((replies, answer[0], limits(answer[1])[:3]), (replies, status, [None] * 3))
                    assert limiter.asked, replies

                wait_for(fails)


class Broken:
    """A server that sends the same bytes to each request, or for None one byte of a long answer at a time."""

    def __init__(self):
        self.turn(b"")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def turn(self, replies):
        self.replies, self.asked = replies, False

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=[self.listener.accept()[0]], daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError), connection:
            while connection.recv(65536):
                self.asked, replies = True, self.replies
                if replies is None:
                    for byte in itertools.chain(b"$1000000\r\n", itertools.repeat(0)):
                        connection.sendall(bytes([byte]))
                        time.sleep(0.02)
                connection.sendall(replies)
                if not replies:
                    return


# The tests of the libraries without a server, each with its folder.
UNIT = {
    "net-http": ("go", ["go", "test", "-count=1", "-vet=all", "."]),
    "express": ("node", ["npm", "test", "--silent"]),
    "fastapi": ("python", [PYTHON, "-W", "error", "-m", "unittest", "discover", "--quiet", "tests"]),
    "servlet": ("java", ["mvn", "-q", "-B", "-o", "-Dstyle.color=never", "surefire:test"]),
}


def unit():
    folder, command = UNIT[FRAMEWORK]
    done = subprocess.run(command, cwd=pathlib.Path("../../clients", folder).resolve(), stdout=sys.stderr, timeout=PATIENCE)
    expect(done.returncode, 0)


def two_limits():
    """The example in the README of a library limits as it says, beside a second limit; a wrong name of the second is an error."""
    for name, problem in twolimits.WRONG_NAMES[FRAMEWORK].items():
        wrong = subprocess.run(example(name), cwd=FRAMEWORK, env=os.environ | {"PORT": "0"}, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=PATIENCE)
        expect((name, wrong.returncode != 0, problem in wrong.stderr or wrong.stderr), (name, True, True))
    path = twolimits.PATHS[FRAMEWORK]
    with app(PLAIN, "open", program=example("login")) as url:

        def limited():
            assert get(url + path)[1]["X-RateLimit-Limit"] == "100"

        wait_for(limited)
        logins = []
        while len(logins) < LATE + 3 and (429, "2") not in logins:
            status, headers, _ = get(url + "/login")
            logins.append((status, headers["X-RateLimit-Limit"]))
        # Without a decision within the example's short timeout a request passes. It may have taken a permit.
        decided = [login for login in logins if login != (200, None)]
        expect((len(logins) > 2, decided), (True, [(200, "2")] * min(2, len(decided) - 1) + [(429, "2")]))
        expect(get(url + path)[0], 200)
    return f"{len(twolimits.WRONG_NAMES[FRAMEWORK])} wrong turns"


def example(name):
    """Returns the command that runs the README's example with a second limit of that name, or without a name."""
    command, program = twolimits.write(FRAMEWORK, name, PLAIN)
    if program.suffix == ".go":
        source, program = program, program.with_suffix("")
        subprocess.run(["go", "build", "-C", "net-http", "-o", program, source], check=True, timeout=PATIENCE)
    return [*command, program]


CASES = {
    "allowed": allowed,
    "refused": refused,
    "fail-open": fail_open,
    "fail-closed": fail_closed,
    "recovers": recovers,
}

# Cases of the libraries in clients.
OF_LIBRARIES = {
    "headers": headers,
    "names": names,
    "own-response": own_response,
    "unvalidated-key": unvalidated_key,
    "remembered": remembered,
    "killed": killed,
    "stopped": stopped,
    "restarted": restarted,
    "broken": broken,
    "ruled": ruled,
    "ruled-open": ruled_open,
    "ruled-closed": ruled_closed,
}

# Cases of single applications.
MORE = {framework: {"unit": unit, "two-limits": two_limits} for framework in UNIT}
MORE["express"]["concurrency"] = concurrency

if __name__ == "__main__":
    every = CASES | ({} if FRAMEWORK == "axum" else OF_LIBRARIES) | MORE.get(FRAMEWORK, {})
    sys.exit(run({name: every[name] for name in sys.argv[2:] or every}))
