"""Rate limits by a limitsrv server, with a bounded wait for its answers.

Limiter is for threads and AsyncLimiter for asyncio; limitsrv.asgi has middleware for
FastAPI and Starlette, limitsrv.django for Django.
"""

from .decision import Decision, Limit
from .limiter import AsyncLimiter, Limiter, Unavailable
from .requests import Limits, Rules, digest

__all__ = ["AsyncLimiter", "Decision", "Limit", "Limiter", "Limits", "Rules", "Unavailable", "digest"]
