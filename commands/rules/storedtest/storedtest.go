// Package storedtest fills engines with rules and overrides by the calls of package stored, for
// tests.
package storedtest

import (
	"crypto/sha256"
	"strings"
	"testing"

	"limitsrv/commands/calls"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// Start is the first moment of tests.
const Start engine.Instant = 1_800_000_000_000_000_000

// File returns a text with one rule, login, of one limit.
func File(limit string) string {
	return "domain: api\nrules:\n  - {name: login, per: [ip], limits: [" + limit + "]}\n"
}

// Prepare compiles a text.
func Prepare(t testing.TB, text string) *stored.Prepared {
	t.Helper()
	set, err := rules.Load([]source.File{{Text: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return &stored.Prepared{Text: []byte(text), SHA: sha256.Sum256([]byte(text)), Set: set}
}

// Override compiles an override.
func Override(t testing.TB, v rules.Override) *rules.Override {
	t.Helper()
	o, err := rules.NewOverride(v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Deny returns an override that denies all requests of an address.
func Deny(t testing.TB, ip string) *rules.Override {
	return Override(t, rules.Override{Domain: "api", Path: []rules.Attribute{{Key: "ip", Value: ip}}, Effect: rules.Deny})
}

// NewEngine returns an engine with the calls of package stored.
func NewEngine(shards int) *engine.Engine {
	return engine.New(engine.Options{Shards: shards, Seed: [16]byte{7}, Commands: calls.Commands})
}

// Do applies a call and returns its answer in RESP2, in a line.
func Do(t testing.TB, e *engine.Engine, now engine.Instant, fill func(c *engine.Call)) string {
	t.Helper()
	var b engine.Batch
	fill(b.AddCall(0))
	c := &b.Calls[0]
	filled := c.ReadOnly
	if err := e.Commands().Check(c); err != nil || c.ReadOnly != filled {
		t.Fatalf("call %d: %v, read-only %v, want %v", c.Command, err, c.ReadOnly, filled)
	}
	if e.Apply(now, &b); !answer.Valid(c.Answer) {
		t.Fatalf("call %d answers % x", c.Command, c.Answer)
	}
	return strings.TrimSuffix(strings.ReplaceAll(string(answer.AppendTo(nil, c.Answer, answer.RESP2)), "\r\n", "|"), "|")
}

// Load applies the load of a text, in place of version base. Its answer is in the form of Do.
func Load(t testing.TB, e *engine.Engine, now engine.Instant, base uint64, text, user, note string) string {
	t.Helper()
	p := Prepare(t, text)
	return Do(t, e, now, func(c *engine.Call) { stored.SetLoad(c, base, p, user, note) })
}

// Reloaded returns an engine with the state of another, by a snapshot.
func Reloaded(t testing.TB, e *engine.Engine, shards int) *engine.Engine {
	t.Helper()
	frozen := e.Freeze()
	defer frozen.Close()
	to := NewEngine(shards)
	for shard := range frozen.Shards() {
		for block, _, ok := frozen.Next(shard, nil); ok; block, _, ok = frozen.Next(shard, nil) {
			if err := to.Load(block); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := to.Digest(0), e.Digest(0); got != want {
		t.Fatalf("digest %x from the snapshot, want %x", got, want)
	}
	return to
}
