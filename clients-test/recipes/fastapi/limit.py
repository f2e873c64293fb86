"""A FastAPI dependency that limits requests with limitsrv.

Each request takes from two limits, all or nothing: one per API key (validate it
first!) and one per address.
"""

from math import ceil

from fastapi import HTTPException, Request, Response
from redis.asyncio import Redis
from redis.exceptions import RedisError


class RateLimit:
    """Limits are (capacity, rate) in the form of RL.TOKEN: (10, "5"), (100, "100/1m").

    open: whether requests are allowed while limitsrv is unavailable. The timeout is
    the option socket_timeout of redis.
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
