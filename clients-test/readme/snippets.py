"""Runs a snippet of the README as it stands there: python3 snippets.py python, say.

The last line of a snippet that prints ends with the output in a comment. Of Go and Java
the README shows statements; here they get the program around them. Without a server a
snippet must fail with the error of its client, and Go's without a panic.
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
README = HERE.parent.parent / "README.md"
BUILD = HERE / ".build"

# Seconds for a program, of which Go's and Java's are compiled first.
TIMEOUT = 240

GO = """package main

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"
)

func main() {
%s}
"""

JAVA = """import java.util.List;
import redis.clients.jedis.RedisClient;

class Snippet {
    public static void main(String[] args) {
%s    }
}
"""


def classpath():
    return (HERE.parent / "java" / ".build" / "classpath").read_text()


# By the name of the client: the language of its block in the README, the file, the
# program around the snippet, its indentation in there, and the command that runs the file.
LANGUAGES = {
    "python": ("python", "snippet.py", "%s", "", lambda file: [HERE.parent / "python/.build/redis-py-8/bin/python", file]),
    "node": ("js", "snippet.mjs", "%s", "", lambda file: ["node", file]),
    "go": ("go", "snippet.go", GO, "\t", lambda file: ["go", "run", "-C", HERE.parent / "go", file]),
    "java": ("java", "Snippet.java", JAVA, " " * 8, lambda file: ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath(), file]),
}


def snippet(language, address):
    """The block of a language, for the server at an address, and its output."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        raise ValueError(f"the README has {len(blocks)} blocks of {language}, want one")
    wanted = re.findall(r"\b(?:print|log|Println|println)\(.*(?:#|//) (.*)$", blocks[0], re.MULTILINE)
    if len(wanted) != 1:
        raise ValueError(f"the block of {language} shows {len(wanted)} outputs, want one")
    host, port = address.split(":")
    text = blocks[0].replace("127.0.0.1", host)
    if "6380" not in text:
        raise ValueError(f"the block of {language} does not connect to port 6380")
    return text.replace("6380", port), wanted[0]


def run(client, address):
    """Runs the snippet of a client, and returns the result and the output that the README shows."""
    language, file, around, indentation, command = LANGUAGES[client]
    text, wanted = snippet(language, address)
    file = BUILD / file
    file.write_text(around % textwrap.indent(text, indentation))
    return subprocess.run(command(file), timeout=TIMEOUT, text=True, stdin=subprocess.DEVNULL, capture_output=True), wanted


def main():
    client = sys.argv[1]
    try:
        ended, wanted = run(client, os.environ["LIMITSRV_ADDR"])
        got = ended.stdout.strip()
        if ended.returncode != 0 or got != wanted:
            raise ValueError(f"got {got!r} and exit status {ended.returncode}, want {wanted!r}: {ended.stderr}")
        if client != "node":  # node-redis connects until a server answers
            with socket.socket() as closed:  # bound, but it does not listen
                closed.bind(("127.0.0.1", 0))
                ended, _ = run(client, "127.0.0.1:%d" % closed.getsockname()[1])
            if ended.returncode == 0 or "panic" in ended.stderr or "onnect" not in ended.stderr:
                raise ValueError(f"without a server: exit status {ended.returncode}, {ended.stderr!r}")
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        print("FAIL snippet:", str(problem).replace("\n", " "), flush=True)
        return 1
    print("ok snippet", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
