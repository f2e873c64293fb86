"""Tests a recipe over HTTP, for example: python3 check.py express."""

import concurrent.futures
import contextlib
import functools
import itertools
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from link import Link, call
from ports import free_ports
from report import Between, address, expect, run

RECIPE = sys.argv[1]

PROGRAMS = {
    "express": ["node", "app.mjs"],
    "fastify": ["node", "app.mjs"],
    "fastapi": ["../.build/fastapi/bin/python", "app.py"],
    "net-http": ["../.build/net-http"],
    "servlet": ["java", "@.build/arguments", "App"],
    "axum": ["../.build/axum/debug/recipe"],
}

# Timeouts of the application's requests to limitsrv, in milliseconds. A long one is for
# requests that limitsrv must decide, on a machine that may stand still for seconds.
SHORT, LONG = 100, 15_000

# Seconds within which a request must be answered on an idle machine if limitsrv fails and
# the timeout is SHORT. On one that stands still at times, one of the TRIES must.
REQUEST_TIMEOUT, TRIES = 1, 5

PATIENCE = 120  # seconds for any other request, and for the start of the application

WORK_ROUNDS, WORK_SECONDS = 1_000_000, 0.04  # of a loop, and its time on an idle machine
LOAD_PERIOD = 5  # seconds for which a measurement of the load is used

HOURS_THIRD = Between(1140, 1200)  # seconds to refill one of 3 tokens per hour


@contextlib.contextmanager
def app(limiter, fail, timeout=LONG):
    """Runs the recipe's application with the limiter at HOST:PORT; yields its URL."""
    [port] = free_ports(1)
    environment = os.environ | {"LIMITSRV_ADDR": limiter, "FAIL": fail, "TIMEOUT": str(timeout), "PORT": port}
    process = subprocess.Popen(PROGRAMS[RECIPE], cwd=RECIPE, env=environment, stdout=sys.stderr)
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
        expect((answer[0], limits(answer[1])), (status, [None] * 4))


def recovers():
    with app(os.environ["LIMITSRV_RESTART_ADDR"], "closed") as url:
        settled(url, "before")
        expect(limits(get(url, "again")[1])[:2], [3, 2])
        subprocess.run([os.environ["LIMITSRV_RESTART"]], check=True)
        settled(url, "after")
        expect(limits(get(url, "again")[1])[:2], [3, 2])


RULES = """domain: recipes
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
        expect((answer[0], limits(answer[1])), (status, [None] * 4))
        link.open()
        settled(url, f"ruled-up-{fail}")
        link.stall()
        answer = get_soon(url, f"ruled-{fail}")
        expect((answer[0], limits(answer[1])), (status, [None] * 4))


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


def two_limits():
    """100 requests per address, three per key; a request denied by one limit takes nothing from the other."""
    with app(os.environ["LIMITSRV_RESTART_ADDR"], "closed") as url:
        subprocess.run([os.environ["LIMITSRV_RESTART"]], check=True)  # all come from one address
        expect([get(url, "first")[0] for _ in range(5)], [200, 200, 200, 429, 429])
        expect([get(url)[0] for _ in range(98)], [200] * 97 + [429])
        status, headers, _ = get(url, "second")
        expect((status, limits(headers)[:2]), (429, [100, 0]))


CASES = {
    "allowed": allowed,
    "refused": refused,
    "fail-open": fail_open,
    "fail-closed": fail_closed,
    "recovers": recovers,
}

RULED = {"ruled": ruled, "ruled-open": ruled_open, "ruled-closed": ruled_closed}

# Cases of single recipes.
MORE = {
    "express": {"concurrency": concurrency} | RULED,
    "fastapi": {"two-limits": two_limits} | RULED,
    "net-http": RULED,
}

if __name__ == "__main__":
    sys.exit(run(CASES | MORE.get(RECIPE, {})))
