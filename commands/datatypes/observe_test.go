package datatypes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/testwait"
)

// carryOut carries out a line and returns its answer.
func carryOut(e *engine.Engine, now engine.Instant, words ...[]byte) []byte {
	var b engine.Batch
	command := Find(words[0])
	command.SetCall(b.AddCall(0), words[1:])
	e.Apply(now, &b)
	return b.Calls[0].Answer
}

// bulk returns the bytes of an answer that is a Bulk.
func bulk(t *testing.T, data []byte) []byte {
	v, _, ok := answer.Next(data)
	if !ok || v.Kind != answer.Bulk {
		t.Fatalf("an answer % x, want a bulk", data)
	}
	return v.Bytes
}

// TestObservation compares an engine after a long history with an engine that was given the
// same values at once, with another number of shards: all answers must be equal, because
// nodes of a cluster have different histories, too.
func TestObservation(t *testing.T) {
	for seed := range uint64(20 / testwait.Slowdown()) {
		r := lineSource{rand.New(rand.NewPCG(seed, 6)), false, families[seed%uint64(len(families))]}
		old := engine.New(engine.Options{Shards: 16, Commands: allCalls})
		now := someTime
		for range 300 {
			now += engine.Instant(r.Int64N(50e6))
			old.Apply(now, lines(r, 1+r.IntN(5)))
		}
		fresh := engine.New(engine.Options{Shards: 1, Commands: allCalls})
		for k := range 6 {
			key := fmt.Append(nil, "k", k)
			if kind := carryOut(old, now, []byte("TYPE"), key); !bytes.Contains(kind, []byte("string")) {
				if block, there := old.Export(now, 0, key, nil); there {
					if err := fresh.Load(block); err != nil {
						t.Fatal(err)
					}
				}
				continue
			}
			carryOut(fresh, now, []byte("SET"), key, bulk(t, carryOut(old, now, []byte("GET"), key)))
			at, _, _ := answer.Next(carryOut(old, now, []byte("PEXPIRETIME"), key))
			if at.Int > 0 {
				carryOut(fresh, now, []byte("PEXPIREAT"), key, fmt.Append(nil, at.Int))
			}
		}
		for range 100 {
			now += engine.Instant(r.Int64N(50e6))
			a := lines(r, 1+r.IntN(5))
			a.Tight = r.IntN(4) == 0
			b := engine.Batch{Tight: a.Tight}
			for i := range a.Calls {
				table[a.Calls[i].Command].SetCall(b.AddCall(0), a.Calls[i].Args)
			}
			old.Apply(now, a)
			fresh.Apply(now, &b)
			for i := range a.Calls {
				if c := &a.Calls[i]; !bytes.Equal(c.Answer, b.Calls[i].Answer) {
					t.Fatalf("seed %d: %s %.60q answers %.60q after a long history, %.60q after a short one",
						seed, table[c.Command].Name, c.Args, c.Answer, b.Calls[i].Answer)
				}
			}
		}
	}
}
