"""The session in redis-py, synchronous."""

import os
import subprocess
import sys
import time

import redis
from redis.cache import CacheConfig
from redis.cluster import RedisCluster

from report import WARNINGS, Between, OneOf, address, expect, run

PLAIN = address("LIMITSRV_ADDR")


def connect(r):
    with redis.Redis(**PLAIN) as fresh:
        expect(fresh.ping(), True)
    expect(WARNINGS.lines, [])


def decide_token(r):
    reset = Between(3540000, 3600000)
    expect(r.execute_command("RL.TOKEN", "token", 10, "10/h"), [1, 10, 9, 0, 360000])
    expect(r.execute_command("RL.TOKEN", "token", 10, "10/h", 9), [1, 10, 0, 0, reset])
    expect(r.execute_command("RL.TOKEN", "token", 10, "10/h"), [0, 10, 0, Between(300000, 360000), reset])
    expect(r.execute_command("RL.TOKEN", "token", 10, "10/h", 11), [0, 10, 0, -1, reset])


def decide_leaky(r):
    half, whole = Between(1740000, 1800000), Between(3540000, 3600000)
    expect(r.execute_command("RL.LEAKY", "leaky", 2, "2/h"), [1, 2, 1, 0, 1800000])
    expect(r.execute_command("RL.LEAKY", "leaky", 2, "2/h"), [1, 2, 0, half, whole])
    expect(r.execute_command("RL.LEAKY", "leaky", 2, "2/h"), [0, 2, 0, half, whole])


def decide_fixed(r):
    first = r.execute_command("RL.FIXED", "fixed", 2, "year")
    expect(first, [1, 2, 1, 0, Between(1, 366 * 86400000)])
    wait = Between(first[4] - 60000, first[4])
    second = r.execute_command("RL.FIXED", "fixed", 2, "year", 2)
    expect(second, [0, 2, 1, wait, wait])
    expect(second[3], second[4])


def decide_slide(r):
    first = r.execute_command("RL.SLIDE", "slide", 2, "365d")
    expect(first, [1, 2, 1, 0, Between(1, 2 * 365 * 86400000)])
    second = r.execute_command("RL.SLIDE", "slide", 2, "365d", 2)
    expect(second, [0, 2, 1, Between(1, first[4]), Between(first[4] - 60000, first[4])])


def decide_log(r):
    hour = Between(3540000, 3600000)
    expect(r.execute_command("RL.LOG", "log", 2, "1h"), [1, 2, 1, 0, 3600000])
    expect(r.execute_command("RL.LOG", "log", 2, "1h", 2), [0, 2, 1, hour, hour])
    expect(r.execute_command("RL.LOG", "log", 2, "1h", 2, "PARTIAL"), [1, 2, 0, 0, hour])
    expect(r.execute_command("RL.LOG", "log", 2, "1h", 1, "SHADOW"), [1, 2, 0, hour, hour])


def acquire_release(r):
    hour = Between(3540000, 3600000)
    expect(r.execute_command("RL.ACQUIRE", "lease", 1, "1h", "a"), [1, 1, 0, 0, 3600000])
    expect(r.execute_command("RL.ACQUIRE", "lease", 1, "1h", "b"), [0, 1, 0, hour, hour])
    expect(r.execute_command("RL.RELEASE", "lease", "a"), 1)
    expect(r.execute_command("RL.RELEASE", "lease", "a"), 0)
    expect(r.execute_command("RL.ACQUIRE", "lease", 1, "1h", "b"), [1, 1, 0, 0, 3600000])


def all_or_nothing(r):
    hour = Between(3540000, 3600000)
    both = ("RL.ALL", "TOKEN", "all-a", 10, "10/h", 1, "LOG", "all-b", 1, "1h", 1)
    expect(r.execute_command(*both), [1, 1, [1, 10, 9, 0, 360000], [1, 1, 0, 0, 3600000]])
    expect(r.execute_command(*both), [0, 1, [1, 10, 9, 0, Between(300000, 360000)], [0, 1, 0, hour, hour]])


def peek_refund_charge(r):
    for look in (("RL.PEEK", "tab"), ("RL.REFUND", "tab", 1), ("RL.CHARGE", "tab", 1)):
        expect(r.execute_command(*look), None)
    expect(r.execute_command("RL.TOKEN", "tab", 10, "10/h", 4), [1, 10, 6, 0, 1440000])
    expect(r.execute_command("RL.PEEK", "tab"), [b"TOKEN", 10, 6, 0, Between(1380000, 1440000)])
    repaid, debt = Between(660000, 720000), Between(4260000, 4320000)
    expect(r.execute_command("RL.REFUND", "tab", 2), [1, 10, 8, 0, repaid])
    expect(r.execute_command("RL.CHARGE", "tab", 10), [1, 10, 0, repaid, debt])
    expect(r.execute_command("RL.RESET", "tab"), 1)


def refusal(call, *arguments, of=redis.ResponseError):
    """Returns the text of the error that a call raises."""
    try:
        reply = call(*arguments)
    except of as error:
        return str(error)
    return f"no error but {reply!r}"


def errors(r):
    expect(refusal(r.execute_command, "RL.NOSUCH", "k"),
           "unknown command 'RL.NOSUCH', with args beginning with: 'k' ")
    expect(refusal(r.execute_command, "RL.TOKEN", "k"), "wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]")
    expect(refusal(r.execute_command, "RL.TOKEN", "k", -1, 1),
           "capacity must be a whole number from 0 to 1000000000000, got '-1'")
    expect(r.ping(), True)


def wrongtype(r):
    r.execute_command("RL.TOKEN", "kind", 10, "10/h")
    text = refusal(r.execute_command, "RL.FIXED", "kind", 10, 60)
    expect(text[:text.find(":")], "WRONGTYPE Operation against a key holding the wrong kind of value")


def pipeline(r):
    with r.pipeline(transaction=False) as pipe:
        for _ in range(100):
            pipe.execute_command("RL.TOKEN", "pipe", 50, "50/h")
        replies = pipe.execute()
    expect([reply[0] for reply in replies], [1] * 50 + [0] * 50)
    expect([reply[2] for reply in replies], list(range(49, -1, -1)) + [0] * 50)


def transaction(r):
    with r.pipeline() as pipe:
        pipe.execute_command("RL.TOKEN", "tx", 10, "10/h", 4)
        pipe.execute_command("RL.LOG", "tx-log", 2, "1h")
        expect(pipe.execute(), [[1, 10, 6, 0, 1440000], [1, 2, 1, 0, 3600000]])
        pipe.execute_command("RL.TOKEN", "tx")
        text = refusal(pipe.execute)
        expect(text.split(": ")[0], "Command # 1 (RL.TOKEN tx) of pipeline caused error")
    with r.pipeline() as pipe:
        pipe.watch("tx")
        r.execute_command("RL.TOKEN", "tx", 10, "10/h")
        pipe.multi()
        pipe.execute_command("RL.TOKEN", "tx", 10, "10/h")
        expect(refusal(pipe.execute, of=redis.WatchError), "Watched variable changed.")


def binary_keys(r):
    keys = {bytes(range(256)), b"a\r\nb", b"\0"}
    for key in keys:
        expect(r.execute_command("RL.TOKEN", key, 10, "10/h"), [1, 10, 9, 0, 360000])
        expect(r.execute_command("RL.PEEK", key), [b"TOKEN", 10, 9, 0, Between(300000, 360000)])
    expect(keys - set(r.scan_iter()), set())


def protocol(version):
    """A case for connections with a version of RESP."""

    def case(r):
        with redis.Redis(**PLAIN, protocol=version) as conn:
            hello = conn.execute_command("HELLO")
            if version == 2:
                hello = dict(zip(hello[::2], hello[1::2]))
            expect(hello[b"proto"], version)
            expect(conn.execute_command("RL.TOKEN", f"resp{version}", 10, "10/h"), [1, 10, 9, 0, 360000])
            expect(conn.execute_command("RL.PEEK", "no-such-key"), None)

    return case


def reconnect(r):
    with redis.Redis(**address("LIMITSRV_RESTART_ADDR")) as lasting:
        expect(lasting.execute_command("RL.TOKEN", "again", 10, "10/h", 4), [1, 10, 6, 0, 1440000])
        subprocess.run([os.environ["LIMITSRV_RESTART"]], check=True)
        expect(lasting.execute_command("RL.TOKEN", "again", 10, "10/h", 4), [1, 10, 6, 0, 1440000])


GUARDED = address("LIMITSRV_PASSWORD_ADDR")

# redis-py strips the code word; version 8 gets the error on HELLO already.
NOAUTH = OneOf(
    "Authentication required.",
    "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
    "option can be used to authenticate the client and select the RESP protocol version at the same time",
)


def wrong_password(r):
    with redis.Redis(**GUARDED, password="wrong") as rejected:
        text = refusal(rejected.execute_command, "RL.TOKEN", "k", 10, "10/h", of=redis.AuthenticationError)
        expect(text, "invalid username-password pair or user is disabled.")
    with redis.Redis(**GUARDED) as anonymous:
        text = refusal(anonymous.execute_command, "RL.TOKEN", "k", 10, "10/h", of=redis.AuthenticationError)
        expect(text, NOAUTH)


def password(r):
    with redis.Redis(**GUARDED, password=os.environ["LIMITSRV_PASSWORD"]) as known:
        expect(known.execute_command("RL.TOKEN", "k", 10, "10/h"), [1, 10, 9, 0, 360000])


def cluster(r):
    with RedisCluster(**address("LIMITSRV_CLUSTER_ADDR")) as nodes:
        for n in range(32):
            expect(nodes.execute_command("RL.TOKEN", f"k{n}", 10, "10/h"), [1, 10, 9, 0, 360000])
        with nodes.pipeline() as pipe:
            for n in range(32):
                pipe.execute_command("RL.PEEK", f"k{n}")
            expect(pipe.execute(), [[b"TOKEN", 10, 9, 0, Between(300000, 360000)]] * 32)


def tls(r):
    with redis.Redis(**address("LIMITSRV_TLS_ADDR"), ssl=True, ssl_ca_certs=os.environ["LIMITSRV_TLS_CA"]) as safe:
        expect(safe.execute_command("RL.TOKEN", "k", 10, "10/h"), [1, 10, 9, 0, 360000])
        with safe.pipeline(transaction=False) as pipe:
            for _ in range(1000):
                pipe.execute_command("RL.PEEK", "k")
            expect(pipe.execute(), [[b"TOKEN", 10, 9, 0, Between(300000, 360000)]] * 1000)


# Changes of a key that a client that keeps values must follow, with the value afterwards.
SET_BY_SCRIPT = "return redis.call('SET', KEYS[1], 'new')"
CHANGES = {
    "set": (lambda r, key: r.set(key, "new"), b"new"),
    "delete": (lambda r, key: r.delete(key), None),
    "expire": (lambda r, key: r.pexpire(key, 50), None),
    "script": (lambda r, key: r.eval(SET_BY_SCRIPT, 1, key), b"new"),
    "rename": (lambda r, key: r.rename(key, key + ":new"), None),
    "flush": (lambda r, key: r.flushall(), None),
}


def cache(r):
    with redis.Redis(**PLAIN, protocol=3, cache_config=CacheConfig()) as keeping:
        for name, (change, want) in CHANGES.items():
            key = "cache:" + name
            r.set(key, "old")
            expect(keeping.get(key), b"old")
            follow(name, lambda: (keeping.get(key), keeps(keeping, key)), (b"old", True))
            change(r, key)
            follow(name, lambda: keeping.get(key), want)


def keeps(r, key):
    return any(key in kept.redis_keys for kept in r.get_cache().collection)


def follow(name, ask, want):
    """Waits for an answer, for up to 10 s."""
    end = time.monotonic() + 10
    while (got := ask()) != want and time.monotonic() < end:
        time.sleep(0.005)
    expect((name, got), (name, want))


CASES = {
    "connect": connect,
    "decide-token": decide_token,
    "decide-leaky": decide_leaky,
    "decide-fixed": decide_fixed,
    "decide-slide": decide_slide,
    "decide-log": decide_log,
    "acquire-release": acquire_release,
    "all": all_or_nothing,
    "peek-refund-charge": peek_refund_charge,
    "errors": errors,
    "wrongtype": wrongtype,
    "pipeline": pipeline,
    "transaction": transaction,
    "binary-keys": binary_keys,
    "resp2": protocol(2),
    "resp3": protocol(3),
    "reconnect": reconnect,
    "wrong-password": wrong_password,
    "password": password,
    "cluster": cluster,
    "tls": tls,
    "cache": cache,
}


if __name__ == "__main__":
    with redis.Redis(**PLAIN) as client:
        sys.exit(run(CASES, client))
