"""The session in redis-cli, with JSON output if the version supports it."""

import json
import os
import subprocess
import sys

from report import Between, address, expect, run
from terminal import Terminal

HOUR = Between(3540000, 3600000)


def server(at="LIMITSRV_ADDR"):
    """Returns the options with which Redis' tools connect to a server."""
    to = address(at)
    return "-h", to["host"], "-p", str(to["port"])


def cli(*words, at="LIMITSRV_ADDR", stdin=b"", environment={}):
    """Runs redis-cli with words, and returns its exit status, output and errors."""
    done = subprocess.run(["redis-cli", *server(at), *words], input=stdin, env=os.environ | environment,
                          capture_output=True, timeout=100)
    return done.returncode, done.stdout.decode(errors="backslashreplace"), done.stderr.decode()


def call(*words, **how):
    """Returns the reply to a command."""
    status, output, errors = cli("--json", *map(str, words), **how)
    expect((status, errors), (0, ""))
    return json.loads(output)


def refusal(*words):
    """Returns the error reply to a command; -e also sets the exit status."""
    status, output, errors = cli("-e", *words)
    expect((status, output), (1, ""))
    return errors.strip("\n")


def connect():
    expect(cli("PING"), (0, "PONG\n", ""))
    expect(cli("RL.RELEASE", "no-such-key", "a"), (0, "0\n", ""))


def decide_token():
    expect(call("RL.TOKEN", "token", 10, "10/h"), [1, 10, 9, 0, 360000])
    expect(call("RL.TOKEN", "token", 10, "10/h", 9), [1, 10, 0, 0, HOUR])
    expect(call("RL.TOKEN", "token", 10, "10/h"), [0, 10, 0, Between(300000, 360000), HOUR])
    expect(call("RL.TOKEN", "token", 10, "10/h", 11), [0, 10, 0, -1, HOUR])


def decide_leaky():
    half = Between(1740000, 1800000)
    expect(call("RL.LEAKY", "leaky", 2, "2/h"), [1, 2, 1, 0, 1800000])
    expect(call("RL.LEAKY", "leaky", 2, "2/h"), [1, 2, 0, half, HOUR])
    expect(call("RL.LEAKY", "leaky", 2, "2/h"), [0, 2, 0, half, HOUR])


def decide_fixed():
    first = call("RL.FIXED", "fixed", 2, "year")
    expect(first, [1, 2, 1, 0, Between(1, 366 * 86400000)])
    second = call("RL.FIXED", "fixed", 2, "year", 2)
    expect(second, [0, 2, 1, Between(first[4] - 60000, first[4]), second[3]])


def decide_slide():
    first = call("RL.SLIDE", "slide", 2, "365d")
    expect(first, [1, 2, 1, 0, Between(1, 2 * 365 * 86400000)])
    second = call("RL.SLIDE", "slide", 2, "365d", 2)
    expect(second, [0, 2, 1, Between(1, first[4]), Between(first[4] - 60000, first[4])])


def decide_log():
    expect(call("RL.LOG", "log", 2, "1h"), [1, 2, 1, 0, 3600000])
    expect(call("RL.LOG", "log", 2, "1h", 2), [0, 2, 1, HOUR, HOUR])
    expect(call("RL.LOG", "log", 2, "1h", 2, "PARTIAL"), [1, 2, 0, 0, HOUR])
    expect(call("RL.LOG", "log", 2, "1h", 1, "SHADOW"), [1, 2, 0, HOUR, HOUR])


def acquire_release():
    expect(call("RL.ACQUIRE", "lease", 1, "1h", "a"), [1, 1, 0, 0, 3600000])
    expect(call("RL.ACQUIRE", "lease", 1, "1h", "b"), [0, 1, 0, HOUR, HOUR])
    expect(call("RL.RELEASE", "lease", "a"), 1)
    expect(call("RL.RELEASE", "lease", "a"), 0)
    expect(call("RL.ACQUIRE", "lease", 1, "1h", "b"), [1, 1, 0, 0, 3600000])


def all_or_nothing():
    both = ("RL.ALL", "TOKEN", "all-a", 10, "10/h", 1, "LOG", "all-b", 1, "1h", 1)
    expect(call(*both), [1, 1, [1, 10, 9, 0, 360000], [1, 1, 0, 0, 3600000]])
    expect(call(*both), [0, 1, [1, 10, 9, 0, Between(300000, 360000)], [0, 1, 0, HOUR, HOUR]])


def peek_refund_charge():
    for look in (("RL.PEEK", "tab"), ("RL.REFUND", "tab", 1), ("RL.CHARGE", "tab", 1)):
        expect(call(*look), None)
    expect(call("RL.TOKEN", "tab", 10, "10/h", 4), [1, 10, 6, 0, 1440000])
    expect(call("RL.PEEK", "tab"), ["TOKEN", 10, 6, 0, Between(1380000, 1440000)])
    repaid = Between(660000, 720000)
    expect(call("RL.REFUND", "tab", 2), [1, 10, 8, 0, repaid])
    expect(call("RL.CHARGE", "tab", 10), [1, 10, 0, repaid, Between(4260000, 4320000)])
    expect(call("RL.RESET", "tab"), 1)


def errors():
    expect(refusal("RL.NOSUCH", "k"), "ERR unknown command 'RL.NOSUCH', with args beginning with: 'k' ")
    expect(refusal("RL.TOKEN", "k"), "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]")
    expect(refusal("RL.TOKEN", "k", "-1", "1"), "ERR capacity must be a whole number from 0 to 1000000000000, got '-1'")
    lines = cli(stdin=b"RL.TOKEN k\nPING\n")[1].split("\n")
    expect(lines, ["ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]", "", "PONG", ""])


def wrongtype():
    call("RL.TOKEN", "kind", 10, "10/h")
    text = refusal("RL.FIXED", "kind", "10", "60")
    expect(text[:text.find(":")], "WRONGTYPE Operation against a key holding the wrong kind of value")


def pipeline():
    """Sends all commands by mass insertion, which counts the replies."""
    status, output, errors = cli("--pipe", stdin=b"RL.TOKEN pipe 50 50/h\r\n" * 100)
    expect((status, errors, output.splitlines()[-1]), (0, "", "errors: 0, replies: 100"))
    expect(call("RL.PEEK", "pipe")[:3], ["TOKEN", 50, 0])


def transaction():
    script = b"MULTI\nRL.TOKEN tx 10 10/h 4\nRL.LOG tx-log 2 1h\nEXEC\n"
    expect([json.loads(line) for line in cli("--json", stdin=script)[1].splitlines()],
           ["OK", "QUEUED", "QUEUED", [[1, 10, 6, 0, 1440000], [1, 2, 1, 0, 3600000]]])
    lines = cli(stdin=b"MULTI\nRL.TOKEN tx\nEXEC\n")[1].splitlines()
    expect(lines[-2:], ["EXECABORT Transaction discarded because of previous errors.", ""])


def binary_keys():
    """Sends keys on standard input, and checks them in the quotes of redis-cli."""
    for key in (bytes(range(256)), b"a\r\nb", b"\0"):
        expect(call("-X", "KEY", "RL.TOKEN", "KEY", 10, "10/h", stdin=key), [1, 10, 9, 0, 360000])
        expect(call("-x", "RL.PEEK", stdin=key), ["TOKEN", 10, 9, 0, Between(300000, 360000)])
        shown = cli("--no-raw", "-x", "ECHO", stdin=key)[1].strip("\n")
        expect(call("--quoted-input", "RL.PEEK", shown)[:3], ["TOKEN", 10, 9])
        expect(shown in cli("--no-raw", "SCAN", "0", "COUNT", "1000")[1], True)


def resp2():
    hello = call("-2", "HELLO")
    expect(hello[hello.index("proto") + 1], 2)
    expect(call("-2", "RL.TOKEN", "resp2", 10, "10/h"), [1, 10, 9, 0, 360000])
    expect(cli("-2", "RL.PEEK", "no-such-key"), (0, "\n", ""))


def resp3():
    expect(call("-3", "HELLO")["proto"], 3)
    expect(call("-3", "RL.TOKEN", "resp3", 10, "10/h"), [1, 10, 9, 0, 360000])
    expect(call("-3", "RL.PEEK", "no-such-key"), None)


def reconnect():
    """Uses one redis-cli at a terminal; it reconnects for the command after the failed one."""
    permits = r"3\) \(integer\) 6\s+4\) \(integer\) 0\s+5\) \(integer\) 1440000\s+127"
    with Terminal("redis-cli", *server("LIMITSRV_RESTART_ADDR")) as screen:
        screen.await_(r"127\.0\.0\.1:\d+> ")
        screen.type("RL.TOKEN again 10 10/h 4\r")
        screen.await_(permits)
        subprocess.run([os.environ["LIMITSRV_RESTART"]], check=True)
        screen.type("RL.TOKEN again 10 10/h 4\r")
        screen.await_(r"Error: Server closed the connection\s+not connected> ")
        screen.type("RL.TOKEN again 10 10/h 4\r")
        screen.await_(permits)


def wrong_password():
    words = ("RL.TOKEN", "k", "10", "10/h")
    wrong = cli(*words, at="LIMITSRV_PASSWORD_ADDR", environment={"REDISCLI_AUTH": "wrong"})
    expect(wrong, (0, "NOAUTH Authentication required.\n\n",
                   "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.\n"))
    expect(cli(*words, at="LIMITSRV_PASSWORD_ADDR"), (0, "NOAUTH Authentication required.\n\n", ""))


def password():
    known = {"REDISCLI_AUTH": os.environ["LIMITSRV_PASSWORD"]}
    expect(call("RL.TOKEN", "k", 10, "10/h", at="LIMITSRV_PASSWORD_ADDR", environment=known), [1, 10, 9, 0, 360000])


def cluster():
    for n in range(32):
        expect(call("-c", "RL.TOKEN", f"k{n}", 10, "10/h", at="LIMITSRV_CLUSTER_ADDR"), [1, 10, 9, 0, 360000])
        expect(call("-c", "RL.PEEK", f"k{n}", at="LIMITSRV_CLUSTER_ADDR"),
               ["TOKEN", 10, 9, 0, Between(300000, 360000)])
    status, output, _ = cli("--cluster", "check", os.environ["LIMITSRV_CLUSTER_ADDR"])
    expect((status, "[OK] All 16384 slots covered." in output), (0, True))


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
    "resp2": resp2,
    "resp3": resp3,
    "reconnect": reconnect,
    "wrong-password": wrong_password,
    "password": password,
    "cluster": cluster,
}

if __name__ == "__main__":
    sys.exit(run(CASES))
