"""Connections to limitsrv: bounded waits, a pause after failures, and the memory of denials."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import re
import threading
import time
from collections.abc import Callable

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError
from redis.retry import Retry

from .decision import Memory

# After FAILURES_TO_PAUSE failures without a success between them, nothing is sent for PAUSE
# seconds; then one request is sent to try again.
FAILURES_TO_PAUSE = 5
PAUSE = 0.25

REPORT_PERIOD = 10  # seconds at least, between two reports of errors

CONNECTIONS = 32  # at most, of one limiter in one process

NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")

_log = logging.getLogger("limitsrv")


class Unavailable(Exception):
    """limitsrv did not answer in time, or not with a decision."""


class _Limiter:
    """The common part of both limiters.

    timeout: seconds that a request waits for limitsrv at most, connecting included.
    fail: "open" if requests pass while limitsrv is unavailable, "closed" if they get 503.
    remember: seconds for which a denial is answered without asking again, at most until the
    request would pass.
    on_error: gets errors of limitsrv, at most one in 10 s; by default the logger limitsrv does.
    redis_options: of redis-py, such as username, password and ssl.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 6379, *, timeout: float = 0.1, fail: str = "open", remember: float = 10,
                 on_error: Callable[[Exception], None] | None = None, **redis_options):
        if fail not in ("open", "closed"):
            raise ValueError(f'limitsrv: fail is "open" or "closed", got {fail!r}')
        self.timeout, self.fails_open = timeout, fail == "open"
        self.denied = Memory(remember)
        self._on_error = on_error or (lambda error: _log.warning("limitsrv failed: %s", error))
        self._options = {
            "host": host, "port": port, "socket_timeout": timeout, "socket_connect_timeout": timeout,
            "protocol": 2, **redis_options}
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._failures, self._paused_until, self._reported = 0, 0.0, float("-inf")

    def claim(self, name: str) -> None:
        """Takes the name of a limit, which two limits may not share: they would share a bucket."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(f"limitsrv: a limit needs a name of 1 to 64 of A-Z a-z 0-9 . _ -, got {name!r}")
        with self._lock:
            if name in self._names:
                raise ValueError(
                    f"limitsrv: two limits have the name {name!r} and would share their counters: use one limit for both, or another name")
            self._names.add(name)

    def _begin(self) -> None:
        """Raises Unavailable if requests pause."""
        with self._lock:
            now = time.monotonic()
            if self._failures >= FAILURES_TO_PAUSE and now < self._paused_until:
                raise Unavailable("not asked, because its last answers failed")
            self._paused_until = now + PAUSE

    def _failed(self, error: Exception) -> Unavailable:
        """Counts and reports an error of a request, and returns it as Unavailable."""
        if isinstance(error, TimeoutError):
            error = TimeoutError(f"no answer in {self.timeout} s")
        with self._lock:
            if isinstance(error, ResponseError):
                self._failures = 0  # an answer in time
            else:
                self._failures += 1
                self._paused_until = time.monotonic() + PAUSE
        self.report(error)
        return Unavailable(str(error))

    def report(self, error: Exception) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._reported < REPORT_PERIOD:
                return
            self._reported = now
        self._on_error(error)


class Limiter(_Limiter):
    """Asks one limitsrv server. It is safe for threads and for forks, and a process needs one."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._client = redis.Redis(**self._options, retry=Retry(NoBackoff(), 0), max_connections=2 * CONNECTIONS)
        self._start()

    def _start(self) -> None:
        # The threads bound the whole wait: the look-up of the host, connecting, and an answer in pieces.
        self._threads, self._pid = concurrent.futures.ThreadPoolExecutor(CONNECTIONS, "limitsrv"), os.getpid()

    def command(self, *parts):
        """Sends a command and returns its reply within the timeout. Raises Unavailable."""
        self._begin()
        if self._pid != os.getpid():
            with self._lock:
                self._start()
        asked = self._threads.submit(self._client.execute_command, *parts)
        try:
            reply = asked.result(self.timeout)
        except Exception as error:
            asked.cancel()
            raise self._failed(error) from error
        self._failures = 0
        return reply

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()


class AsyncLimiter(_Limiter):
    """Asks one limitsrv server, in one event loop."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._client = redis.asyncio.Redis(connection_pool=redis.asyncio.BlockingConnectionPool(
            **self._options, retry=AsyncRetry(NoBackoff(), 0), max_connections=CONNECTIONS, timeout=self.timeout))

    async def command(self, *parts):
        """Sends a command and returns its reply within the timeout. Raises Unavailable."""
        self._begin()
        try:
            reply = await asyncio.wait_for(self._client.execute_command(*parts), self.timeout)
        except Exception as error:
            raise self._failed(error) from error
        self._failures = 0
        return reply

    async def aclose(self) -> None:
        await self._client.aclose()
