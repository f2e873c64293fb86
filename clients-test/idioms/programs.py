"""Programs that run the snippets of the page, one for each language.

A program reads lines from its standard input: the name of a snippet, the port of a server, the
time in milliseconds, a number of requests and a key. It runs the snippet for each request at that
time, and prints a line of 1 for each allowed and 0 for each denied request.
"""

import json
import pathlib
import textwrap
import typing

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / ".build"

PYTHON = '''import sys
from uuid import uuid4

import redis


class Clock:
    def time(self):
        return self.now / 1000

    def time_ns(self):
        return self.now * 1_000_000


time, clients = Clock(), {}
%(scripts)s
%(snippets)s
for line in sys.stdin:
    name, port, now, count, key = line.split()
    if port not in clients:
        clients[port] = redis.Redis(port=int(port))
    time.now = int(now)
    print("".join("1" if globals()[name](clients[port], key) else "0" for _ in range(int(count))), flush=True)
'''

NODE = '''import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'

let time
const Date = { now: () => time }
%(scripts)s
const snippets = {
%(snippets)s}
const clients = {}
for await (const line of createInterface({ input: process.stdin })) {
  const [name, port, now, count, key] = line.split(' ')
  const client = clients[port] ??= new Redis(port)
  time = Number(now)
  let answer = ''
  for (let i = 0; i < count; i++) answer += Number(await snippets[name](client, key))
  console.log(answer)
}
process.exit()
'''

GO = '''package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"slices"
	realtime "time"

	"github.com/redis/go-redis/v9"
)

type clock struct {
	now            int64
	Second, Minute realtime.Duration
}

func (c *clock) Now() realtime.Time { return realtime.UnixMilli(c.now) }

var (
	time = &clock{Second: realtime.Second, Minute: realtime.Minute}
	err  error // of snippets without an error
)
%(scripts)s
var snippets = map[string]func(ctx context.Context, r *redis.Client, key string) (bool, error){
%(snippets)s}

func main() {
	clients := map[string]*redis.Client{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println() {
		var name, port, key string
		var count int
		if _, err := fmt.Sscan(in.Text(), &name, &port, &time.now, &count, &key); err != nil {
			log.Fatal(err)
		}
		if clients[port] == nil {
			clients[port] = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
		}
		for range count {
			allowed, err := snippets[name](context.Background(), clients[port], key)
			if err != nil {
				log.Fatal(err)
			}
			if allowed {
				fmt.Print(1)
			} else {
				fmt.Print(0)
			}
		}
	}
}
'''


class Language(typing.NamedTuple):
    name: str  # on the page
    file: str
    program: str
    snippet: str  # a function of the program, with the place for its name and its text
    indentation: str
    script: str  # a constant of the program, with the place for its name and its text
    build: typing.Callable  # returns the commands that compile the file
    run: typing.Callable  # returns the command that runs the file


LANGUAGES = {
    "python": Language(
        "Python", "idioms.py", PYTHON, "\ndef %s(r, key):\n%s    return allowed\n\n", "    ", "%s = %s",
        lambda _: [], lambda file: [HERE.parent / "python/.build/redis-py-8/bin/python", "-W", "error", file]),
    "node": Language(
        "JavaScript", "idioms.mjs", NODE, "%s: async (r, key) => {\n%s  return allowed\n},\n", "  ", "const %s = %s",
        lambda _: [], lambda file: ["node", file]),
    "go": Language(
        "Go", "idioms.go", GO, '"%s": func(ctx context.Context, r *redis.Client, key string) (bool, error) {\n%s\treturn allowed, err\n},\n',
        "\t", "const %s = %s",
        lambda file: [["gofmt", "-w", file], ["go", "build", "-C", HERE.parent / "go", "-o", BUILD / "go", file]], lambda _: [BUILD / "go"]),
}


def write(language, snippets, scripts):
    """Writes the program of a language with these snippets and scripts by name.

    It returns the commands that compile the program, and the command that runs it.
    """
    to = LANGUAGES[language]
    file = BUILD / to.file
    file.write_text(to.program % {
        "snippets": "".join(to.snippet % (name, textwrap.indent(text, to.indentation)) for name, text in snippets.items()),
        "scripts": "\n".join(to.script % (name, json.dumps(text)) for name, text in scripts.items()),
    })
    return to.build(file), to.run(file)
