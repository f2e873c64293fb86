"""Limits, the decisions of limitsrv, and their headers."""

from __future__ import annotations

import dataclasses
import math
import re
import threading

ALGORITHMS = ("TOKEN", "FIXED", "SLIDE", "LOG")
MAX_REMEMBERED = 10_000  # denied keys


@dataclasses.dataclass(frozen=True)
class Limit:
    """A number of requests in a time, for each address or key.

    per is in seconds, from 0.001 on. burst is the capacity of the bucket of TOKEN, by
    default requests. The other algorithms, FIXED, SLIDE and LOG, count in windows of per.
    """

    requests: int
    per: float
    burst: int | None = None
    algorithm: str = "TOKEN"

    def __post_init__(self) -> None:
        if self.requests < 1 or self.per < 0.001 or (self.burst is not None and self.burst < 1):
            raise ValueError(f"limitsrv: a limit needs requests from 1 on and per, seconds from 0.001 on, got {self}")
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"limitsrv: the algorithm is {', '.join(ALGORITHMS)}, got {self.algorithm!r}")

    @property
    def quota(self) -> int:
        """The capacity of a bucket, or the limit of a window."""
        return self.burst if self.burst and self.algorithm == "TOKEN" else self.requests

    def arguments(self, key: str) -> list[str | int]:
        """The arguments for one token of a key, in the form of RL.ALL."""
        time = f"{round(self.per * 1000)}ms"
        return [self.algorithm, key, self.quota, f"{self.requests}/{time}" if self.algorithm == "TOKEN" else time, 1]

    def policy(self, name: str) -> str:
        """An item of the header RateLimit-Policy: w is the window in seconds, for a bucket the time to fill it."""
        window = self.per * self.quota / self.requests if self.algorithm == "TOKEN" else self.per
        return f'"{name}";q={self.quota};w={math.ceil(window)}'


@dataclasses.dataclass(frozen=True)
class Decision:
    """An answer of limitsrv, for the binding limit.

    wait_ms and reset_ms are milliseconds; wait_ms is -1 if the request can never pass.
    limit is -1 without a limit. name and policies are as in the headers of the IETF's draft.
    """

    allowed: bool
    limit: int
    remaining: int
    wait_ms: int
    reset_ms: int
    name: str = ""
    policies: str = ""
    reason: str = ""

    @classmethod
    def parse(cls, reply: object, **more: str) -> Decision:
        """Reads the five integers at the begin of a reply."""
        if not isinstance(reply, list) or len(reply) < 5 or not all(isinstance(n, int) for n in reply[:5]):
            raise unexpected(reply)
        allowed, *numbers = reply[:5]
        return cls(allowed != 0, *numbers, **more)

    def body(self) -> dict:
        """The body of a response to a denied request."""
        body = {"error": "too many requests", "retry_after_ms": self.wait_ms}
        return body | {"reason": self.reason} if self.reason else body


def unexpected(reply: object) -> ValueError:
    return ValueError(f"limitsrv: an unexpected reply: {reply!r}")


def name_of(item: str) -> str:
    """The quoted name at the begin of an item of the headers RateLimit and RateLimit-Policy."""
    return re.sub(r";[rq]=[^\"]*$", "", item)


def seconds(milliseconds: int) -> int:
    return -(-milliseconds // 1000)


def headers(decisions: list[Decision]) -> dict[str, str]:
    """The headers of a response after these decisions, the last of which may be a denial.

    X-RateLimit-* are of the limit that denies, or has the least remaining.
    """
    result = {}
    last, limits = decisions[-1], [d for d in decisions if d.limit >= 0]
    if limits:
        shown = last if not last.allowed and last.limit >= 0 else min(limits, key=lambda d: d.remaining)
        result["X-RateLimit-Limit"] = str(shown.limit)
        result["X-RateLimit-Remaining"] = str(shown.remaining)
        result["X-RateLimit-Reset"] = str(seconds(shown.reset_ms))
    if policies := [d.policies for d in decisions if d.policies]:
        result["RateLimit-Policy"] = ", ".join(policies)
    if states := [_state(d) for d in decisions if d.name]:
        result["RateLimit"] = ", ".join(states)
    if not last.allowed and last.wait_ms >= 0:
        result["Retry-After"] = str(max(1, seconds(last.wait_ms)))
    return result


def _state(d: Decision) -> str:
    left = seconds(d.reset_ms) if d.allowed else max(1, seconds(d.wait_ms))
    return f"{d.name};r={d.remaining}" + (f";t={left}" if d.wait_ms >= 0 else "")


class Memory:
    """Denied keys, each until the request would pass and at most for longest seconds. Safe for threads."""

    def __init__(self, longest: float):
        self._longest = longest
        self._lock = threading.Lock()
        self.entries: dict[str, tuple[Decision, float, float]] = {}

    def put(self, key: str, decision: Decision, asked: float) -> None:
        lasts = self._longest if decision.wait_ms < 0 else min(self._longest, decision.wait_ms / 1000)
        if lasts <= 0:
            return
        with self._lock:
            self.entries.pop(key, None)
            if len(self.entries) >= MAX_REMEMBERED:
                del self.entries[next(iter(self.entries))]  # the oldest
            self.entries[key] = (decision, asked, asked + lasts)

    def get(self, key: str, now: float) -> Decision | None:
        """Returns the denial of a key as limitsrv would answer now."""
        with self._lock:
            if key not in self.entries:
                return None
            decision, asked, until = self.entries[key]
            if now >= until:
                del self.entries[key]
                return None
        passed, wait = int((now - asked) * 1000), decision.wait_ms
        return dataclasses.replace(
            decision, wait_ms=wait if wait < 0 else max(0, wait - passed), reset_ms=max(0, decision.reset_ms - passed))
