"""Middleware for ASGI applications, such as those of FastAPI and Starlette."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request

from .decision import headers
from .limiter import Unavailable
from .requests import Limits, Rules, digest, refusal

DECISIONS = "limitsrv.decisions"  # of a response, in the scope


def peer(request: Request) -> str:
    """Returns the address of the peer. Behind a proxy the server must set it, as uvicorn does with --proxy-headers."""
    return request.client.host if request.client else ""


def api_key(request: Request) -> str:
    """Returns a digest of the header X-API-Key."""
    return digest(request.headers.get("x-api-key", ""))


def describe(request: Request) -> Mapping[str, str]:
    """Returns path, method, ip, and api_key if there is one."""
    attributes = {"path": request.url.path, "method": request.method, "ip": peer(request)}
    return attributes | {"api_key": key} if (key := api_key(request)) else attributes


class RateLimitHeaders:
    """Sets the headers of the limits that a request has met, also on responses that a handler makes itself."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or DECISIONS in scope:
            return await self.app(scope, receive, send)
        decisions = scope[DECISIONS] = []

        async def send_with_headers(message):
            if message["type"] == "http.response.start" and decisions:
                ours = {name.lower().encode(): value.encode("latin-1") for name, value in headers(decisions).items()}
                others = [pair for pair in message.get("headers", []) if pair[0].lower() not in ours]
                message = message | {"headers": [*others, *ours.items()]}
            await send(message)

        await self.app(scope, receive, send_with_headers)


class limited:
    """A dependency of FastAPI that limits a route. The application needs RateLimitHeaders too."""

    def __init__(self, limits: Limits | Rules, *, key: Callable[[Request], str | None] = api_key,
                 address: Callable[[Request], str] = peer, attributes: Callable[[Request], Mapping[str, str]] = describe):
        self.limits, self.key, self.address, self.attributes = limits, key, address, attributes

    async def __call__(self, request: Request) -> None:
        if refused := await self.refused(request):
            status, more, body = refused
            raise HTTPException(status, body, more)

    async def refused(self, request: Request):
        """Returns status, headers and body if the request is refused."""
        if DECISIONS not in request.scope:
            raise RuntimeError("limitsrv: the application needs app.add_middleware(RateLimitHeaders)")
        described = [self.attributes(request)] if isinstance(self.limits, Rules) else [self.address(request), self.key(request)]
        try:
            decision = await self.limits.take_async(*described)
        except Unavailable:
            decision = None
        return refusal(decision, self.limits.limiter.fails_open, request.scope[DECISIONS])


class RateLimit(RateLimitHeaders):
    """Limits all requests of an application. The options are those of limited."""

    def __init__(self, app, limits: Limits | Rules, **options):
        super().__init__(self._limit)
        self.next, self.limited = app, limited(limits, **options)

    async def _limit(self, scope, receive, send):
        refused = await self.limited.refused(Request(scope)) if scope["type"] == "http" else None
        if not refused:
            return await self.next(scope, receive, send)
        status, more, body = refused
        encoded = json.dumps(body).encode()
        more = {"content-type": "application/json", "content-length": str(len(encoded)), **more}
        await send({"type": "http.response.start", "status": status,
                    "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in more.items()]})
        await send({"type": "http.response.body", "body": encoded})
