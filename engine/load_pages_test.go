package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// loadOneByOne is Load, but searches the place of each record.
func loadOneByOne(t *testing.T, e *Engine, block []byte) {
	t.Helper()
	r := &blockReader{}
	if err := r.read(block, e.key); err != nil {
		t.Fatal(err)
	}
	for i := range r.records {
		x := &r.records[i]
		s := &e.shards[e.shardOf(x.hash)]
		h := tailored(x.hash, s.bits, r.params[x.params].db)
		s.lock(r.now)
		s.insert(h, r.key(x), s.loadCell(r, x, h))
		s.unlock()
	}
}

// loadedState returns the counts of the shards of an engine, and checks each page: the order of
// its records, their places, and its next expiry.
func loadedState(t *testing.T, e *Engine) (all []string) {
	t.Helper()
	for i := range e.shards {
		s := &e.shards[i]
		var counts []string
		for _, x := range s.params.list {
			if x.keys > 0 {
				counts = append(counts, fmt.Sprint(x.keys, " of ", x.paramKey))
			}
		}
		slices.Sort(counts)
		soonest := latest
		for p := range s.pages() {
			for j := range p.slots() {
				_, _, key := s.record(p, j)
				h := s.hash(p.head(p.offset(j)).db(), key)
				if q, slot, found := s.find(h, key); !found || q.pageHead != p.pageHead || slot != j {
					t.Fatalf("%.20q of slot %d of page %d is found: %t, in slot %d of %d", key, j, p.number, found, slot, q.number)
				}
				c := s.load(p, j)
				expiry := s.now.after(c.meter().until(c, s.now, 0))
				if p.nextExpiry > expiry {
					t.Fatalf("page %d expires at %d, %.20q at %d", p.number, p.nextExpiry, key, expiry)
				}
				soonest = min(soonest, expiry)
			}
		}
		all = append(all, fmt.Sprint(s.now, s.keys, s.keysIn, s.lastingIn, soonest, counts))
	}
	return all
}

// TestLoadPages loads blocks, which makes whole pages, and loads them record by record: both
// engines must have the same keys with the same states, and the same counts. Blocks come in any
// order, of engines with other shards and seeds, and some to pages that have, or had, keys.
func TestLoadPages(t *testing.T) {
	for seed := range uint64(8 / testwait.Slowdown()) {
		r := rand.New(rand.NewPCG(seed, 17))
		from := New(Options{Shards: 1 << (2 * r.IntN(3))})
		var b Batch
		for i := range 20_000 / testwait.Slowdown() {
			p := []Params{
				{Alg: Token, Limit: 9, Count: 1, Period: 1e12 + int64(i%50)},
				{Alg: Fixed, Limit: 7, Period: 1e13},
				{Alg: Slide, Limit: 4, Period: 3e13},
				{Alg: Log, Limit: 5, Period: 2e13},
			}[r.IntN(4)]
			key := fmt.Appendf(nil, "%d%s", i, strings.Repeat("k", r.IntN(40)*r.IntN(2)+r.IntN(300)*(r.IntN(50)/49)))
			b.Reset()
			b.Ops = append(b.Ops, Op{Kind: Take, Params: p, N: 1 + r.Int64N(3), DB: uint8(r.IntN(16) / 14 * 3), Key: key})
			from.Apply(1e18+Instant(r.Int64N(1e9)), &b)
		}
		var blocks [][]byte
		n := from.Freeze()
		readShards(n, func(block []byte) { blocks = append(blocks, bytes.Clone(block)) })
		n.Close()
		r.Shuffle(len(blocks), func(i, j int) {
			if seed%2 == 0 {
				blocks[i], blocks[j] = blocks[j], blocks[i]
			}
		})
		o := Options{Shards: 1 << (2 * r.IntN(3)), Seed: [16]byte{byte(r.IntN(2))}}
		got, want := New(o), New(o)
		present := []int{r.IntN(200), 30_000 / testwait.Slowdown()}[seed/2%2]
		for i := range present {
			b.Reset()
			b.Ops = append(b.Ops, Op{Kind: Take, Params: Params{Alg: Fixed, Limit: 7, Period: 1e13}, N: 1,
				Key: fmt.Append(nil, "present ", i)})
			got.Apply(1e18, &b)
			want.Apply(1e18, &b)
		}
		for i := range present * int(seed/2%2) { // leaves empty pages, smaller than blocks
			b.Reset()
			b.Ops = append(b.Ops, Op{Kind: Forget, Key: fmt.Append(nil, "present ", i)})
			got.Apply(1e18, &b)
			want.Apply(1e18, &b)
		}
		for _, block := range blocks {
			if err := got.Load(block); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			loadOneByOne(t, want, block)
		}
		if g, w := got.Digest(1e18), want.Digest(1e18); g != w {
			t.Errorf("seed %d: digest %x, want %x", seed, g, w)
		}
		g, w := loadedState(t, got), loadedState(t, want)
		for i := range w {
			if g[i] != w[i] {
				t.Errorf("seed %d: shard %d\n got %.300s\nwant %.300s", seed, i, g[i], w[i])
			}
		}
		if g, w := got.MemoryBytes(), want.MemoryBytes(); g > w {
			t.Errorf("seed %d: pages made at once take %d bytes, grown ones %d", seed, g, w)
		}
		twice := blocks[r.IntN(len(blocks))]
		for name, block := range map[string][]byte{"twice": twice,
			"with its records twice": append(bytes.Clone(twice), twice[blockHeadBytes:]...)} {
			to := New(o)
			err := to.Load(block)
			if name == "twice" && err == nil {
				err = to.Load(block)
			}
			if err == nil || !strings.Contains(err.Error(), "duplicate key") {
				t.Errorf("seed %d: a block %s: Load is %v, want a duplicate key", seed, name, err)
			}
		}
	}
}

// TestLoadLongLengths loads a block with some lengths of keys in two bytes where one byte is
// enough: it must have the same effect as the block without them, also after pages were split.
func TestLoadLongLengths(t *testing.T) {
	from, b := New(Options{Shards: 1}), Batch{}
	for i := range 40 {
		b.Ops = append(b.Ops, Op{Kind: Take, Params: Params{Alg: Token, Limit: 9, Count: 1, Period: 1e12}, N: 1,
			Key: fmt.Append(nil, "key ", i)})
	}
	from.Apply(1e18, &b)
	n := from.Freeze()
	block, _, _ := n.Next(0, nil)
	n.Close()
	r := &blockReader{}
	if err := r.read(block, from.key); err != nil || len(r.records) != len(b.Ops) {
		t.Fatalf("a block of %d records, %v", len(r.records), err)
	}
	var long []byte
	end := uint32(0)
	for i := range r.records {
		x := &r.records[i]
		long = append(long, block[end:x.key-1]...)
		if i%5 == 0 {
			long = append(long, 128)
		}
		long, end = append(long, block[x.key-1:x.end]...), x.end
	}
	got, want := New(Options{Shards: 1}), New(Options{Shards: 1})
	if err := got.Load(long); err != nil {
		t.Fatal(err)
	}
	if err := want.Load(block); err != nil {
		t.Fatal(err)
	}
	for i := range b.Ops { // they split the pages
		b.Ops[i].Key = fmt.Append(nil, "another key ", i, strings.Repeat("k", 200))
	}
	got.Apply(1e18, &b)
	want.Apply(1e18, &b)
	if g, w := loadedState(t, got), loadedState(t, want); !slices.Equal(g, w) || got.Digest(1e18) != want.Digest(1e18) {
		t.Errorf("loaded\n got %v\nwant %v", g, w)
	}
}
