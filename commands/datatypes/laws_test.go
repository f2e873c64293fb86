package datatypes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/enginetest"
	"limitsrv/internal/testing/testwait"
)

// someTime is a time between the absolute expiries of a lineSource.
const someTime = engine.Instant(1_750_000_000_123_456_789)

// allCalls are the calls of this package.
var allCalls = &spec.Calls{Calls{}, Works{}}

// TestLaws makes the same state in four engines of different shards. The first applies batches of
// random lines, the second applies the lines separately. The third replays only the calls that
// changed something, the fourth loads a snapshot. All four must have the same digest.
func TestLaws(t *testing.T) {
	for seed := range uint64(8 / testwait.Slowdown()) {
		r := lineSource{rand.New(rand.NewPCG(seed, 2)), false, families[seed%uint64(len(families))]}
		o := engine.Options{Shards: 1 << (seed % 5), Seed: [16]byte{1}, Commands: allCalls}
		e, single := engine.New(o), engine.New(o)
		o.Shards = 4
		replica := engine.New(o)
		replay := replica.NewReplay(func(n int, each func(int)) {
			for i := range n {
				each(i)
			}
		})
		now := someTime
		for range 400 {
			now += engine.Instant(r.Int64N(50e6))
			b, changed := lines(r, 1+r.IntN(20)), engine.Batch{}
			b.Atomic, b.Tight = r.IntN(3) == 0, r.IntN(8) == 0
			changed.Atomic, changed.Tight = b.Atomic, b.Tight
			looked := lookFirst(t, e, now, b)
			e.Apply(now, b)
			for i := range b.Calls {
				c := &b.Calls[i]
				if !answer.Valid(c.Answer) {
					t.Fatalf("seed %d: %s %.60q answers invalid bytes % x", seed, table[c.Command].Name, c.Args, c.Answer)
				}
				one := engine.Batch{Tight: b.Tight}
				table[c.Command].SetCall(one.AddCall(0), c.Args)
				single.Apply(now, &one)
				if !bytes.Equal(one.Calls[0].Answer, c.Answer) {
					t.Fatalf("seed %d: %s %.60q answers %q alone, %q in a batch", seed, table[c.Command].Name, c.Args,
						one.Calls[0].Answer, c.Answer)
				}
				if b.Decisions[i].Changed {
					table[c.Command].SetCall(changed.AddCall(0), c.Args)
				}
				if table[c.Command].Flags&spec.ReadOnly != 0 && b.Decisions[i].Changed {
					t.Fatalf("seed %d: %s has changed something", seed, table[c.Command].Name)
				}
			}
			if looked != nil && !bytes.Equal(looked, b.Calls[0].Answer) {
				t.Fatalf("seed %d: %s %.60q answers %q to a look, %q when applied", seed, table[b.Calls[0].Command].Name,
					b.Calls[0].Args, looked, b.Calls[0].Answer)
			}
			if len(changed.Ops) > 0 {
				replay.Apply(now, &changed)
			}
		}
		replay.Finish()
		sameDigest(t, fmt.Sprintf("seed %d: applied one by one", seed), now, single, e)
		sameDigest(t, fmt.Sprintf("seed %d: replayed", seed), now, replica, e)
		sameDigest(t, fmt.Sprintf("seed %d: loaded", seed), now, enginetest.Copy(t, e, o), e)
	}
}

// lines returns a batch of valid random lines.
func lines(r lineSource, n int) *engine.Batch {
	b := new(engine.Batch)
	for len(b.Ops) < n {
		line := r.line()
		command := Find(line[0])
		if command.Body.(*spec.Call).Takes(len(line)) {
			command.SetCall(b.AddCall(0), line[1:])
		}
	}
	return b
}

// lookFirst returns the answer to the first call of a batch by Look, if it is read-only.
func lookFirst(t *testing.T, e *engine.Engine, now engine.Instant, b *engine.Batch) []byte {
	t.Helper()
	if !b.Calls[0].ReadOnly {
		return nil
	}
	one := engine.Batch{}
	table[b.Calls[0].Command].SetCall(one.AddCall(0), b.Calls[0].Args)
	before := e.Digest(now)
	e.Look(now, &one)
	if e.Digest(now) != before {
		t.Fatalf("a look at %s changed the digest", table[b.Calls[0].Command].Name)
	}
	return one.Calls[0].Answer
}

func sameDigest(t *testing.T, name string, now engine.Instant, got, want *engine.Engine) {
	t.Helper()
	if g, w := got.Digest(now), want.Digest(now); g != w {
		t.Fatalf("%s: digest %x, want %x", name, g, w)
	}
}

// families are the groups of commands that most lines of a run are of.
var families = []string{"", groupString, groupBitmap, groupHash, groupSorted, groupList, groupSet}

// TestTable checks each line of the table.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for i := range table {
		c := &table[i]
		if c.Name == "" {
			continue
		}
		if found := Find([]byte(c.Name)); found != c || seen[c.Name] {
			t.Errorf("%s: found is %+v", c.Name, found)
		}
		seen[c.Name] = true
		if (c.Flags&spec.Write != 0) == (c.Flags&spec.ReadOnly != 0) || c.Summary == "" || c.Complexity == "" ||
			c.Since == "" || c.Group == "" || c.Body.(*spec.Call).Do == nil {
			t.Errorf("%s lacks something: %+v", c.Name, c)
		}
	}
	if Find([]byte("nope")) != nil {
		t.Error("an unknown command was found")
	}
	for _, c := range []engine.Call{{Command: uint16(len(table))}, {Command: uint16(len(table)) - 6}, {Command: 0},
		{Command: 0, Args: make([][]byte, 2)}} {
		if allCalls.Check(&c) == nil {
			t.Errorf("command %d with %d arguments passes", c.Command, len(c.Args))
		}
	}
}

// TestNoAllocations carries out common lines in batches.
func TestNoAllocations(t *testing.T) {
	testwait.Sequential(t)
	e := engine.New(engine.Options{Commands: allCalls})
	now := someTime
	var b engine.Batch
	var lines [][][]byte
	for _, line := range []string{"INCR n", "PEXPIRE n 100000", "PTTL n", "SET t some-text EX 100", "GET t", "MGET n t",
		"STRLEN t", "GETEX t PERSIST",
		"SET b " + strings.Repeat("x", 200), "APPEND b y", "INCRBYFLOAT f 0.1", "SETRANGE t 3 abc", "GETRANGE b 50 70",
		"GETSET n 7", "MSET n 5 o 6",
		"INCREX w UBOUND 1000000000 EX 60 ENX",
		"HSET h f 17 g some-text", "HGET h f", "HINCRBY h n 1", "HMGET h f g", "HDEL h g", "HLEN h", "HGETALL h",
		"ZADD z 5 a 6 b", "ZCARD z", "ZREMRANGEBYSCORE z -inf 5", "ZRANGE z 0 -1 WITHSCORES", "ZSCORE z b", "ZRANK z b",
		"ZINCRBY z 1 b",

		"SETBIT t 7 1", "GETBIT b 500", "BITCOUNT b", "BITFIELD b SET u8 0 5 OVERFLOW SAT INCRBY i16 100 7 GET u4 2",
		"BITFIELD t INCRBY u5 100 3"} {
		lines = append(lines, bytes.Fields([]byte(line)))
	}
	apply := func() {
		b.Reset()
		for i := range 64 {
			line := lines[i%len(lines)]
			command := Find(line[0])
			command.SetCall(b.AddCall(0), line[1:])
		}
		now += 1e6
		e.Apply(now, &b)
	}
	for range 100 {
		apply()
	}
	if n := testing.AllocsPerRun(200, apply); n > 0 {
		t.Errorf("a batch of 64 allocates %v times", n)
	}
}

// BenchmarkCalls measures a call in batches of 64.
func BenchmarkCalls(b *testing.B) {
	for _, line := range []string{"INCR k", "GET k", "PTTL k", "PEXPIRE k 100000", "SET t some-text",
		"SET t some-text EX 100", "MGET k t", "DEL t"} {
		b.Run(line, func(b *testing.B) {
			e := engine.New(engine.Options{Commands: allCalls})
			words := bytes.Fields([]byte(line))
			command := Find(words[0])
			var batch engine.Batch
			b.ReportAllocs()
			for i := range b.N {
				command.SetCall(batch.AddCall(0), words[1:])
				if i%64 == 63 {
					e.Apply(someTime+engine.Instant(i), &batch)
					batch.Reset()
				}
			}
		})
	}
}
