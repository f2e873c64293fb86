package main

import (
	"bytes"
	"math/rand/v2"
	"strings"

	"limitsrv/internal/respclient"
)

// A pipeline is the bytes of several equal commands. The keys' digits are overwritten
// before each write.
type pipeline struct {
	bytes  []byte
	length int // of a command
	digits int // offset of the key's digits in a command
}

// newPipeline returns a pipeline of n times command, with the key at keyPlace.
func newPipeline(command []string, n int) *pipeline {
	key := keyPrefix + strings.Repeat("0", keyDigits)
	var args []string
	for _, arg := range command {
		args = append(args, strings.ReplaceAll(arg, keyPlace, key))
	}
	one := respclient.AppendCommand(nil, args...)
	return &pipeline{
		bytes:  bytes.Repeat(one, n),
		length: len(one),
		digits: bytes.Index(one, []byte(key)) + len(keyPrefix),
	}
}

// fill writes keys into the commands and returns the number of keys.
func (p *pipeline) fill(next func() (int, bool)) int {
	n := 0
	for at := p.digits; at < len(p.bytes); at += p.length {
		key, ok := next()
		if !ok {
			break
		}
		for i := keyDigits - 1; i >= 0; i-- {
			p.bytes[at+i] = byte('0' + key%10)
			key /= 10
		}
		n++
	}
	return n
}

func (p *pipeline) first(n int) []byte { return p.bytes[:n*p.length] }

// sequential returns sources of keys that divide from..to-1 among connections.
func sequential(from, to, connections int) sources {
	return func(connection int) func() (int, bool) {
		key := from + connection - connections
		return func() (int, bool) {
			key += connections
			return key, key < to
		}
	}
}

// following returns sources that repeat a trace, each connection from its own offset.
func following(trace []uint32, connections int) sources {
	return func(connection int) func() (int, bool) {
		at := len(trace) / connections * connection
		return func() (int, bool) {
			key := trace[at]
			at++
			if at == len(trace) {
				at = 0
			}
			return int(key), true
		}
	}
}

// scattered returns infinite sources of random keys 0..keys-1, for each connection the
// same in every run.
func scattered(keys int) sources {
	return func(connection int) func() (int, bool) {
		random := rand.New(rand.NewPCG(uint64(keys), uint64(connection)))
		return func() (int, bool) { return random.IntN(keys), true }
	}
}
