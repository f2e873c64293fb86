"""Programs around the gateways of the page, one for each language.

A program reads lines from its standard input: the name of a case, open or closed, and the milliseconds after
each part of the answer. It prints a line of JSON when the request has ended. When its input ends, it ends its
settlements.
"""

import pathlib
import subprocess
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / ".build"

NODE = """import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Limited, Unavailable, chat, close } from './gateway.mjs'

let pause
const parts = [['The ', 1], ['answer', 1], [' is', 1], [' 42.', 2]]
async function * answer () {
  for (const part of parts) {
    yield part
    await sleep(pause)
  }
}
const providers = {
  'no-provider': async () => { throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) },
  'broken-provider': async () => { throw new Error('broken') }
}

async function run (name, failOpen) {
  let text = ''
  for await (const part of chat('acme', 1200, name === 'too-much' ? 400_000 : 4000, providers[name] ?? (async () => answer()), failOpen)) {
    text += part
    if (name === 'hang-up') break
    if (name === 'die') process.exit(9)
  }
  return { text }
}

function problem (error) {
  if (error instanceof Limited) return { error: `429 ${error.message}` }
  return { error: error instanceof Unavailable ? '503' : error.message }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [name, policy, milliseconds] = line.split(' ')
  pause = Number(milliseconds)
  const began = Date.now()
  const result = await run(name, policy === 'open').catch(problem)
  console.log(JSON.stringify({ ...result, ms: Date.now() - began }))
}
await close()
"""

GO = """package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"syscall"
	"time"
)

var pause time.Duration

func answerOf(yield func(string, int64) bool) {
	for i, part := range []string{"The ", "answer", " is", " 42."} {
		if !yield(part, []int64{1, 1, 1, 2}[i]) {
			return
		}
		time.Sleep(pause)
	}
}

func provider(name string) (iter.Seq2[string, int64], error) {
	switch name {
	case "no-provider":
		return nil, syscall.ECONNREFUSED
	case "broken-provider":
		return nil, errors.New("broken")
	}
	return answerOf, nil
}

var errHungUp = errors.New("hung up")

func run(g *Gateway, name string) (text string, err error) {
	most := int64(4000)
	if name == "too-much" {
		most = 400_000
	}
	ask := func() (iter.Seq2[string, int64], error) { return provider(name) }
	err = g.Chat("acme", 1200, most, ask, func(part string) error {
		switch text += part; name {
		case "hang-up":
			return errHungUp
		case "die":
			os.Exit(9)
		}
		return nil
	})
	return text, err
}

func problem(err error) string {
	var limited *Limited
	switch {
	case err == nil || errors.Is(err, errHungUp):
		return ""
	case errors.As(err, &limited):
		return "429 " + limited.Rule
	case errors.Is(err, ErrUnavailable):
		return "503"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	}
	return err.Error()
}

func main() {
	open, closed := NewGateway("127.0.0.1:"+os.Args[1], true), NewGateway("127.0.0.1:"+os.Args[1], false)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var name, policy string
		var milliseconds int64
		fmt.Sscan(in.Text(), &name, &policy, &milliseconds)
		pause = time.Duration(milliseconds) * time.Millisecond
		g := closed
		if policy == "open" {
			g = open
		}
		began := time.Now()
		result := map[string]any{}
		text, err := run(g, name)
		if result["text"] = text; problem(err) != "" {
			result = map[string]any{"error": problem(err)}
		}
		result["ms"] = time.Since(began).Milliseconds()
		line, _ := json.Marshal(result)
		fmt.Println(string(line))
	}
	open.Close()
	closed.Close()
}
"""


class Language(typing.NamedTuple):
    block: str  # the language of the gateway's block on the page
    gateway: str  # the file of the block
    file: str  # the file of the program
    program: str
    times: tuple  # times on the page, each followed by the time for the cases
    build: list  # the command that compiles the files
    run: list  # the command that runs the program; the port follows


GO_FILES = [BUILD / "gateway.go", BUILD / "main.go"]

LANGUAGES = {
    "node": Language("js", "gateway.mjs", "main.mjs", NODE, ("EXTEND_EVERY_MS = 10_000 ", "EXTEND_EVERY_MS = 100 ", "ANSWER_MS = 500 ", "ANSWER_MS = 3000 "),
                     ["true"], ["node", BUILD / "main.mjs"]),
    "go": Language("go", "gateway.go", "main.go", GO, ("= 10 * time.Second ", "= 100 * time.Millisecond ", "= 500 * time.Millisecond ", "= 3 * time.Second "),
                   ["go", "build", "-C", HERE.parent / "go", "-o", BUILD / "gateway-go", *GO_FILES], [BUILD / "gateway-go"]),
}


def write(language, gateway, port):
    """Writes the program of a language and the gateway, compiles them, and returns the command that runs them."""
    to = LANGUAGES[language]
    changes = dict(zip(to.times[::2], to.times[1::2], strict=True))
    if language == "node":
        changes["6380"] = port
    for old, new in changes.items():
        if gateway.count(old) != 1:
            raise ValueError(f"the gateway has {gateway.count(old)} times {old!r}, want once")
        gateway = gateway.replace(old, new)
    (BUILD / to.gateway).write_text(gateway)
    (BUILD / to.file).write_text(to.program)
    if language == "go":  # the changed times have other lengths
        subprocess.run(["gofmt", "-w", *GO_FILES], check=True)
    subprocess.run(to.build, check=True, stdout=sys.stderr)
    return [*to.run, port]
