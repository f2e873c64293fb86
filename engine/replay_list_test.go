package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"limitsrv/engine/topk"
	"limitsrv/internal/testing/testwait"
)

// QueueAtMost bounds the memory of the queue of a test, in bytes.
func (r *Replay) QueueAtMost(bytes int) { r.most = bytes }

// replayOps makes the ops of TestReplayByPage: mostly takes on keys that expire and come back,
// in stretches with and without ops that do not keep to their pages.
type replayOps struct {
	r     *rand.Rand
	mixed bool
}

func (o *replayOps) next() Op {
	op := Op{Kind: Take, N: 1 + o.r.Int64N(2), DB: uint8(o.r.IntN(2)), Key: fmt.Appendf(nil, "key %d", o.r.IntN(6000))}
	op.Params = []Params{
		{Alg: Token, Limit: 3, Count: 1, Period: 1e9},
		{Alg: Token, Limit: 9, Count: 1, Period: 1e10},
		{Alg: Fixed, Limit: 2, Period: 1e9},
		{Alg: Slide, Limit: 4, Period: 3e9},
	}[o.r.IntN(4)]
	switch n := o.r.IntN(40); {
	case n == 0:
		return Op{Kind: Forget, DB: op.DB, Key: op.Key}
	case n == 1:
		return Op{Kind: Peek, DB: op.DB, Key: op.Key}
	case n == 2:
		op.N = 0
	case n < 6 && o.mixed:
		op.Params = Params{Alg: Log, Limit: 5, Period: 2e9}
	case n == 6 && o.mixed:
		return Op{Kind: Refund, N: 1, DB: op.DB, Key: op.Key}
	case n == 7 && o.mixed:
		op.Mode = Partial
	}
	return op
}

// tablePages returns the contents of the pages of a shard, in order, except for numbers that
// mean the same under another value: of parameters and chunks.
func tablePages(s *shard) (all []string) {
	for p := range s.pages() {
		all = append(all, fmt.Sprint("page of depth ", p.depth, ", class ", p.class, ", next expiry ", p.nextExpiry))
		for j := range p.slots() {
			c := s.load(p, j)
			if c.params.Alg == Log {
				l := loadLog(c)
				c.state = state{uint64(l.granted), uint64(l.expired), l.change}
			}
			_, _, key := s.record(p, j)
			all = append(all, fmt.Sprintf("%q %d %v %v %v", key, p.tagAt(j), c.params, c.past, c.state))
		}
	}
	return all
}

// TestReplayByPage replays ops and applies them one by one. The tables must have the same pages
// with the same records, also of expired keys, and the counts of keys must be equal.
func TestReplayByPage(t *testing.T) {
	for seed := range uint64(6 / testwait.Slowdown()) {
		r := rand.New(rand.NewPCG(seed, 33))
		o := Options{Shards: 1 << (seed % 3), Seed: [16]byte{7}}
		got, want := New(o), New(o)
		replay := got.NewReplay(func(n int, each func(int)) {
			var wait sync.WaitGroup
			for i := range n {
				wait.Go(func() { each(i) })
			}
			wait.Wait()
		})
		replay.QueueAtMost(300_000 << r.IntN(3))
		if seed%2 == 0 {
			replay.Ahead(func(work func()) func() {
				var wait sync.WaitGroup
				wait.Go(work)
				return wait.Wait
			})
		}
		now, ops := Instant(1e18), replayOps{r: r}
		for i := range 6000 {
			ops.mixed = i%1500 > 1200
			var b, c Batch
			for range 1 + r.IntN(20) {
				b.Ops = append(b.Ops, ops.next())
			}
			c.Ops = append(c.Ops, b.Ops...)
			at := now - Instant(r.Int64N(1e8))
			want.Apply(at, &b)
			replay.Apply(at, &c)
			if now += Instant(r.Int64N(5e6)); i == 4000 {
				now += 2e9 // many keys expire
			}
		}
		replay.Finish()
		comparePages(t, seed, got, want)
		for kind := range topKinds {
			if g, w := got.Top(now, kind, topk.Minute, 100), want.Top(now, kind, topk.Minute, 100); !reflect.DeepEqual(g, w) {
				t.Errorf("seed %d: counts of kind %d\n got %+v\nwant %+v", seed, kind, g, w)
			}
		}
		for i := range replay.sorting {
			if cap(replay.sorting[i].order) == 0 {
				t.Errorf("seed %d: no ops of shard %d were sorted", seed, i)
			}
		}
	}
}

func comparePages(t *testing.T, seed uint64, got, want *Engine) {
	t.Helper()
	if g, w := got.Stats(), want.Stats(); g.Forgotten != w.Forgotten || g.Denied != w.Denied || g.Allowed != w.Allowed ||
		w.Forgotten == 0 {
		t.Errorf("seed %d: stats\n got %+v\nwant %+v", seed, g, w)
	}
	for i := range want.shards {
		a, b := &got.shards[i], &want.shards[i]
		if a.now != b.now || a.chunks.changes != b.chunks.changes {
			t.Errorf("seed %d: shard %d is at %d after %d changes, want %d and %d", seed, i, a.now, a.chunks.changes, b.now,
				b.chunks.changes)
		}
		g, w := tablePages(a), tablePages(b)
		for j := range max(len(g), len(w)) {
			if j >= len(g) || j >= len(w) || g[j] != w[j] {
				t.Fatalf("seed %d: shard %d has %d lines, want %d; the first that differs is\n got %v\nwant %v",
					seed, i, len(g), len(w), g[min(j, len(g)):min(j+1, len(g))], w[min(j, len(w)):min(j+1, len(w))])
			}
		}
	}
}

// TestReplayRows reads rows with keys of some lengths: a call may name a key that is too long.
func TestReplayRows(t *testing.T) {
	var rows replayRows
	lengths := []int{0, 1, MaxKeyBytes, 1 << 16, 1<<20 + 1}
	for i, n := range lengths {
		rows = rows.add(uint64(i)<<60, Instant(i), uint32(i), bytes.Repeat([]byte{byte(i)}, n))
	}
	at := 0
	for i, n := range lengths {
		row := uint32(at)
		if h, now, form, key := rows.hash(row), rows.stamp(row), rows.form(row),
			rows.key(row); h != uint64(i)<<60 || now != Instant(i) || form != uint32(i) ||
			!bytes.Equal(key, bytes.Repeat([]byte{byte(i)}, n)) {
			t.Errorf("row %d: hash %#x, stamp %d, form %d, key of %d bytes; want those of %d and %d bytes", i, h, now, form,
				len(key), i, n)
		}
		at = rows.after(at)
	}
	if at != len(rows) {
		t.Errorf("the rows end at %d, want %d", at, len(rows))
	}
}

// TestQueuedBytes compares the memory of a queue with the memory of engines of some sizes.
func TestQueuedBytes(t *testing.T) {
	for _, tt := range []struct {
		memory int64
		want   int
	}{
		{0, 8 << 20}, {128 << 20, 8 << 20}, {256 << 20, 16 << 20}, {512 << 20, 32 << 20}, {1 << 40, 32 << 20},
	} {
		if got := queuedBytes(tt.memory); got != tt.want {
			t.Errorf("queue beside %d bytes: got %d, want %d", tt.memory, got, tt.want)
		}
	}
}

// TestReplayBounded queues ops of many forms, long keys and calls' worth of ids: the memory of
// the queue stays within its bound.
func TestReplayBounded(t *testing.T) {
	e := New(Options{Shards: 4})
	replay := e.NewReplay(func(n int, each func(int)) {
		for i := range n {
			each(i)
		}
	})
	replay.QueueAtMost(1 << 20)
	p := Params{Alg: Token, Limit: 1e6, Count: 1, Period: 1e9}
	for i := range 30_000 {
		b := Batch{Ops: []Op{{Kind: Take, Params: p, N: int64(1 + i), Key: fmt.Appendf(nil, "%0*d", 1+i%MaxKeyBytes, i%100)}}}
		replay.Apply(Instant(i), &b)
		used := 0
		for j := range replay.lists {
			l := &replay.lists[j]
			used += len(l.rows) + len(l.forms)*formBytes
		}
		if used > replay.most || used != replay.bytes {
			t.Fatalf("after op %d the queue has %d bytes, counted as %d; at most %d are allowed", i, used, replay.bytes,
				replay.most)
		}
	}
	replay.Finish()
	if replay.bytes != 0 || e.Len() == 0 {
		t.Errorf("%d bytes are queued at the end, and there are %d keys", replay.bytes, e.Len())
	}
}
