import os

import uvicorn
from fastapi import Depends, FastAPI
from fastapi.responses import JSONResponse

from limitsrv import AsyncLimiter, Limit, Limits, Rules
from limitsrv.asgi import RateLimit, RateLimitHeaders, limited

host, port = os.environ["LIMITSRV_ADDR"].split(":")
limiter = AsyncLimiter(
    host, int(port), timeout=int(os.environ["TIMEOUT"]) / 1000, fail=os.environ["FAIL"], remember=int(os.environ["REMEMBER"]) / 1000)


def hourly(requests):
    return Limit(requests, per=3600)


home = limited(Limits(limiter, "home", per_address=hourly(100_000), per_key=hourly(3)))
strict = limited(Limits(limiter, "strict", per_address=hourly(3), per_key=hourly(2)))
own = limited(Limits(limiter, "own", per_address=hourly(100_000)))

app = FastAPI()
app.add_middleware(RateLimitHeaders)


@app.get("/", dependencies=[Depends(home)])
async def hello():
    return {"hello": "world"}


@app.get("/strict", dependencies=[Depends(strict)])
async def hello_strictly():
    return {"hello": "world"}


@app.get("/ruled", dependencies=[Depends(limited(Rules(limiter, "middleware")))])
async def ruled():
    return {"hello": "rules"}


@app.get("/own", dependencies=[Depends(own)])
async def response_of_its_own():
    return JSONResponse({"own": True}, 201)


second = FastAPI()  # an application with one limit for all its routes
second.add_middleware(RateLimit, limits=Limits(limiter, "second", per_address=hourly(100_000), per_key=hourly(3)))


@second.get("/second")
async def hello_again():
    return {"hello": "world"}


async def both(scope, receive, send):
    await (second if scope.get("path") == "/second" else app)(scope, receive, send)


uvicorn.run(both, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
