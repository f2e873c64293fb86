package tracking

import (
	"fmt"
	"math"
	"testing"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// broadcaster returns a table with so many clients that hear broadcasts with 64 prefixes each, and
// changes of keys without these prefixes.
func broadcaster(clients int) (*world, []engine.Change) {
	w := newWorld()
	for i := range clients {
		c := NewClient(int64(i), func(resp.Message) {})
		var prefixes []string
		for j := range 64 {
			prefixes = append(prefixes, fmt.Sprintf("%05d:%02d", i, j))
		}
		w.On(c, Mode{Broadcast: true}, prefixes)
	}
	var changes []engine.Change
	for i := range 200 {
		changes = append(changes, engine.Change{Key: fmt.Appendf(nil, "another key %d", i)})
	}
	return w, changes
}

// TestManyPrefixes: the cost of a change does not grow with the prefixes of all clients.
func TestManyPrefixes(t *testing.T) {
	quickest := func(clients int) time.Duration {
		w, changes := broadcaster(clients)
		least := time.Duration(math.MaxInt64)
		for range 7 {
			begin := time.Now()
			w.Changed(changes)
			least = min(least, time.Since(begin))
		}
		return least
	}
	few, many := quickest(1), quickest(600)
	if many > 60*few {
		t.Errorf("changes take %v with the prefixes of 600 clients, and %v with the prefixes of one", many, few)
	}
}

// TestPrefixesOfKey: all lengths are found, also when prefixes have come and gone.
func TestPrefixesOfKey(t *testing.T) {
	w, a, b := newWorld(), newReader(1), newReader(2)
	w.On(a.Client, Mode{Broadcast: true}, []string{"k", "other"})
	w.On(b.Client, Mode{Broadcast: true}, []string{"key:1"})
	w.change("key:1:2", "key:", "k", "o")
	expect(t, "a short prefix", a, "key:1:2+key:+k")
	expect(t, "a longer prefix", b, "key:1:2")
	w.Off(a.Client)
	w.change("key:1", "k")
	expect(t, "a prefix that another client has had", a, "")
	expect(t, "the whole key", b, "key:1")
	w.On(a.Client, Mode{Broadcast: true}, nil)
	w.change("x")
	expect(t, "the empty prefix", a, "x")
	w.Off(a.Client)
	w.Off(b.Client)
	if p := &w.prefixes; len(p.clients)+len(p.lengths) > 0 {
		t.Errorf("%+v is left", *p)
	}
}

// TestNoLoopShares: clients with NOLOOP that have changed nothing share a message.
func TestNoLoopShares(t *testing.T) {
	const clients, keys = 100, 50
	w := newWorld()
	for i := range clients {
		w.On(NewClient(int64(i+1), func(resp.Message) {}), Mode{Broadcast: true, NoLoop: true}, nil)
	}
	var changes []engine.Change
	for i := range keys {
		changes = append(changes, engine.Change{Key: fmt.Appendf(nil, "key %d", i), Origin: 1})
	}
	if got := testing.AllocsPerRun(3, func() { w.broadcast(changes) }); got > 5*keys {
		t.Errorf("%v allocations for %d clients and %d keys", got, clients, keys)
	}
}
