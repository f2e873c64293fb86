"""A FastAPI dependency that asks limitsrv before a request is let through.

It takes from two limits at once, all or nothing: one for each API key (check it
before!), one for each address.
"""

from math import ceil

from fastapi import HTTPException, Request, Response
from redis.asyncio import Redis
from redis.exceptions import RedisError


class RateLimit:
    """Limits are (capacity, rate) as RL.TOKEN takes them: (10, "5"), (100, "100/1m").

    open tells whether requests pass while limitsrv can't be asked; redis says how
    long that takes, by its option socket_timeout.
    """

    def __init__(self, redis: Redis, per_key: tuple, per_address: tuple, open: bool = True):
        self.redis, self.per_key, self.per_address, self.open = redis, per_key, per_address, open

    async def __call__(self, request: Request, response: Response):
        limits = ["TOKEN", f"ip:{request.client.host}", *self.per_address, 1]
        if api_key := request.headers.get("X-API-Key"):
            limits += ["TOKEN", f"key:{api_key}", *self.per_key, 1]
        try:
            allowed, binding, *decisions = await self.redis.execute_command("RL.ALL", *limits)
        except RedisError:
            if self.open:
                return
            raise HTTPException(503, "the rate limiter does not answer")
        _, limit, remaining, wait_ms, reset_ms = decisions[binding]
        headers = {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": str(ceil(reset_ms / 1000)),
        }
        if not allowed:
            headers["Retry-After"] = str(ceil(wait_ms / 1000))
            raise HTTPException(429, {"error": "too many requests", "retry_after_ms": wait_ms}, headers)
        response.headers.update(headers)
