"""The modes of redis-cli other than sending commands."""

import re
import sys

from redis_cli import call, cli, server
from report import Between, expect, run
from terminal import Terminal


PROMPT = r"127\.0\.0\.1:\d+> "
ERASE_LINE = "\x15"  # control and U


def fill():
    """Creates the keys user:0 to user:4."""
    for n in range(5):
        call("RL.TOKEN", f"user:{n}", 10, "10/h")


def stat():
    fill()
    call("DBSIZE")  # --stat shows the counts of a front, which are up to a second old
    with Terminal("redis-cli", *server(), "--stat", "-i", "0.1") as screen:
        screen.await_(r"keys +mem +clients +blocked +requests +connections")
        first = screen.await_(r"\n5 +[0-9.]+[KM] +([0-9]+) +0 +([0-9]+) \(\+0\) +([0-9]+)")
        later = screen.await_(r"\n5 +[0-9.]+[KM] +[0-9]+ +0 +([0-9]+) \(\+[1-9][0-9]*\) +[0-9]+")
    expect(int(first[1]), Between(1, 3))
    expect(int(later[1]) > int(first[2]), True)


def bigkeys():
    fill()
    status, output, errors = cli("--bigkeys")
    expect((status, errors), (0, ""))
    expect("Sampled 5 keys in the keyspace!" in output, True)
    expect("5 tokens with" in output, True)


def memkeys():
    fill()
    status, output, errors = cli("--memkeys")
    expect((status, errors), (0, ""))
    expect("Sampled 5 keys in the keyspace!" in output, True)
    expect(int(re.search(r"Biggest +token found '\"user:\d\"' has (\d+) bytes", output)[1]), Between(16, 4096))


def scan():
    fill()
    expect(sorted(cli("--scan")[1].split()), [f"user:{n}" for n in range(5)])
    expect(cli("--scan", "--pattern", "*:3"), (0, "user:3\n", ""))


def pipe():
    """Mass insertion, with the ECHO at its end, and a command with an error."""
    script = b"RL.TOKEN piped 10 10/h\r\n" * 20 + b"*2\r\n$8\r\nRL.TOKEN\r\n$5\r\npiped\r\n"
    status, output, errors = cli("--pipe", stdin=script)
    expect((status, errors), (1, "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW] [ONCE id [FOR duration]]\n"))
    expect(output.splitlines()[-1], "errors: 1, replies: 21")
    call("RL.RESET", "piped")


def latency():
    status, output, errors = cli("--latency")  # minimum, maximum, average in ms, samples within the second of the run
    expect((status, errors, len(output.split())), (0, "", 4))
    expect(int(output.split()[3]), Between(10, 1000))
    with Terminal("redis-cli", *server(), "--latency-history", "-i", "0.5") as screen:
        screen.await_(r"min: \d+, max: \d+, avg: [0-9.]+ \(\d+ samples\) -- 0\.5\d seconds range")
    with Terminal("redis-cli", *server(), "--latency-dist", "-i", "0.5") as screen:
        screen.await_(r"from 1 to 9 +milliseconds")
        screen.await_(r"From 0 to 100%: [\s\S]*-{40}[\s\S]+[.*#1-9-]")


def interactive():
    """Interactive use: the hint of a command, its completion, help, the command, and exit."""
    five = r"1\) \(integer\) 1\s+2\) \(integer\) 10\s+3\) \(integer\) 6\s+4\) \(integer\) 0\s+5\) \(integer\) 1440000\s+"
    with Terminal("redis-cli", *server()) as screen:
        screen.await_(PROMPT)
        screen.type("RL.TOKEN ")
        screen.await_(r"key capacity rate \[n\] \[PARTIAL\] \[SHADOW\]")
        screen.type("typed 10 10/h 4\r")
        screen.await_(five + PROMPT)
        screen.type("rl.tok\t")
        screen.await_(PROMPT + r"RL\.TOKEN")
        screen.type(ERASE_LINE + "help rl.token\r")
        screen.await_(r"summary: Takes n tokens from a token bucket[\s\S]+" + PROMPT)
        screen.type("RL.NOSUCH k\r")
        screen.await_(r"\(error\) ERR unknown command 'RL\.NOSUCH', with args beginning with: 'k' \s+" + PROMPT)
        screen.type("quit\r")
        expect(screen.wait(), 0)
    call("RL.RESET", "typed")


def monitor():
    with Terminal("redis-cli", *server(), "MONITOR") as screen:
        screen.await_(r"OK\r?\n")
        call("RL.TOKEN", "watched", 10, "10/h")
        screen.await_(r'\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "RL\.TOKEN" "watched" "10" "10/h"')
    call("RL.RESET", "watched")


CASES = {
    "stat": stat,
    "bigkeys": bigkeys,
    "memkeys": memkeys,
    "scan": scan,
    "pipe": pipe,
    "latency": latency,
    "interactive": interactive,
    "monitor": monitor,
}

if __name__ == "__main__":
    sys.exit(run(CASES))
