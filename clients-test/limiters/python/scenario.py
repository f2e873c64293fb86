"""The scenario of a limiter, as README.md describes it."""

import concurrent.futures
import time

DAY = 86400  # seconds, so long that no limit of burst and crowd is refilled


def play(factory):
    """Prints the transcript of the limiters that factory(limit, seconds) creates.

    Each limiter has connections of its own. It has take(key), which returns whether the
    request is allowed, or that and the remaining requests. It may have reset(key).
    """
    limiter = factory(5, DAY)
    print("burst", *(sign(limiter.take("a")) for _ in range(8)))
    other = factory(5, DAY)
    print("keys", sign(other.take("b")), sign(other.take("a")), sign(limiter.take("b")))
    if hasattr(limiter, "reset"):
        limiter.reset("a")
        print("reset", sign(other.take("a")))
    crowd = factory(20, DAY)
    with concurrent.futures.ThreadPoolExecutor(getattr(crowd, "at_once", 50)) as pool:
        allowed = sum(map(is_allowed, pool.map(crowd.take, ["c"] * 50)))
    print(f"crowd {allowed} of 50")
    refilled(factory(3, 1))


def refilled(limiter):
    """Uses up a limiter of 3 requests per second, and waits until it is full again."""
    for _ in range(100):
        if not is_allowed(limiter.take("d")):
            break
    else:
        print("refill: never denied")
        return
    time.sleep(2.2)
    print("refill", *("+" if is_allowed(limiter.take("d")) else "-" for _ in range(3)))


def is_allowed(taken):
    return taken[0] if isinstance(taken, tuple) else taken


def sign(taken):
    if isinstance(taken, tuple):
        return f"+{taken[1]}" if taken[0] else "-"
    return "+" if taken else "-"
