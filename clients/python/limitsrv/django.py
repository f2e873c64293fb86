"""Middleware for Django."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping

from asgiref.sync import sync_to_async
from django.http import HttpRequest, JsonResponse

from .decision import headers
from .limiter import Unavailable
from .requests import Limits, Rules, digest, refusal


def peer(request: HttpRequest) -> str:
    """Returns REMOTE_ADDR. Behind a proxy the server in front of Django must set it."""
    return request.META.get("REMOTE_ADDR", "")


def api_key(request: HttpRequest) -> str:
    """Returns a digest of the header X-API-Key."""
    return digest(request.headers.get("X-API-Key", ""))


def describe(request: HttpRequest) -> Mapping[str, str]:
    """Returns path, method, ip, and api_key if there is one."""
    attributes = {"path": request.path, "method": request.method, "ip": peer(request)}
    return attributes | {"api_key": key} if (key := api_key(request)) else attributes


def limited(limits: Limits | Rules, *, key: Callable[[HttpRequest], str | None] = api_key,
            address: Callable[[HttpRequest], str] = peer, attributes: Callable[[HttpRequest], Mapping[str, str]] = describe):
    """Returns a middleware, which is a decorator of views too. The limits need a Limiter."""

    def refused(request: HttpRequest):
        described = [attributes(request)] if isinstance(limits, Rules) else [address(request), key(request)]
        try:
            decision = limits.take(*described)
        except Unavailable:
            decision = None
        request.limitsrv_decisions = getattr(request, "limitsrv_decisions", [])
        answer = refusal(decision, limits.limiter.fails_open, request.limitsrv_decisions)
        if answer is None:
            return None
        status, more, body = answer
        return JsonResponse(body, status=status, headers=more)

    def finish(request: HttpRequest, response):
        if request.limitsrv_decisions:
            for name, value in headers(request.limitsrv_decisions).items():
                response[name] = value
        return response

    def middleware(next_):
        if inspect.iscoroutinefunction(next_):
            async def limiting(request, *args, **options):
                response = await sync_to_async(refused)(request) or await next_(request, *args, **options)
                return finish(request, response)
        else:
            def limiting(request, *args, **options):
                return finish(request, refused(request) or next_(request, *args, **options))
        return functools.wraps(next_, updated=())(limiting)

    return middleware
