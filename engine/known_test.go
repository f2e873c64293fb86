package engine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/testwait"
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
		e, found := tx.Find(c.Args[r.IntN(len(c.Args))])
		switch kind := r.IntN(8); {
		case kind == 0 && found:
			tx.Drop(e)
		case kind == 1 && found && e.Alg().IsPlain():
			tx.Expire(e, tx.Now().Millis()+int64(r.IntN(3)))
		case kind == 2:
			tx.PutInt(e, r.Int64(), tx.Now().Millis()+int64(r.IntN(3)))
		case kind == 3:
			tx.Decide(&engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Params: counter(engine.Fixed, 100), N: 1, Key: c.Args[r.IntN(len(c.Args))]}}})
		default:
			tx.Put(e, bytes.Repeat([]byte("x"), r.IntN(60)), 0)
		}
		for _, key := range c.Args {
			if by, copied := see(tx, key), see(tx, bytes.Clone(key)); by != copied {
				c.Answer = fmt.Appendf(nil, "%s is %s, but by a copy of the key %s", key, by, copied)
				return
			}
		}
	}
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

// TestFindAgain compares keys that a Tx knows with others.
func TestFindAgain(t *testing.T) {
	seed := rand.Uint64()
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
