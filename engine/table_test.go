package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// randomKey returns 1 to 1024 random bytes, mostly few.
func randomKey(r *rand.Rand) []byte {
	most := []int{8, 24, 24, 48, 48, 48, 48, 64, 128, 1024}[r.IntN(10)]
	key := make([]byte, 1+r.IntN(most))
	for i := range key {
		key[i] = byte(r.Uint32())
	}
	return key
}

// scanAll scans to the end and counts the visits of each key.
func scanAll(t *testing.T, e *engine.Engine, now engine.Instant, count int) map[string]int {
	visits := map[string]int{}
	cursor := uint64(0)
	for calls := 0; ; calls++ {
		cursor = e.Scan(now, 0, cursor, count, func(key []byte, _ engine.Alg) { visits[string(key)]++ })
		if cursor == 0 {
			return visits
		}
		if calls > 1<<20 {
			t.Fatal("scan does not end")
		}
	}
}

// TestTableGrows adds keys of all lengths, deletes some, and compares the table with a
// map.
func TestTableGrows(t *testing.T) {
	testwait.Sequential(t)
	for _, shards := range []int{1, 16} {
		r := rand.New(rand.NewPCG(uint64(shards), 4))
		e := engine.New(engine.Options{Shards: shards})
		now := instant("2025-06-15T12:34:56Z")
		there := map[string]int64{} // permits used
		var b engine.Batch
		for len(there) < 200_000 {
			b.Reset()
			for range 200 {
				key := randomKey(r)
				p := counter(algs()[r.IntN(2)*int(engine.Fixed)], 1000)
				if used := there[string(key)]; used > 0 {
					b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: key})
					delete(there, string(key))
					continue
				}
				n := 1 + r.Int64N(1000)
				there[string(key)] = n
				b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: key, Params: p, N: n})
			}
			forgets := 20
			for key := range there {
				if forgets--; forgets < 0 {
					break
				}
				b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: []byte(key)})
				delete(there, key)
			}
			e.Apply(now, &b)
			for i, d := range b.Decisions {
				if d.Status != engine.OK || d.Allowed != 1 {
					t.Fatalf("%d shards, %d keys, %s: %+v", shards, len(there), opString(&b.Ops[i]), d)
				}
			}
			if e.Len() != int64(len(there)) {
				t.Fatalf("%d shards: Len is %d, want %d", shards, e.Len(), len(there))
			}
			now++
		}
		compareWithMap(t, e, now, there)
		apply(e, now, engine.Op{Kind: engine.Flush})
		if s := e.Stats(); e.Len() != 0 || s.Keys != 0 || len(scanAll(t, e, now, 100)) != 0 {
			t.Errorf("%d shards: after a flush there are %d keys, %+v", shards, e.Len(), s)
		}
	}
}

// compareWithMap compares a table with the permits used of each key.
func compareWithMap(t *testing.T, e *engine.Engine, now engine.Instant, there map[string]int64) {
	t.Helper()
	for key, used := range there {
		d := apply(e, now, engine.Op{Kind: engine.Peek, Key: []byte(key)})[0]
		if d.Status != engine.OK || d.Params.Limit-d.Remaining != used {
			t.Fatalf("key %.20q...: %+v, want %d used", key, d, used)
		}
	}
	visits := scanAll(t, e, now, 100)
	if len(visits) != len(there) {
		t.Errorf("scan visited %d keys of %d", len(visits), len(there))
	}
	for key, n := range visits {
		if _, ok := there[key]; !ok || n != 1 {
			t.Errorf("scan of an unchanged table visited %.20q... %d times, it exists: %t", key, n, ok)
		}
	}
}

// TestScanUnderChange scans while other keys are created and dropped: each key that stays
// is visited, and no call visits many more keys than requested.
func TestScanUnderChange(t *testing.T) {
	for _, shards := range []int{1, 4, 64} {
		r := rand.New(rand.NewPCG(uint64(shards), 5))
		e := engine.New(engine.Options{Shards: shards})
		now := instant("2025-06-15T12:34:56Z")
		p := counter(engine.Token, 1)
		for i := range 3000 {
			apply(e, now, engine.Op{Kind: engine.Take, Key: fmt.Append(nil, "stays ", i), Params: p, N: 1})
		}
		first, last := 0, 0 // of the keys that are created and dropped
		for round := range 6 {
			visited := map[string]bool{}
			for cursor, calls := uint64(0), 0; ; calls++ {
				seen := 0
				cursor = e.Scan(now, 0, cursor, 50, func(key []byte, _ engine.Alg) {
					visited[string(key)] = true
					seen++
				})
				if cursor == 0 {
					break
				}
				if seen < 50 || seen > 50+1000 {
					t.Fatalf("%d shards: a call with count 50 visited %d keys", shards, seen)
				}
				if calls > 100_000 {
					t.Fatalf("%d shards: scan does not end", shards)
				}
				var b engine.Batch
				for range r.IntN(300) {
					if (r.IntN(20) < 16) == (round%2 == 0) {
						b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: fmt.Append(nil, "goes ", last), Params: p, N: 1})
						last++
					} else if first < last {
						b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: fmt.Append(nil, "goes ", first)})
						first++
					}
				}
				e.Apply(now, &b)
			}
			for i := range 3000 {
				if key := fmt.Sprint("stays ", i); !visited[key] {
					t.Fatalf("%d shards, round %d: scan did not visit %q", shards, round, key)
				}
			}
		}
		if want := int64(3000 + last - first); e.Len() != want {
			t.Errorf("%d shards: Len is %d, want %d", shards, e.Len(), want)
		}
	}
}

// takeKeys takes from n new keys, until 300 in a row are rejected, and returns the keys
// that were admitted.
func takeKeys(t *testing.T, e *engine.Engine, now engine.Instant, name string, n int, p engine.Params) []string {
	t.Helper()
	var in []string
	for i, last := 0, 0; i < min(n, last+300); i++ {
		key := fmt.Sprintf("%s %06d", name, i)
		b := engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Key: []byte(key), Params: p, N: 1}}}
		e.MakeRoom(now, &b)
		if i%16 == 0 {
			bounded(t, e)
		}
		e.Apply(now, &b)
		switch d := b.Decisions[0]; {
		case d.Status == engine.OK && d.Allowed == 1:
			in, last = append(in, key), i
		case d.Status != engine.NoMemory:
			t.Fatalf("%s: %+v", key, d)
		}
	}
	return in
}

// memory is the bound of the tests below, in bytes.
const memory = 1 << 20

// bounded checks that the engine respects the bound.
func bounded(t *testing.T, e *engine.Engine) {
	t.Helper()
	if s := e.Stats(); s.MemoryBytes > memory {
		t.Fatalf("%d bytes of memory, bound is %d: %+v", s.MemoryBytes, memory, s)
	}
}

// TestMemoryReject fills the memory: new keys are rejected, live keys keep their state and
// are served, expired keys make space.
func TestMemoryReject(t *testing.T) {
	for _, shards := range []int{1, 16} {
		e := engine.New(engine.Options{Shards: shards, MaxMemory: memory})
		now := instant("2025-06-15T12:00:00Z")
		brief := engine.Params{Alg: engine.Fixed, Limit: 10, Period: 60 * second}
		expires := takeKeys(t, e, now, "expires", 4000, brief)
		stays := takeKeys(t, e, now, "stays", memory/16, counter(engine.Fixed, 10))
		if len(expires) < 4000 || len(stays) < 4000 || len(stays) == memory/16 {
			t.Fatalf("%d shards: %d keys that expire and %d that stay in %d bytes", shards, len(expires), len(stays), memory)
		}
		if s := e.Stats(); s.Refused == 0 || s.Evicted > 0 {
			t.Errorf("%d shards: rejected for memory, but %+v", shards, s)
		}
		live := func(keys []string) {
			t.Helper()
			for _, key := range keys {
				if d := apply(e, now, engine.Op{Kind: engine.Peek, Key: []byte(key)})[0]; d.Status != engine.OK ||
					d.Remaining != 9 {
					t.Fatalf("%d shards: %q was lost: %+v", shards, key, d)
				}
			}
		}
		live(expires)
		live(stays)
		now += engine.Instant(60 * second)
		comes := takeKeys(t, e, now, "comes", 8000, counter(engine.Fixed, 10))
		t.Logf("%d shards: %d expired keys made space for %d", shards, len(expires), len(comes))
		if len(comes) < len(expires)*3/4 {
			t.Errorf("%d shards: %d expired keys made space for %d", shards, len(expires), len(comes))
		}
		live(stays)
		live(comes)
	}
}

// TestMemoryOfOneKey grows the lists of single keys up to the bound: a rejected op takes
// nothing.
func TestMemoryOfOneKey(t *testing.T) {
	for _, a := range []engine.Alg{engine.Log, engine.Lease} {
		e := engine.New(engine.Options{Shards: 1, MaxMemory: memory})
		now := instant("2025-06-15T12:00:00Z")
		p := counter(a, engine.MaxListed)
		granted, status := int64(0), engine.OK
		for status == engine.OK && granted < engine.MaxListed {
			now++
			d := apply(e, now, one(p, []byte("key"), fmt.Sprint("holder ", granted)))[0]
			granted += d.Allowed
			status = d.Status
			bounded(t, e)
		}
		if status != engine.NoMemory || granted < 1000 {
			t.Errorf("%v: status %d after %d permits in %d bytes", a, status, granted, memory)
		}
		if d := apply(e, now, engine.Op{Kind: engine.Peek, Key: []byte("key")})[0]; d.Remaining != p.Limit-granted {
			t.Errorf("%v: granted %d, remaining are %d of %d", a, granted, d.Remaining, p.Limit)
		}
		if size := e.KeyBytes(now, 0, []byte("key")); size < 4*granted || size > memory {
			t.Errorf("%v: %d entries in %d bytes", a, granted, size)
		}
	}
}

// TestMemoryEvict creates many more keys than fit: each is admitted, and keys that reset
// later are evicted less than keys that reset sooner.
func TestMemoryEvict(t *testing.T) {
	for _, shards := range []int{1, 16} {
		e := engine.New(engine.Options{Shards: shards, MaxMemory: memory, Evict: true})
		now := instant("2025-06-15T12:00:00Z")
		late := takeKeys(t, e, now, "late", 2000, counter(engine.Fixed, 10))
		soon := engine.Params{Alg: engine.Fixed, Limit: 10, Period: 3600 * second}
		if n := len(late) + len(takeKeys(t, e, now, "soon", 40_000, soon)); n < 42_000 {
			t.Fatalf("%d shards: %d of 42000 keys were admitted", shards, n)
		}
		if s := e.Stats(); s.Evicted == 0 || s.Refused > 0 || s.Keys != e.Len() {
			t.Errorf("%d shards: %+v", shards, s)
		}
		lost := 0
		for _, key := range late {
			if apply(e, now, engine.Op{Kind: engine.Peek, Key: []byte(key)})[0].Status == engine.Missing {
				lost++
			}
		}
		t.Logf("%d shards: of 2000 keys that reset last, %d were evicted", shards, lost)
		if lost > 400 {
			t.Errorf("%d shards: of 2000 keys that reset last, %d were evicted", shards, lost)
		}
	}
}

// TestKeyBytes checks that a key's memory is close to the size of its data, and that the
// sum over all keys is within the engine's memory.
func TestKeyBytes(t *testing.T) {
	e := engine.New(engine.Options{Shards: 1})
	now := instant("2025-06-15T12:00:00Z")
	sum := int64(0)
	for i := range 10_000 {
		key := fmt.Appendf(nil, "a key of 22 byte %05d", i)
		apply(e, now, engine.Op{Kind: engine.Take, Key: key, Params: counter(engine.Token, 10), N: 1})
		size := e.KeyBytes(now, 0, key)
		if size < 22 || size > 200 {
			t.Fatalf("%d bytes for %q", size, key)
		}
		sum += size
	}
	if s := e.Stats(); s.Keys != 10_000 || s.MemoryBytes < sum/2 || s.MemoryBytes > 200*10_000 {
		t.Errorf("keys have %d bytes, %+v", sum, s)
	}
	if size := e.KeyBytes(now, 0, []byte("not there")); size != 0 {
		t.Errorf("%d bytes for a missing key", size)
	}
	long := make([]byte, engine.MaxKeyBytes)
	apply(e, now, engine.Op{Kind: engine.Take, Key: long, Params: counter(engine.Token, 10), N: 1})
	if size := e.KeyBytes(now, 0, long); size < engine.MaxKeyBytes || size > 2*engine.MaxKeyBytes {
		t.Errorf("%d bytes for a key of %d", size, engine.MaxKeyBytes)
	}
}
