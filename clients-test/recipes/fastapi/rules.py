"""A FastAPI dependency that asks limitsrv by its rules."""

from fastapi import HTTPException, Request, Response
from redis.asyncio import Redis
from redis.exceptions import RedisError


class Rules:
    """The limits of a domain, for the path, the method, the address and the API key (validate it first!).

    open: whether requests are allowed while limitsrv is unavailable. The timeout is
    the option socket_timeout of redis.
    """

    def __init__(self, redis: Redis, domain: str, open: bool = True):
        self.redis, self.domain, self.open = redis, domain, open

    async def __call__(self, request: Request, response: Response):
        attributes = ["path", request.url.path, "method", request.method, "ip", request.client.host]
        if api_key := request.headers.get("X-API-Key"):
            attributes += ["api_key", api_key]
        try:
            allowed, _, _, wait_ms, _, _, reason, pairs = await self.redis.execute_command("RL.CHECK", self.domain, *attributes, "HEADERS")
        except RedisError:
            if self.open:
                return
            raise HTTPException(503, "the rate limiter does not answer")
        words = [word.decode("latin-1") for word in pairs]
        headers = dict(zip(words[::2], words[1::2]))
        if not allowed:
            raise HTTPException(429, {"error": "too many requests", "reason": reason.decode(), "retry_after_ms": wait_ms}, headers)
        response.headers.update(headers)
