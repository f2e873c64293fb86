"""redis-benchmark with a decision command: every request is decided, without warnings."""

import os
import re
import subprocess
import sys

from redis_cli import call, server
from report import expect, run

REQUESTS = 2000


def benchmark(*words, at="LIMITSRV_ADDR"):
    """Runs redis-benchmark and returns its requests per second for each test."""
    done = subprocess.run(["redis-benchmark", *server(at), "-n", str(REQUESTS), "--csv", *words],
                          capture_output=True, text=True, timeout=180)
    expect((done.returncode, done.stderr), (0, ""))
    return [float(rate) for rate in re.findall(r'^".*","([0-9.]+)",', done.stdout, re.M)]


def all_decided(key, *words, **how):
    """Runs RL.TOKEN on key and checks that the server took one token per request."""
    expect([rate > 0 for rate in benchmark(*words, "RL.TOKEN", key, "10000", "10000/w", **how)], [True])


def left(key, **how):
    return call("RL.PEEK", key, **how)[2]


def default():
    all_decided("default")
    expect(left("default"), 10000 - REQUESTS)
    expect([rate > 0 for rate in benchmark("-t", "ping")], [True, True])


def pipelined():
    all_decided("pipelined", "-P", "16")
    expect(left("pipelined"), 10000 - REQUESTS)


def random_keys():
    all_decided("user:__rand_int__", "-r", "20")
    names = [f"user:{n:012}" for n in range(20)]
    expect(sum(10000 - left(name) for name in names), REQUESTS)


def resp3():
    all_decided("resp3", "-3")
    expect(left("resp3"), 10000 - REQUESTS)


def password():
    known = {"REDISCLI_AUTH": os.environ["LIMITSRV_PASSWORD"]}
    all_decided("k", "-a", os.environ["LIMITSRV_PASSWORD"], at="LIMITSRV_PASSWORD_ADDR")
    expect(left("k", at="LIMITSRV_PASSWORD_ADDR", environment=known), 10000 - REQUESTS)


CASES = {
    "default": default,
    "pipelined": pipelined,
    "random-keys": random_keys,
    "resp3": resp3,
    "password": password,
}

if __name__ == "__main__":
    sys.exit(run(CASES))
