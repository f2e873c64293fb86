package engine_test

import (
	"bytes"
	"fmt"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestFull applies batches that may create no key. "live" exists, "expired" has expired,
// "new" never existed; the answers must not depend on a sweep of expired keys.
func TestFull(t *testing.T) {
	at := instant("2025-06-15T12:34:56Z")
	p := engine.Params{Alg: engine.Fixed, Limit: 9, Period: hour}
	lease := engine.Params{Alg: engine.Lease, Limit: 9, Period: hour}
	take := func(key string, n int64, mode engine.Mode) engine.Op {
		return engine.Op{Kind: engine.Take, Mode: mode, Key: []byte(key), Params: p, N: n}
	}
	acquire := func(key string) engine.Op {
		return engine.Op{Kind: engine.Acquire, Key: []byte(key), Params: lease, N: 1, ID: []byte("b")}
	}
	group := func(ops ...engine.Op) []engine.Op {
		ops[0].Group = uint8(len(ops))
		return ops
	}
	for _, tt := range []struct {
		name string
		ops  []engine.Op
		want engine.Status
	}{
		{"a take of a live key", group(take("live", 1, 0)), engine.OK},
		{"a take of a new key", group(take("new", 1, 0)), engine.NoMemory},
		{"a take of a expired key", group(take("expired", 1, 0)), engine.NoMemory},
		{"a part of a new key", group(take("new", 99, engine.Partial)), engine.NoMemory},
		{"a shadow of a new key", group(take("new", 1, engine.Shadow)), engine.NoMemory},
		{"a take that is denied anyway", group(take("new", 10, 0)), engine.OK},
		{"a read-only take of a new key", group(take("new", 0, 0)), engine.OK},
		{"a lease of a live key", group(acquire("lease")), engine.OK},
		{"a lease of a new key", group(acquire("new")), engine.NoMemory},
		{"a group of live keys", group(take("live", 1, 0), take("live too", 1, 0)), engine.OK},
		{"a group with a new key", group(take("live", 1, 0), take("new", 1, 0)), engine.NoMemory},
		{"a group with a expired key", group(take("expired", 1, 0), take("live", 1, 0)), engine.NoMemory},
		{"a group with a read-only take of a new key", group(take("live", 1, 0), take("new", 0, 0)), engine.OK},
		{"a group that is denied anyway", group(take("live", 1, 0), take("new", 10, 0)), engine.OK},
		{"a forget", []engine.Op{{Kind: engine.Forget, Key: []byte("live")}}, engine.OK},
		{"a charge", []engine.Op{{Kind: engine.Charge, Key: []byte("live"), N: 1}}, engine.OK},
	} {
		for _, swept := range []bool{false, true} {
			e := engine.New(engine.Options{Shards: 2})
			apply(e, at-2*engine.Instant(hour), take("expired", 1, 0))
			apply(e, at, take("live", 1, 0), take("live too", 1, 0), acquire("lease"))
			if swept {
				e.Sweep(at, 10)
			}
			before := e.Digest(at)
			b := engine.Batch{Ops: tt.ops, Full: true}
			e.Apply(at, &b)
			for i, d := range b.Decisions {
				if d.Status != tt.want || d.Changed && tt.want == engine.NoMemory {
					t.Errorf("%s, swept %t: op %d: answer %+v, want status %d", tt.name, swept, i, d, tt.want)
				}
			}
			if refused := e.Stats().Refused > 0; refused != (tt.want == engine.NoMemory) {
				t.Errorf("%s, swept %t: counted as rejected: %t", tt.name, swept, refused)
			}
			if tt.want == engine.NoMemory && e.Digest(at) != before {
				t.Errorf("%s, swept %t: the digest changed", tt.name, swept)
			}
			if b.Reset(); b.Full {
				t.Errorf("%s: Full is still set after Reset", tt.name)
			}
		}
	}
}

// TestWatch compares Watch with Expect.
func TestWatch(t *testing.T) {
	for _, a := range algs() {
		for seed := range uint64(10) {
			s := newSubject(t, a, seed)
			watch := engine.Op{Kind: engine.Watch}
			d := s.do(watch)
			s.expect(d == engine.Decision{Remaining: s.print()}, "watch returns %+v, the fingerprint is %d", d, s.print())
			expect := func() engine.Status {
				b := engine.Batch{Atomic: true, Ops: []engine.Op{{Kind: engine.Expect, Key: s.key, N: d.Remaining}}}
				s.e.Apply(s.now, &b)
				return b.Decisions[0].Status
			}
			s.expect(expect() == engine.OK, "the watched fingerprint is not the expected one")
			if before := s.print(); s.ask(1).Allowed == 1 && s.print() != before {
				s.expect(expect() == engine.Aborted, "the key changed, but Expect did not abort")
			}
			s.do(engine.Op{Kind: engine.Forget})
			s.expect(s.do(watch) == engine.Decision{}, "watch of a missing key returns %+v", s.do(watch))
		}
	}
}

// TestVictims drops victims until a quarter of the memory is free.
func TestVictims(t *testing.T) {
	for _, a := range algs() {
		e := engine.New(engine.Options{Shards: 4, Seed: [16]byte{5}})
		at := instant("2025-06-15T12:34:56Z")
		empty := e.MemoryBytes()
		for i := range 8000 / min(testwait.Slowdown(), 3) {
			p := counter(a, 5)
			p.Limit += int64(i % 2)
			name := "late"
			if i%2 == 0 {
				name = "soon"
				p.Period /= 1000
			}
			apply(e, at, one(p, fmt.Appendf(nil, "%s %d", name, i), "holder"))
		}
		filled, live := e.MemoryBytes()-empty, e.Len()
		if got := e.Stats().MemoryBytes; got != filled+empty {
			t.Errorf("%v: Stats say %d bytes, MemoryBytes %d", a, got, filled+empty)
		}
		digest := e.Digest(at)
		all := e.Victims(at, 1<<40)
		if len(all) < int(live)/4 || len(all) > int(live)/2 || e.Digest(at) != digest {
			t.Errorf("%v: %d victims of %d keys, want a third; digest %x before, %x after", a, len(all), live, digest,
				e.Digest(at))
		}
		var late, dropped int
		tailed := isListed(a) // their memory is freed only when no entry is in use
		for e.MemoryBytes()-empty > filled*3/4 && !(tailed && dropped > int(live)/4) {
			victims := e.Victims(at, filled/50)
			if len(victims) == 0 {
				t.Fatalf("%v: no victims, when %d of %d bytes are left", a, e.MemoryBytes()-empty, filled)
			}
			for _, op := range victims {
				d := apply(e, at, op)[0]
				if d.Allowed != 1 {
					t.Fatalf("%v: %q is no live key", a, op.Key)
				}
				if dropped++; bytes.HasPrefix(op.Key, []byte("late")) {
					late++
				}
			}
		}
		if late > dropped/20 {
			t.Errorf("%v: of %d keys dropped %d were far from their reset", a, dropped, late)
		}
		if int64(dropped) > live/2 {
			t.Errorf("%v: %d of %d keys were dropped to free a quarter of the memory", a, dropped, live)
		}
	}
}

// TestSweepExpired forgets the expired keys of all shards, and only these, in a bounded
// number of calls.
func TestSweepExpired(t *testing.T) {
	const keys = 5000
	e := engine.New(engine.Options{Shards: 4, Seed: [16]byte{5}})
	at := instant("2025-06-15T12:34:56Z")
	short, long := counter(engine.Slide, 5), counter(engine.Slide, 5)
	short.Period /= 1000
	for i := range keys {
		p := short
		if i%10 == 0 {
			p = long
		}
		apply(e, at, one(p, fmt.Appendf(nil, "key %d", i), "holder"))
	}
	if n := e.SweepExpired(at, 1000); n != 0 || e.Len() != keys {
		t.Errorf("%d keys were forgotten before they expired", n)
	}
	forgotten := int64(0)
	for range 1000 {
		forgotten += e.SweepExpired(at+3*engine.Instant(short.Period), 16)
	}
	if forgotten != keys*9/10 || e.Len() != keys/10 {
		t.Errorf("%d keys were forgotten and %d are left, want nine tenths of %d and the rest", forgotten, e.Len(), keys)
	}
}

// TestExport moves keys from one engine to another, which continues with them.
func TestExport(t *testing.T) {
	for seed := range uint64(6) {
		e, tr := mixed(seed, 100)
		digest, now, exported := e.Digest(0), e.Now(), 0
		into := engine.New(engine.Options{Shards: 8, Seed: [16]byte{5}})
		for _, key := range tr.keys {
			block, ok := e.Export(tr.now, 0, key, []byte("in front"))
			if live := e.Fingerprint(tr.now, 0, key) != 0; live != ok || string(block[:8]) != "in front" {
				t.Fatalf("seed %d: export of %q: %q, %t; the key is live: %t", seed, key, block, ok, live)
			}
			if !ok {
				if len(block) > 8 {
					t.Errorf("seed %d: no key, but %d bytes", seed, len(block)-8)
				}
				continue
			}
			if err := into.Load(block[8:]); err != nil {
				t.Fatalf("seed %d: load %q: %v", seed, key, err)
			}
			exported++
		}
		if exported == 0 || into.Len() != int64(exported) || into.Digest(tr.now) != e.Digest(tr.now) {
			t.Errorf("seed %d: of %d exported keys %d were loaded, with the digest %x, want %x", seed, exported, into.Len(),
				into.Digest(tr.now), e.Digest(tr.now))
		}
		if e.Now() != now || e.Digest(0) != digest {
			t.Errorf("seed %d: export changed something", seed)
		}
	}
}
