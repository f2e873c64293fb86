package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A tracer generates batches over some hundred keys of all algorithms: in turn it mostly
// adds keys and mostly forgets them, so that pages split and merge. With an even seed some keys are
// aimed at few places.
type tracer struct {
	r      *rand.Rand
	now    engine.Instant
	keys   [][]byte
	params [][]engine.Params // by algorithm
	some   int               // number of keys in use
	ebb    bool
	batch  engine.Batch
}

func newTracer(seed uint64) *tracer {
	tr := &tracer{r: rand.New(rand.NewPCG(seed, 7)), now: instant("2025-06-15T12:34:56Z")}
	data := make([]byte, 1<<10)
	for i := range data {
		data[i] = byte(tr.r.Uint32())
	}
	s := &source{data}
	for _, a := range algs() {
		var of []engine.Params
		for range 4 {
			p := drawParams(s, a)
			p.Limit = min(p.Limit, 1+tr.r.Int64N(40))
			of = append(of, p, drawParams(s, a))
		}
		tr.params = append(tr.params, of)
	}
	for i := range 400 + tr.r.IntN(4000/testwait.Slowdown()) {
		tr.keys = append(tr.keys, fmt.Appendf(randomKey(tr.r)[:tr.r.IntN(2)], "key %d", i))
	}
	if seed%2 == 0 {
		for _, group := range aimedKeys() {
			tr.keys = append(tr.keys, group...)
		}
	}
	tr.some = len(tr.keys)
	return tr
}

// op draws an op on a key; the key's number determines its algorithm.
func (tr *tracer) op() engine.Op {
	i := tr.r.IntN(min(tr.some, len(tr.keys)))
	a := engine.Alg(i % len(tr.params))
	op := engine.Op{Key: tr.keys[i], N: tr.r.Int64N(6)}
	p := tr.params[a][0]
	if tr.r.IntN(8) == 0 {
		p = tr.params[a][tr.r.IntN(len(tr.params[a]))]
	}
	if a == engine.Lease {
		op.ID, op.N = []byte{'a' + byte(tr.r.IntN(20))}, 1
	}
	switch kind := tr.r.IntN(40); {
	case tr.ebb && kind < 28, kind == 0:
		op.Kind = engine.Forget
	case kind == 1:
		op.Kind = engine.Peek
	case a == engine.Lease && kind < 10:
		op.Kind = engine.Release
	case a == engine.Lease:
		op.Kind, op.Params = engine.Acquire, p
	case kind < 6:
		op.Kind = engine.Refund
	case kind < 9:
		op.Kind, op.N = engine.Charge, tr.r.Int64N(p.Limit+2)
	default:
		op.Kind, op.Params, op.Mode = engine.Take, p, engine.Mode(tr.r.IntN(8)/6)
		if tr.r.IntN(8) == 0 {
			op.N = p.Limit + 1 - tr.r.Int64N(3)
		}
	}
	return op
}

// next returns a batch, a little later than the previous batch.
func (tr *tracer) next() *engine.Batch {
	if tr.r.IntN(40) == 0 {
		tr.ebb = !tr.ebb
	}
	if tr.now < engine.Instant(lastTime) {
		tr.now += engine.Instant(tr.r.Int64N([]int64{2, 1e6, 1e9, 40e9}[tr.r.IntN(4)]))
	}
	b := &tr.batch
	b.Reset()
	b.Atomic = tr.r.IntN(4) == 0
	for range 1 + tr.r.IntN(40) {
		if tr.r.IntN(8) > 0 {
			b.Ops = append(b.Ops, tr.op())
			continue
		}
		from := len(b.Ops)
		if tr.r.IntN(3) == 0 { // sometimes of another version
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Needs, N: int64(tr.r.IntN(4) / 3)})
		}
		for len(b.Ops) < from+2+tr.r.IntN(3) {
			op := tr.op()
			twice := slices.ContainsFunc(b.Ops[from:], func(o engine.Op) bool { return string(o.Key) == string(op.Key) })
			if op.Kind == engine.Take && !twice {
				op.Mode = 0
				b.Ops = append(b.Ops, op)
			}
		}
		b.Ops[from].Group = uint8(len(b.Ops) - from)
	}
	if tr.r.IntN(300) == 0 {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Flush}, tr.op())
		b.Ops[len(b.Ops)-1].Group = 0
	}
	return b
}

// A reading reads blocks of a Snapshot one at a time, and checks their order.
type reading struct {
	t      *testing.T
	n      *engine.Snapshot
	blocks [][]byte
	last   []uint64 // by shard, start of the last block, plus 1
	done   []bool
	buffer []byte
}

func read(t *testing.T, n *engine.Snapshot) *reading {
	return &reading{t: t, n: n, last: make([]uint64, n.Shards()), done: make([]bool, n.Shards()),
		buffer: []byte("in front")}
}

// next reads a block of a shard and reports whether there was a block.
func (r *reading) next(shard int) bool {
	block, first, ok := r.n.Next(shard, r.buffer)
	if !ok {
		r.done[shard] = true
		return false
	}
	if string(block[:8]) != "in front" || string(r.buffer) != "in front" {
		r.t.Fatalf("Next overwrote the bytes before the block: %q", block[:8])
	}
	block = block[8:]
	if bits := trailingZeros(r.n.Shards()); int(first>>(64-bits)) != shard {
		r.t.Errorf("a block of shard %d of %d begins at %x", shard, r.n.Shards(), first)
	}
	if first < r.last[shard] {
		r.t.Errorf("a block begins at %x, the one before at %x", first, r.last[shard]-1)
	}
	r.last[shard] = first + 1
	r.blocks = append(r.blocks, slices.Clone(block))
	return true
}

func trailingZeros(n int) (bits int) {
	for ; n > 1; n /= 2 {
		bits++
	}
	return bits
}

// all reads the rest of all shards.
func (r *reading) all() {
	for shard := range r.done {
		for !r.done[shard] {
			r.next(shard)
		}
	}
}

// some reads a block of a random shard with more blocks, if any.
func (r *reading) some(rnd *rand.Rand) bool {
	if from := slices.Index(r.done, false); from >= 0 {
		for {
			if i := rnd.IntN(len(r.done)); !r.done[i] {
				r.next(i)
				return true
			}
		}
	}
	return false
}

// load loads the blocks read, in any order, into a new engine.
func (r *reading) load(rnd *rand.Rand, shards int) *engine.Engine {
	e := engine.New(engine.Options{Shards: shards, Seed: [16]byte{5}})
	blocks := slices.Clone(r.blocks)
	if rnd.IntN(2) == 0 {
		rnd.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	}
	for _, block := range blocks {
		if err := e.Load(block); err != nil {
			r.t.Fatal(err)
		}
	}
	e.SetTime(r.n.Now())
	if e.Now() != r.n.Now() || e.Len() != r.n.Keys() {
		r.t.Fatalf("loaded at %d with %d keys, snapshot says %d and %d", e.Now(), e.Len(), r.n.Now(), r.n.Keys())
	}
	return e
}

// sameAnswers compares two engines of the same seed by all answers about keys at the same
// time, and by their answers from then on.
func sameAnswers(t *testing.T, name string, tr *tracer, now engine.Instant, got, want *engine.Engine) {
	t.Helper()
	probe := func(now engine.Instant, ops ...engine.Op) {
		t.Helper()
		g, w := apply(got, now, ops...), apply(want, now, ops...)
		for i := range w {
			if g[i] != w[i] {
				t.Fatalf("%s: at %d (snapshot %d) %s\n got %+v\nwant %+v", name, now, got.Now(), opString(&ops[i]), g[i], w[i])
			}
		}
	}
	for i, key := range tr.keys {
		probe(now, engine.Op{Kind: engine.Peek, Key: key})
		a := engine.Alg(i % len(tr.params))
		if fp := got.Fingerprint(now, 0, key); !isListed(a) && fp != want.Fingerprint(now, 0, key) {
			t.Fatalf("%s: fingerprint of %q is %d, want %d", name, key, fp, want.Fingerprint(now, 0, key))
		}
		if a == engine.Lease {
			continue
		}
		for _, p := range tr.params[a] {
			probe(now, engine.Op{Kind: engine.Take, Key: key, Params: p})
		}
	}
	if g, w := len(scanAll(t, got, now, 50)), len(scanAll(t, want, now, 50)); g != w {
		t.Fatalf("%s: scan finds %d keys, want %d", name, g, w)
	}
	at := tr.now
	for tr.now = now; tr.now < now+40e9; {
		probe(tr.now, slices.Clone(tr.next().Ops)...)
	}
	tr.now = at
}

// TestSnapshot freezes an engine in the middle of a trace, reads it while the trace
// continues, and compares the loaded engine with a replay of the trace up to that point.
func TestSnapshot(t *testing.T) {
	var images, aside int
	for seed := range uint64(60 / testwait.Slowdown()) {
		tr := newTracer(seed)
		o := engine.Options{Shards: []int{1, 4, 16}[seed%3], Seed: [16]byte{5}}
		bound := engine.Bound{MaxBytes: 60 << 10, Evict: true}
		if seed%4 == 3 {
			o.MaxMemory = bound.MaxBytes
		}
		e, re := engine.New(o), &replica{e: engine.New(engine.Options{Shards: 2, Seed: [16]byte{5}})}
		step := func() (flushed bool) {
			b := tr.next()
			if seed%4 == 2 {
				evictions := evict(e, bound, tr.now, b)
				if re != nil {
					if err := re.follow(tr.now, evictions); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
				}
			}
			e.Apply(tr.now, b)
			if re != nil {
				if err := re.follow(tr.now, b); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			if tr.r.IntN(8) == 0 {
				e.Sweep(tr.now, 1+tr.r.IntN(30))
			}
			for i := range b.Ops {
				flushed = flushed || b.Ops[i].Kind == engine.Flush
			}
			return flushed
		}
		tr.some = len(tr.keys) / (1 + 4*tr.r.IntN(2)) // so that pages split afterwards, or merge
		for range 100 + tr.r.IntN(300) {
			step()
		}
		if tr.r.IntN(2) == 0 { // an abandoned snapshot
			n := e.Freeze()
			for range tr.r.IntN(20) {
				step()
				n.Next(tr.r.IntN(n.Shards()), nil)
			}
			n.Close()
		}
		n, judge := e.Freeze(), re.e
		re = nil
		tr.ebb, tr.some = tr.some == len(tr.keys), len(tr.keys)
		r := read(t, n)
		for slices.Contains(r.done, false) {
			for range tr.r.IntN(60) {
				if step() && slices.Contains(r.done, false) {
					aside++
				}
			}
			if e.Stats().ImageBytes > 0 {
				images++
			}
			r.some(tr.r)
		}
		n.Close()
		for _, shards := range []int{o.Shards, []int{1, 8, 64}[tr.r.IntN(3)]} {
			tr := newTracer(seed) // restarted for each
			sameAnswers(t, fmt.Sprintf("seed %d, %d shards into %d", seed, o.Shards, shards), tr, n.Now(), r.load(tr.r, shards),
				judge)
			judge = r.load(tr.r, shards)
		}
	}
	if images == 0 || aside == 0 {
		t.Errorf("%d images and %d detached tables, want more", images, aside)
	}
}

// TestSnapshotEdges reads snapshots of extreme sizes: no keys, the longest keys,
// different parameters for each key, long logs, many holders.
func TestSnapshotEdges(t *testing.T) {
	testwait.Sequential(t)
	now := instant("2025-06-15T12:34:56Z")
	for _, tt := range []struct {
		name string
		keys int
		op   func(i int) engine.Op
		most int // bytes of a block
	}{
		{"no keys", 0, nil, 0},
		{"one key", 1, func(i int) engine.Op {
			return engine.Op{Kind: engine.Take, Key: nil, Params: counter(engine.Token, 5), N: 1}
		}, 64},
		{"the longest keys", 300, func(i int) engine.Op {
			return engine.Op{Kind: engine.Take, Key: fmt.Appendf(nil, "%01024d", i), Params: counter(engine.Slide, 5), N: 1}
		}, 16 << 10},
		{"other parameters for each", 3000, func(i int) engine.Op {
			return engine.Op{Kind: engine.Take, Key: fmt.Append(nil, i), Params: counter(engine.Fixed, int64(i)+5), N: 1}
		}, 16 << 10},
		{"long logs", 30_000, func(i int) engine.Op {
			return engine.Op{Kind: engine.Take, Key: fmt.Append(nil, i%3), Params: counter(engine.Log, 20_000), N: 1}
		}, 64 << 10},
		{"many logs of some length", 30_000, func(i int) engine.Op {
			return engine.Op{Kind: engine.Take, Key: fmt.Append(nil, i%60), Params: counter(engine.Log, 20_000), N: 1}
		}, 16 << 10},
		{"many holders", 30_000, func(i int) engine.Op {
			return engine.Op{Kind: engine.Acquire, Key: fmt.Append(nil, i%3), Params: counter(engine.Lease, 20_000), N: 1,
				ID: fmt.Append(nil, i)}
		}, 1 << 20},
	} {
		e := engine.New(engine.Options{Shards: 2, Seed: [16]byte{5}})
		var ops []engine.Op
		for i := range tt.keys {
			op := tt.op(i)
			apply(e, now+engine.Instant(i), op)
			ops = append(ops, engine.Op{Kind: engine.Peek, Key: op.Key})
		}
		n := e.Freeze()
		r := read(t, n)
		r.all()
		for _, block := range r.blocks {
			if len(block) > tt.most {
				t.Errorf("%s: a block has %d bytes, want at most %d", tt.name, len(block), tt.most)
			}
		}
		got, want := apply(r.load(rand.New(rand.NewPCG(1, 1)), 4), n.Now(), ops...), apply(e, n.Now(), ops...)
		n.Close()
		if !slices.Equal(got, want) {
			t.Errorf("%s: the loaded state is not the saved one", tt.name)
		}
	}
}

// TestSnapshotsOneAtATime opens and closes snapshots.
func TestSnapshotsOneAtATime(t *testing.T) {
	e, tr := engine.New(engine.Options{}), newTracer(1)
	for range 50 {
		e.Apply(tr.now, tr.next())
	}
	n := e.Freeze()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a Freeze while a Snapshot is open does not panic")
			}
		}()
		e.Freeze()
	}()
	for range 50 {
		e.Apply(tr.now, tr.next())
	}
	if _, _, ok := n.Next(3, nil); !ok || e.Stats().ImageBytes == 0 {
		t.Errorf("a shard has a block: %t, images have %d bytes", ok, e.Stats().ImageBytes)
	}
	n.Close()
	if block, _, ok := n.Next(3, []byte("x")); ok || string(block) != "x" || e.Stats().ImageBytes != 0 {
		t.Errorf("after Close a shard has a block: %t, %q, images have %d bytes", ok, block, e.Stats().ImageBytes)
	}
	next := e.Freeze()
	n.Close() // a second Close must not affect the open snapshot
	if _, _, ok := next.Next(3, nil); !ok {
		t.Error("the second Close closed the next snapshot")
	}
	apply(e, tr.now, engine.Op{Kind: engine.Flush})
	aside := e.Stats().ImageBytes
	read(t, next).all()
	if left := e.Stats().ImageBytes; aside == 0 || left != 0 {
		t.Errorf("a detached table has %d bytes, and %d after it has been read", aside, left)
	}
	next.Close()
}

// TestSnapshotReadPages changes pages already read: they need no image.
func TestSnapshotReadPages(t *testing.T) {
	e := engine.New(engine.Options{Shards: 1, Seed: [16]byte{5}})
	take := func(key []byte) {
		apply(e, 1e18, engine.Op{Kind: engine.Take, Key: key, Params: counter(engine.Token, 5), N: 1})
	}
	for i := range 1000 {
		take(fmt.Append(nil, i))
	}
	n := e.Freeze()
	defer n.Close()
	block, _, _ := n.Next(0, nil)
	into := engine.New(engine.Options{})
	if err := into.Load(block); err != nil || into.Len() < 100 {
		t.Fatalf("a block has %d keys: %v", into.Len(), err)
	}
	into.Scan(0, 0, 0, 1000, func(key []byte, _ engine.Alg) { take(key) })
	if bytes := e.Stats().ImageBytes; bytes > 0 {
		t.Errorf("pages already read have %d bytes of images", bytes)
	}
}

// TestSnapshotDenials denies a permit of a full log repeatedly: that changes nothing, and
// its entries are copied at most once.
func TestSnapshotDenials(t *testing.T) {
	e := engine.New(engine.Options{})
	ask := one(counter(engine.Log, 1000), []byte("key"), "")
	for i := range 1000 {
		apply(e, 1e18+engine.Instant(i), ask)
	}
	n := e.Freeze()
	defer n.Close()
	for range 1000 {
		apply(e, 1e18+2000, ask)
	}
	if bytes := e.Stats().ImageBytes; bytes > 64<<10 {
		t.Errorf("images have %d bytes", bytes)
	}
}

// TestSnapshotSize checks the size of a record, and that reading allocates nothing once
// the buffer exists.
func TestSnapshotSize(t *testing.T) {
	const keys = 20_000
	e := engine.New(engine.Options{})
	for i := range keys {
		apply(e, 1e18, engine.Op{Kind: engine.Take, Key: fmt.Appendf(nil, "key:%018d", i), Params: counter(engine.Token, 5),
			N: 1})
	}
	n := e.Freeze()
	defer n.Close()
	bytes, buffer := 0, make([]byte, 0, 64<<10)
	for shard := range n.Shards() - 1 {
		for ok := true; ok; {
			var block []byte
			block, _, ok = n.Next(shard, buffer)
			bytes += len(block)
		}
	}
	per := float64(bytes) / keys * 16 / 15
	if per > 46 {
		t.Errorf("a record with a key of 22 bytes takes %.1f bytes, want at most 46", per)
	}
	if allocs := testing.AllocsPerRun(4, func() { n.Next(15, buffer) }); allocs > 0 {
		t.Errorf("Next allocates %v times", allocs)
	}
}

// TestSnapshotShapes splits, grows or merges a page immediately after a Freeze: the
// loaded engine has the keys of the Freeze.
func TestSnapshotShapes(t *testing.T) {
	p := counter(engine.Token, 5)
	for _, tt := range []struct {
		name  string
		first int // keys
		then  func(e *engine.Engine, keys int)
	}{
		{"a key more", 0, func(e *engine.Engine, keys int) {
			apply(e, 1e18, one(p, fmt.Append(nil, keys), ""))
		}},
		{"a sweep", 260, func(e *engine.Engine, keys int) {
			e.Sweep(1e18, 20)
		}},
	} {
		for keys := 1; keys < 260; keys += 1 + 4*(testwait.Slowdown()-1)/7 {
			e := engine.New(engine.Options{Shards: 1, Seed: [16]byte{5}})
			for i := range max(keys, tt.first) {
				apply(e, 1e18, one(p, fmt.Append(nil, i), ""))
			}
			for i := keys; i < tt.first; i++ {
				apply(e, 1e18, engine.Op{Kind: engine.Forget, Key: fmt.Append(nil, i)})
			}
			n := e.Freeze()
			tt.then(e, keys)
			r := read(t, n)
			r.all()
			into := r.load(rand.New(rand.NewPCG(1, 1)), 1)
			n.Close()
			for i := range keys {
				if d := apply(into, 1e18, engine.Op{Kind: engine.Peek, Key: fmt.Append(nil, i)})[0]; d.Remaining != 4 {
					t.Fatalf("%s after a freeze of %d keys: key %d is loaded as %+v", tt.name, keys, i, d)
				}
			}
		}
	}
}

// TestCrowded changes ever more keys while a snapshot is open.
func TestCrowded(t *testing.T) {
	e := engine.New(engine.Options{})
	now, p := instant("2025-06-15T12:34:56Z"), counter(engine.Token, 100)
	take := func(from, to int) {
		for i := from; i < to; i++ {
			apply(e, now, engine.Op{Kind: engine.Take, Params: p, N: 1, Key: fmt.Append(nil, "key ", i)})
		}
	}
	const keys = 100_000
	take(0, keys)
	n := e.Freeze()
	if take(0, 10); n.Crowded() {
		t.Error("ten changed keys make a snapshot crowded")
	}
	if take(0, keys); !n.Crowded() {
		t.Error("a change of all keys does not make a snapshot crowded")
	}
	n.Close()
}
