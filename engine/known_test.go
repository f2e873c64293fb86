package engine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// churn is a command that changes its keys at random, and after each change looks up each
// key by the argument, which a Tx may know, and by a copy, which it can not know. It
// answers the first difference.
type churn struct{ toy }

func (churn) Check(*engine.Call) error { return nil }

func (churn) Keys(c *engine.Call, dst []int) ([]int, bool) {
	for i := range c.Args {
		dst = append(dst, i)
	}
	return dst, false
}

func (churn) Do(tx *engine.Tx, c *engine.Call) {
	r := rand.New(rand.NewPCG(uint64(c.Command), 0))
	for range 40 {
		key := c.Args[r.IntN(len(c.Args))]
		if r.IntN(3) == 0 {
			if n := tx.Number(key); n != nil {
				tx.SetNumber(n, r.Int64(), []int64{0, n.Expiry, tx.Now().Millis() + int64(r.IntN(3))}[r.IntN(3)])
			}
		}
		if r.IntN(3) == 0 { // its place is kept, and the change is by a copy
			tx.Number(key)
			key = bytes.Clone(key)
		}
		e, found := tx.Find(key)
		switch kind := r.IntN(8); {
		case kind == 0 && found:
			tx.Drop(e)
		case kind == 1 && found && e.Alg().IsPlain():
			tx.Expire(e, tx.Now().Millis()+int64(r.IntN(3)))
		case kind == 2:
			tx.PutInt(e, r.Int64(), tx.Now().Millis()+int64(r.IntN(3)))
		case kind == 3:
			tx.Decide(&engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Params: counter(engine.Fixed, 100), N: 1,
				Key: c.Args[r.IntN(len(c.Args))]}}})
		default:
			tx.Put(e, bytes.Repeat([]byte("x"), r.IntN(60)), 0)
		}
		for _, key := range c.Args {
			if r.IntN(2) == 0 { // with a record that is not sought yet, too
				if wrong := differs(tx, key); wrong != "" {
					c.Answer = append(c.Answer, wrong...)
					return
				}
			}
			if by, copied := see(tx, key), see(tx, bytes.Clone(key)); by != copied {
				c.Answer = fmt.Appendf(nil, "%s is %s, but by a copy of the key %s", key, by, copied)
				return
			}
		}
	}
}

// differs returns how Number and Find differ, if they do.
func differs(tx *engine.Tx, key []byte) string {
	number := "none"
	if n := tx.Number(key); n != nil {
		number = fmt.Sprint(n.Value, n.Expiry)
	}
	entry := "none"
	if e, found := tx.Find(key); found && e.Alg() == engine.Int {
		n, _ := tx.Int(e)
		entry = fmt.Sprint(n, tx.Expiry(e))
	}
	if number == entry {
		return ""
	}
	return fmt.Sprintf("%s is the number %s, but by Find %s", key, number, entry)
}

// see returns all that a Tx says about a key.
func see(tx *engine.Tx, key []byte) string {
	e, found := tx.Find(key)
	switch {
	case !found:
		return "none"
	case !e.Alg().IsPlain():
		return "a limit"
	}
	return fmt.Sprint(e.Alg(), tx.Expiry(e), string(tx.Bytes(e, nil)))
}

// TestFindAgain compares keys that a Tx knows with keys that it does not know.
func TestFindAgain(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	e := engine.New(engine.Options{Shards: 2, Commands: churn{}})
	now := instant("2025-06-15T12:34:56Z")
	for range 400 / testwait.Slowdown() {
		var b engine.Batch
		for range 1 + r.IntN(20) { // some keys are there twice, and some beyond those that are known
			c := b.AddCall(0)
			c.Command = uint16(r.Uint32())
			for range 1 + r.IntN(6) {
				c.Args = append(c.Args, fmt.Append(nil, "key ", r.IntN(300)))
			}
		}
		e.Apply(now, &b)
		for i := range b.Calls {
			if len(b.Calls[i].Answer) > 0 {
				t.Fatalf("seed %d: %s", seed, b.Calls[i].Answer)
			}
		}
		now += 5e5
	}
}

// numberChurn writes numbers, by their records or, if that is set, by entries.
type numberChurn struct {
	churn
	entries bool
}

func (x numberChurn) Do(tx *engine.Tx, c *engine.Call) {
	r := rand.New(rand.NewPCG(uint64(c.Command), 1))
	key := c.Args[0]
	for range 1 + r.IntN(3) {
		value, expiry := r.Int64(), []int64{0, tx.Now().Millis() + int64(r.IntN(30))}[r.IntN(2)]
		keep := r.IntN(2) == 0
		e, found := tx.Find(key)
		switch n := tx.Number(key); {
		case n == nil && found:
			tx.Put(e, []byte("text"), expiry)
		case n == nil || x.entries:
			if found && keep {
				expiry = tx.Expiry(e)
			}
			tx.PutInt(e, value, expiry)
		case keep:
			tx.SetNumber(n, value, n.Expiry)
		default:
			tx.SetNumber(n, value, expiry)
		}
	}
	c.Answer = append(c.Answer, see(tx, key)...)
}

// TestSetNumber compares numbers that are written in their records with those written as entries:
// answers, effects, counts and memory.
func TestSetNumber(t *testing.T) {
	for seed := range uint64(8 / testwait.Slowdown()) {
		r := rand.New(rand.NewPCG(seed, 2))
		var engines [2]*engine.Engine
		for i := range engines {
			engines[i] = engine.New(engine.Options{Shards: 4, Seed: [16]byte{7}, Effects: true,
				Commands: numberChurn{entries: i == 1}})
		}
		now := instant("2025-06-15T12:34:56Z")
		for step := range 300 {
			now += engine.Instant(r.Int64N(4e6))
			var batches [2]engine.Batch
			for range 1 + r.IntN(12) {
				command, key := uint16(r.Uint32()), fmt.Append(nil, "key ", r.IntN(60))
				for i := range batches {
					c := batches[i].AddCall(uint8(seed % 2))
					c.Command, c.Args = command, append(c.Args, key)
				}
			}
			for i, e := range engines {
				e.Apply(now, &batches[i])
				if step%5 == 0 {
					e.Sweep(now, 3)
				}
			}
			a, b := &batches[0], &batches[1]
			for i := range a.Calls {
				if string(a.Calls[i].Answer) != string(b.Calls[i].Answer) || a.Effects != b.Effects {
					t.Fatalf("seed %d, step %d: %s with effects %x, as an entry %s with %x", seed, step, a.Calls[i].Answer, a.Effects,
						b.Calls[i].Answer, b.Effects)
				}
			}
			keys, lasting := engines[0].KeysIn()
			if wantKeys, want := engines[1].KeysIn(); keys != wantKeys || lasting != want ||
				engines[0].MemoryBytes() != engines[1].MemoryBytes() {
				t.Fatalf("seed %d, step %d: keys %v, lasting %v, as entries %v, %v", seed, step, keys, lasting, wantKeys, want)
			}
		}
		if got, want := engines[0].Digest(now), engines[1].Digest(now); got != want {
			t.Errorf("seed %d: digest %x, as entries %x", seed, got, want)
		}
	}
}

// TestSweepNumbers: a number that gets an expiry is swept after it.
func TestSweepNumbers(t *testing.T) {
	e := engine.New(engine.Options{Shards: 1, Commands: toy{}})
	now := instant("2025-06-15T12:34:56Z")
	do(e, now, toySet, "key", "2", "0")
	e.SweepExpired(now, 10)
	do(e, now, toyExpire, "key", strconv.FormatInt(now.Millis()+5, 10))
	e.SweepExpired(now+engine.Instant(second), 10)
	if n := e.Len(); n != 0 {
		t.Errorf("%d keys after the expiry", n)
	}
}

// aWorker counts its calls, and is released once.
type aWorker struct{ calls, released int }

func (w *aWorker) Release() { w.released++ }

// working has commands that share a worker.
type working struct {
	churn
	made *[]*aWorker
}

func (x working) Do(tx *engine.Tx, _ *engine.Call) {
	w, ok := tx.Worker.(*aWorker)
	if !ok {
		w = new(aWorker)
		*x.made = append(*x.made, w)
		tx.Worker = w
	}
	w.calls++
}

// TestWorker: the calls of a batch share a worker, which is released when the batch is reset.
func TestWorker(t *testing.T) {
	var made []*aWorker
	e := engine.New(engine.Options{Shards: 4, Commands: working{made: &made}})
	var b engine.Batch
	for i := range 2 {
		for n := range 3 {
			c := b.AddCall(0)
			c.Args = append(c.Args, fmt.Append(nil, "key ", n))
		}
		e.Apply(instant("2025-06-15T12:34:56Z"), &b)
		if len(made) != i+1 || *made[i] != (aWorker{calls: 3}) {
			t.Fatalf("batch %d: %d workers, the last %+v; want a new one of 3 calls", i, len(made), *made[len(made)-1])
		}
		b.Reset()
		b.Reset()
		if *made[i] != (aWorker{3, 1}) {
			t.Errorf("batch %d: %+v after the reset, want one release", i, *made[i])
		}
	}
}
