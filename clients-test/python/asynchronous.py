"""The session in redis-py, with asyncio."""

import asyncio
import os
import sys

import redis.asyncio as redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import AuthenticationError, ResponseError, WatchError

from report import WARNINGS, Between, OneOf, address, expect, is_asked, print_case

PLAIN = address("LIMITSRV_ADDR")


async def connect(r):
    async with redis.Redis(**PLAIN) as fresh:
        expect(await fresh.ping(), True)
    expect(WARNINGS.lines, [])


async def decide_token(r):
    reset = Between(3540000, 3600000)
    expect(await r.execute_command("RL.TOKEN", "token", 10, "10/h"), [1, 10, 9, 0, 360000])
    expect(await r.execute_command("RL.TOKEN", "token", 10, "10/h", 9), [1, 10, 0, 0, reset])
    expect(await r.execute_command("RL.TOKEN", "token", 10, "10/h"), [0, 10, 0, Between(300000, 360000), reset])
    expect(await r.execute_command("RL.TOKEN", "token", 10, "10/h", 11), [0, 10, 0, -1, reset])


async def decide_leaky(r):
    half, whole = Between(1740000, 1800000), Between(3540000, 3600000)
    expect(await r.execute_command("RL.LEAKY", "leaky", 2, "2/h"), [1, 2, 1, 0, 1800000])
    expect(await r.execute_command("RL.LEAKY", "leaky", 2, "2/h"), [1, 2, 0, half, whole])
    expect(await r.execute_command("RL.LEAKY", "leaky", 2, "2/h"), [0, 2, 0, half, whole])


async def decide_fixed(r):
    first = await r.execute_command("RL.FIXED", "fixed", 2, "year")
    expect(first, [1, 2, 1, 0, Between(1, 366 * 86400000)])
    wait = Between(first[4] - 60000, first[4])
    second = await r.execute_command("RL.FIXED", "fixed", 2, "year", 2)
    expect(second, [0, 2, 1, wait, wait])
    expect(second[3], second[4])


async def decide_slide(r):
    first = await r.execute_command("RL.SLIDE", "slide", 2, "365d")
    expect(first, [1, 2, 1, 0, Between(1, 2 * 365 * 86400000)])
    second = await r.execute_command("RL.SLIDE", "slide", 2, "365d", 2)
    expect(second, [0, 2, 1, Between(1, first[4]), Between(first[4] - 60000, first[4])])


async def decide_log(r):
    hour = Between(3540000, 3600000)
    expect(await r.execute_command("RL.LOG", "log", 2, "1h"), [1, 2, 1, 0, 3600000])
    expect(await r.execute_command("RL.LOG", "log", 2, "1h", 2), [0, 2, 1, hour, hour])
    expect(await r.execute_command("RL.LOG", "log", 2, "1h", 2, "PARTIAL"), [1, 2, 0, 0, hour])
    expect(await r.execute_command("RL.LOG", "log", 2, "1h", 1, "SHADOW"), [1, 2, 0, hour, hour])


async def acquire_release(r):
    hour = Between(3540000, 3600000)
    expect(await r.execute_command("RL.ACQUIRE", "lease", 1, "1h", "a"), [1, 1, 0, 0, 3600000])
    expect(await r.execute_command("RL.ACQUIRE", "lease", 1, "1h", "b"), [0, 1, 0, hour, hour])
    expect(await r.execute_command("RL.RELEASE", "lease", "a"), 1)
    expect(await r.execute_command("RL.RELEASE", "lease", "a"), 0)
    expect(await r.execute_command("RL.ACQUIRE", "lease", 1, "1h", "b"), [1, 1, 0, 0, 3600000])


async def all_or_nothing(r):
    hour = Between(3540000, 3600000)
    both = ("RL.ALL", "TOKEN", "all-a", 10, "10/h", 1, "LOG", "all-b", 1, "1h", 1)
    expect(await r.execute_command(*both), [1, 1, [1, 10, 9, 0, 360000], [1, 1, 0, 0, 3600000]])
    expect(await r.execute_command(*both), [0, 1, [1, 10, 9, 0, Between(300000, 360000)], [0, 1, 0, hour, hour]])


async def peek_refund_charge(r):
    for look in (("RL.PEEK", "tab"), ("RL.REFUND", "tab", 1), ("RL.CHARGE", "tab", 1)):
        expect(await r.execute_command(*look), None)
    expect(await r.execute_command("RL.TOKEN", "tab", 10, "10/h", 4), [1, 10, 6, 0, 1440000])
    expect(await r.execute_command("RL.PEEK", "tab"), [b"TOKEN", 10, 6, 0, Between(1380000, 1440000)])
    repaid, debt = Between(660000, 720000), Between(4260000, 4320000)
    expect(await r.execute_command("RL.REFUND", "tab", 2), [1, 10, 8, 0, repaid])
    expect(await r.execute_command("RL.CHARGE", "tab", 10), [1, 10, 0, repaid, debt])
    expect(await r.execute_command("RL.RESET", "tab"), 1)


async def refusal(call, *arguments, of=ResponseError):
    """Returns the text of the error that a call raises."""
    try:
        reply = await call(*arguments)
    except of as error:
        return str(error)
    return f"no error but {reply!r}"


async def errors(r):
    expect(await refusal(r.execute_command, "RL.NOSUCH", "k"),
           "unknown command 'RL.NOSUCH', with args beginning with: 'k' ")
    expect(await refusal(r.execute_command, "RL.TOKEN", "k"), "wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]")
    expect(await refusal(r.execute_command, "RL.TOKEN", "k", -1, 1),
           "capacity must be a whole number from 0 to 1000000000000, got '-1'")
    expect(await r.ping(), True)


async def wrongtype(r):
    await r.execute_command("RL.TOKEN", "kind", 10, "10/h")
    text = await refusal(r.execute_command, "RL.FIXED", "kind", 10, 60)
    expect(text[:text.find(":")], "WRONGTYPE Operation against a key holding the wrong kind of value")


async def pipeline(r):
    async with r.pipeline(transaction=False) as pipe:
        for _ in range(100):
            pipe.execute_command("RL.TOKEN", "pipe", 50, "50/h")
        replies = await pipe.execute()
    expect([reply[0] for reply in replies], [1] * 50 + [0] * 50)
    expect([reply[2] for reply in replies], list(range(49, -1, -1)) + [0] * 50)


async def transaction(r):
    async with r.pipeline() as pipe:
        pipe.execute_command("RL.TOKEN", "tx", 10, "10/h", 4)
        pipe.execute_command("RL.LOG", "tx-log", 2, "1h")
        expect(await pipe.execute(), [[1, 10, 6, 0, 1440000], [1, 2, 1, 0, 3600000]])
        pipe.execute_command("RL.TOKEN", "tx")
        text = await refusal(pipe.execute)
        expect(text.split(": ")[0], "Command # 1 (RL.TOKEN tx) of pipeline caused error")
    async with r.pipeline() as pipe:
        await pipe.watch("tx")
        await r.execute_command("RL.TOKEN", "tx", 10, "10/h")
        pipe.multi()
        pipe.execute_command("RL.TOKEN", "tx", 10, "10/h")
        expect(await refusal(pipe.execute, of=WatchError), "Watched variable changed.")


async def binary_keys(r):
    keys = {bytes(range(256)), b"a\r\nb", b"\0"}
    for key in keys:
        expect(await r.execute_command("RL.TOKEN", key, 10, "10/h"), [1, 10, 9, 0, 360000])
        expect(await r.execute_command("RL.PEEK", key), [b"TOKEN", 10, 9, 0, Between(300000, 360000)])
    expect(keys - {key async for key in r.scan_iter()}, set())


def protocol(version):
    """A case for connections with a version of RESP."""

    async def case(r):
        async with redis.Redis(**PLAIN, protocol=version) as conn:
            hello = await conn.execute_command("HELLO")
            if version == 2:
                hello = dict(zip(hello[::2], hello[1::2]))
            expect(hello[b"proto"], version)
            expect(await conn.execute_command("RL.TOKEN", f"resp{version}", 10, "10/h"), [1, 10, 9, 0, 360000])
            expect(await conn.execute_command("RL.PEEK", "no-such-key"), None)

    return case


async def reconnect(r):
    async with redis.Redis(**address("LIMITSRV_RESTART_ADDR")) as lasting:
        expect(await lasting.execute_command("RL.TOKEN", "again", 10, "10/h", 4), [1, 10, 6, 0, 1440000])
        restart = await asyncio.create_subprocess_exec(os.environ["LIMITSRV_RESTART"])
        expect(await restart.wait(), 0)
        expect(await lasting.execute_command("RL.TOKEN", "again", 10, "10/h", 4), [1, 10, 6, 0, 1440000])


GUARDED = address("LIMITSRV_PASSWORD_ADDR")

# redis-py strips the code word; version 8 gets the error on HELLO already.
NOAUTH = OneOf(
    "Authentication required.",
    "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
    "option can be used to authenticate the client and select the RESP protocol version at the same time",
)


async def wrong_password(r):
    async with redis.Redis(**GUARDED, password="wrong") as rejected:
        text = await refusal(rejected.execute_command, "RL.TOKEN", "k", 10, "10/h", of=AuthenticationError)
        expect(text, "invalid username-password pair or user is disabled.")
    async with redis.Redis(**GUARDED) as anonymous:
        text = await refusal(anonymous.execute_command, "RL.TOKEN", "k", 10, "10/h", of=AuthenticationError)
        expect(text, NOAUTH)


async def password(r):
    async with redis.Redis(**GUARDED, password=os.environ["LIMITSRV_PASSWORD"]) as known:
        expect(await known.execute_command("RL.TOKEN", "k", 10, "10/h"), [1, 10, 9, 0, 360000])


async def cluster(r):
    async with RedisCluster(**address("LIMITSRV_CLUSTER_ADDR")) as nodes:
        for n in range(32):
            expect(await nodes.execute_command("RL.TOKEN", f"k{n}", 10, "10/h"), [1, 10, 9, 0, 360000])
        async with nodes.pipeline() as pipe:
            for n in range(32):
                pipe.execute_command("RL.PEEK", f"k{n}")
            expect(await pipe.execute(), [[b"TOKEN", 10, 9, 0, Between(300000, 360000)]] * 32)


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
}


async def main():
    status = 0
    async with redis.Redis(**PLAIN) as r:
        for name, case in CASES.items():
            if not is_asked(name):
                continue
            try:
                await case(r)
                print_case(name, None)
            except Exception as problem:
                status = 1
                print_case(name, problem)
    return status


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
