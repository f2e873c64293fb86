import os

import uvicorn
from fastapi import Depends, FastAPI
from redis.asyncio import Redis

from limit import RateLimit
from rules import Rules

timeout = int(os.environ["TIMEOUT"]) / 1000
redis = Redis.from_url(f"redis://{os.environ['LIMITSRV_ADDR']}", socket_timeout=timeout, socket_connect_timeout=timeout, retry=None)
rate_limit = RateLimit(redis, per_key=(3, "3/h"), per_address=(100, "100/h"), open=os.environ["FAIL"] == "open")
rules = Rules(redis, "recipes", open=os.environ["FAIL"] == "open")
app = FastAPI()


@app.get("/", dependencies=[Depends(rate_limit)])
async def hello():
    return {"hello": "world"}


@app.get("/ruled", dependencies=[Depends(rules)])
async def ruled():
    return {"hello": "rules"}


uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
