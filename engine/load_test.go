package engine_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// blockOf returns the only block of an engine's snapshot.
func blockOf(t testing.TB, e *engine.Engine) []byte {
	n := e.Freeze()
	defer n.Close()
	block, _, ok := n.Next(0, nil)
	if _, _, more := n.Next(0, nil); !ok || more {
		t.Fatalf("a block: %t, another: %t, want one", ok, more)
	}
	return block
}

// mixed returns an engine of a single shard with some keys of all algorithms.
func mixed(seed uint64, batches int) (*engine.Engine, *tracer) {
	e, tr := engine.New(engine.Options{Shards: 1, Seed: [16]byte{5}}), newTracer(seed)
	tr.keys = tr.keys[:60]
	for range batches {
		e.Apply(tr.now, tr.next())
	}
	return e, tr
}

// FuzzLoad loads arbitrary bytes. A rejected block adds no keys, unless it has a duplicate
// key; after a loaded block the engine works, and its next snapshot can be loaded.
func FuzzLoad(f *testing.F) {
	for seed := range uint64(6) {
		e, _ := mixed(seed, 4+20*int(seed))
		block := blockOf(f, e)
		f.Add(block, seed)
		f.Add(block[:len(block)/2], seed)
		f.Add(blockOf(f, withPlain(seed, 4+20*int(seed))), seed)
		library := newLibrary(1)
		for i := range 2 * int(seed+1) {
			do(library, 1e18, shelve, fmt.Sprint("name ", i%4), strings.Repeat("text ", i))
		}
		f.Add(blockOf(f, library), seed)
	}
	f.Fuzz(func(t *testing.T, block []byte, seed uint64) {
		e := engine.New(engine.Options{Shards: 1 << (seed % 3), Seed: [16]byte{5}})
		given := slices.Clone(block)
		err := e.Load(block)
		if !bytes.Equal(block, given) {
			t.Fatal("Load wrote into the block")
		}
		if checked := engine.CheckBlock(block); err == nil && checked != nil {
			t.Fatalf("CheckBlock rejects a block that is loaded: %v", checked)
		}
		if err != nil && e.Len() > 0 && !strings.Contains(err.Error(), "duplicate key") {
			t.Fatalf("a rejected block added %d keys: %v", e.Len(), err)
		}
		if err == nil { // as after all blocks of a snapshot
			e.SetTime(engine.Instant(binary.LittleEndian.Uint64(block[1:])))
		}
		tr := newTracer(seed % 8)
		tr.keys = tr.keys[:60]
		e.Scan(0, 0, 0, 100, func(key []byte, _ engine.Alg) { tr.keys = append(tr.keys, bytes.Clone(key)) })
		for _, key := range tr.keys {
			d := apply(e, 0, engine.Op{Kind: engine.Peek, Key: key})[0]
			if d.Remaining < 0 || d.Wait.Millis < 0 && d.Wait != engine.Never || d.Reset.Millis < 0 && d.Reset != engine.Never {
				t.Fatalf("peek of %q: %+v", key, d)
			}
		}
		for range 20 {
			e.Apply(max(tr.now, e.Now()), tr.next())
			e.Sweep(e.Now(), 2)
		}
		n := e.Freeze()
		defer n.Close()
		r := read(t, n)
		r.all()
		r.load(rand.New(rand.NewPCG(seed, 1)), 1)
	})
}

// TestLoadCut truncates a block at each byte, and flips each bit: the result is rejected,
// or the engine works with it.
func TestLoadCut(t *testing.T) {
	testwait.Sequential(t)
	e, _ := mixed(3, 20)
	block, between := blockOf(t, e), 0
	for n := range block {
		into := engine.New(engine.Options{Shards: 1 + 15*(n%2)}) // with all keys on a page, and on many
		if err := into.Load(block[:n]); err == nil {
			between++ // two records
		} else if into.Len() != 0 {
			t.Errorf("loading %d bytes of %d: %v, but the engine has %d keys", n, len(block), err, into.Len())
		}
	}
	if int64(between) != e.Len() {
		t.Errorf("%d of %d beginnings of a block of %d keys were loaded", between, len(block), e.Len())
	}
	loaded := 0
	for bit := 0; bit < 8*len(block); bit += 5 {
		flipped := bytes.Clone(block)
		flipped[bit/8] ^= 1 << (bit % 8)
		into := engine.New(engine.Options{Shards: 1 + 15*(bit%2)})
		if into.Load(flipped) == nil {
			loaded++
		}
		for i := range 60 {
			apply(into, into.Now(), engine.Op{Kind: engine.Peek, Key: fmt.Append(nil, "key ", i)})
		}
	}
	t.Logf("of %d blocks with a bit flipped %d were loaded", 8*len(block), loaded)
}

// A blockRecord is a record of a block.
type blockRecord struct {
	p     engine.Params
	state []uint64 // for LOG and LEASE the numbers of the tail
	name  string   // of a holder, before the last number
	key   string
	past  []uint64 // empty, or the three numbers of a past
	held  bool     // it has holds
	tail  string   // more bytes
}

func (x blockRecord) withPast(past ...uint64) blockRecord {
	x.past = past
	return x
}

// encode returns a block.
func encode(version byte, now engine.Instant, records ...blockRecord) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{version}, uint64(now))
	for _, x := range records {
		alg := byte(x.p.Alg)
		if x.past != nil {
			alg |= 0x80
		}
		if x.held {
			alg |= 0x10
		}
		b = append(b, 0, alg, byte(x.p.Calendar))
		numbers := []uint64{uint64(x.p.Limit), uint64(x.p.Count), uint64(x.p.Period)}
		if x.p.Alg == engine.Box {
			numbers = append(numbers, uint64(x.p.Growth))
		}
		for _, v := range append(numbers, x.past...) {
			b = binary.AppendUvarint(b, v)
		}
		tail := x.p.Alg == engine.Log || x.p.Alg == engine.Lease
		if !tail {
			for _, w := range x.state {
				b = binary.LittleEndian.AppendUint64(b, w)
			}
		}
		if len(x.key) >= 128 {
			b = append(b, 128|byte(len(x.key)>>8))
		}
		b = append(append(append(b, byte(len(x.key))), x.key...), x.tail...)
		if tail {
			for i, w := range x.state {
				if i == 2 || i > 2 && x.p.Alg == engine.Lease {
					b = append(b, x.name...)
				}
				b = binary.AppendUvarint(b, w)
			}
		}
	}
	return b
}

// TestLoadChecks checks the validation of records.
func TestLoadChecks(t *testing.T) {
	const (
		now  = engine.Instant(1e18)
		week = uint64(1000080000e9) // the end of the calendar week of now
	)
	var (
		token   = engine.Params{Alg: engine.Token, Limit: 10, Count: 2, Period: 3e9}
		box     = penalties[0].Params()
		receipt = engine.Params{Alg: engine.IDReceipt}
		record  = engine.Params{Alg: engine.IDRecord}
		fixed   = engine.Params{Alg: engine.Fixed, Limit: 10, Period: 1e12}
		weekly  = engine.Params{Alg: engine.Fixed, Limit: 10, Calendar: engine.Week}
		slide   = engine.Params{Alg: engine.Slide, Limit: 10, Period: 1e12}
		log     = engine.Params{Alg: engine.Log, Limit: 10, Period: 1e12}
		lease   = engine.Params{Alg: engine.Lease, Limit: 10, Period: 1e12}
		full    = uint64(2e18 + 2*10*3e9) // of token, twice
		name    = strings.Repeat("n", 16)
		words   = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(now+1e12)), 5)
		held    = func(p engine.Params, holds string) blockRecord {
			return blockRecord{p: p, held: true, key: "k", tail: "\x00" + string(words) + holds}
		}
		with = func(p engine.Params, change func(p *engine.Params)) engine.Params {
			change(&p)
			return p
		}
	)
	for _, tt := range []struct {
		name    string
		version byte
		now     engine.Instant
		x       blockRecord
		ok      bool
	}{
		{"a bucket in debt", 1, now, blockRecord{p: token, state: []uint64{0, full}, name: "", key: "k"}, true},
		{"a bucket used under a higher capacity", 1, now,
			blockRecord{p: token, state: []uint64{0, full + 1}, name: "", key: "k"}, true},
		{"a bucket that is full after the slowest", 1, now,
			blockRecord{p: token, state: []uint64{1 << 62, 0}, name: "", key: "k"}, false},
		{"a bucket that is never full", 1, now, blockRecord{p: token, state: []uint64{1 << 63, 0}, name: "", key: "k"},
			false},
		{"an expired bucket", 1, now, blockRecord{p: token, state: []uint64{0, 0}, name: "", key: "k"}, true},
		{"the longest key", 1, now,
			blockRecord{p: token, state: []uint64{0, full}, name: "", key: strings.Repeat("k", engine.MaxKeyBytes)}, true},
		{"a key that is too long", 1, now,
			blockRecord{p: token, state: []uint64{0, full}, name: "", key: strings.Repeat("k", engine.MaxKeyBytes+1)}, false},
		{"another version", 7, now, blockRecord{p: token, state: []uint64{0, full}, name: "", key: "k"}, false},
		{"a receipt", 4, now, blockRecord{p: receipt, state: []uint64{1 << 42, 7, 1, 10}, name: "", key: "k"}, true},
		{"a receipt in an older version", 3, now,
			blockRecord{p: receipt, state: []uint64{1 << 42, 7, 1, 10}, name: "", key: "k"}, false},
		{"a receipt without an expiry", 4, now, blockRecord{p: receipt, state: []uint64{0, 7, 1, 10}, name: "", key: "k"},
			false},
		{"a receipt of another kind", 4, now,
			blockRecord{p: receipt, state: []uint64{1 << 42, 7, 1, 1 << 56}, name: "", key: "k"}, false},
		{"a record", 5, now, blockRecord{p: record, tail: "\x07\x80\x80\x80\x80\x80\x80\x01\x01r", key: "k"}, true},
		{"a record in an older version", 4, now,
			blockRecord{p: record, tail: "\x07\x80\x80\x80\x80\x80\x80\x01\x01r", key: "k"}, false},
		{"a record without bytes", 5, now,
			blockRecord{p: record, tail: "\x07\x80\x80\x80\x80\x80\x80\x01\x00", key: "k"}, false},
		{"a hold", 5, now, held(fixed, "\x01hhhhhhhh\x09\xff\x01\x03\x02\x00\x00"), true},
		{"a hold in an older version", 4, now, held(fixed, "\x01hhhhhhhh\x09\xff\x01\x03\x02\x00\x00"), false},
		{"a hold that ends before it begins", 5, now, held(fixed, "\x01hhhhhhhh\x09\x08\x03\x02\x00\x00"), false},
		{"a hold that keeps too much", 5, now, held(fixed, "\x01hhhhhhhh\x09\xff\x01\x03\x04\x00\x00"), false},
		{"holds out of order", 5, now,
			held(fixed, "\x02hhhhhhhh\x09\xff\x01\x03\x02\x00\x00iiiiiiii\x08\xff\x01\x03\x02\x00\x00"), false},
		{"half a hold", 5, now, held(fixed, "\x01hhhhhhhh\x09\xff\x01\x03\x02\x00"), false},
		{"a hold of a box", 5, now, held(box, "\x00"), false},
		{"a key without holds left", 5, now, held(fixed, "\x00"), true},
		{"a box with a strike", 3, now, blockRecord{p: box, state: []uint64{1 << 32, uint64(now), 0}, name: "", key: "k"},
			true},
		{"a closed box", 3, now,
			blockRecord{p: box, state: []uint64{7, 0, uint64(now + engine.MaxPeriod)}, name: "", key: "k"}, true},
		{"a box in version 2", 2, now, blockRecord{p: box, state: []uint64{1 << 32, uint64(now), 0}, name: "", key: "k"},
			false},
		{"a box struck in the future", 3, now,
			blockRecord{p: box, state: []uint64{1 << 32, uint64(now + 1), 0}, name: "", key: "k"}, false},
		{"a box closed for too long", 3, now,
			blockRecord{p: box, state: []uint64{7, 0, uint64(now + engine.MaxPeriod + 1)}, name: "", key: "k"}, false},
		{"a box of too high a level", 3, now,
			blockRecord{p: box, state: []uint64{1 << 16, 0, uint64(now)}, name: "", key: "k"}, false},
		{"a box with a start and no strike", 3, now,
			blockRecord{p: box, state: []uint64{1, uint64(now), uint64(now)}, name: "", key: "k"}, false},
		{"a box with a past", 3, now, blockRecord{p: box, state: []uint64{1 << 32, uint64(now), 0}, name: "",
			key: "k"}.withPast(uint64(now+1), 1, 0), false},
		{"a box without growth", 3, now, blockRecord{p: with(box, func(p *engine.Params) { p.Growth = 0 }),
			state: []uint64{1 << 32, uint64(now), 0}, name: "", key: "k"}, false},
		{"a time before the epoch", 1, -1, blockRecord{p: token, state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a time after the latest", 1, 1<<63 - 1, blockRecord{p: token, state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a window that ends now", 1, now, blockRecord{p: fixed, state: []uint64{uint64(now), 10}, name: "", key: "k"}, true},
		{"the current window, in debt", 1, now,
			blockRecord{p: fixed, state: []uint64{uint64(now + 1e12), 20}, name: "", key: "k"}, true},
		{"a window used under a higher limit", 1, now,
			blockRecord{p: fixed, state: []uint64{uint64(now + 1e12), 21}, name: "", key: "k"}, true},
		{"a window beyond all limits", 1, now,
			blockRecord{p: fixed, state: []uint64{uint64(now + 1e12), 2*engine.MaxLimit + 1}, name: "", key: "k"}, false},
		{"a window of the future", 1, now,
			blockRecord{p: fixed, state: []uint64{uint64(now + 1e12 + 1), 1}, name: "", key: "k"}, false},
		{"a window before the epoch", 1, now, blockRecord{p: fixed, state: []uint64{1 << 63, 1}, name: "", key: "k"}, false},
		{"a window with a negative count", 1, now,
			blockRecord{p: fixed, state: []uint64{uint64(now), 1 << 63}, name: "", key: "k"}, false},
		{"this week", 1, now, blockRecord{p: weekly, state: []uint64{week, 1}, name: "", key: "k"}, true},
		{"next week", 1, now, blockRecord{p: weekly, state: []uint64{week + 1, 1}, name: "", key: "k"}, false},
		{"a sliding window, in debt", 1, now,
			blockRecord{p: slide, state: []uint64{uint64(now + 1e12), 0, 20}, name: "", key: "k"}, true},
		{"a sliding window used under a higher limit", 1, now,
			blockRecord{p: slide, state: []uint64{uint64(now + 1e12), 1, 20}, name: "", key: "k"}, true},
		{"a sliding window with a past that is cut later", 1, now + 5e11,
			blockRecord{p: slide, state: []uint64{uint64(now + 1e12), 0, 40}, name: "", key: "k"}, true},
		{"a sliding window of the future", 1, now,
			blockRecord{p: slide, state: []uint64{uint64(now + 1e12 + 1), 1, 1}, name: "", key: "k"}, false},
		{"a sliding window with a negative count", 1, now,
			blockRecord{p: slide, state: []uint64{uint64(now + 1e12), 1 << 63, 1}, name: "", key: "k"}, false},
		{"a sliding window after a negative count", 1, now,
			blockRecord{p: slide, state: []uint64{uint64(now + 1e12), 1, 1 << 63}, name: "", key: "k"}, false},
		{"a sliding window with too much, over", 1, now + 3e12,
			blockRecord{p: slide, state: []uint64{uint64(now), 2*engine.MaxLimit + 1, 0}, name: "", key: "k"}, false},
		{"a sliding window after too much, over", 1, now + 3e12,
			blockRecord{p: slide, state: []uint64{uint64(now), 0, 2*engine.MaxLimit + 1}, name: "", key: "k"}, false},
		{"a log", 1, now, blockRecord{p: log, state: []uint64{7, 2, uint64(now - 5), 3, 5, 17}, name: "", key: "k"}, true},
		{"an empty log", 1, now, blockRecord{p: log, state: []uint64{7, 0}, name: "", key: "k"}, true},
		{"a log used under a higher limit", 1, now,
			blockRecord{p: log, state: []uint64{7, 2, uint64(now - 5), 3, 5, 18}, name: "", key: "k"}, true},
		{"a log beyond all limits", 1, now, blockRecord{p: log,
			state: []uint64{7, 2, uint64(now - 5), 3, 5, 2*engine.MaxListed - 2}, name: "", key: "k"}, false},
		{"a log of the future", 1, now,
			blockRecord{p: log, state: []uint64{7, 2, uint64(now - 5), 3, 6, 17}, name: "", key: "k"}, false},
		{"a log of an expired entry", 1, now,
			blockRecord{p: log, state: []uint64{7, 1, uint64(now - 1e12), 3}, name: "", key: "k"}, false},
		{"a log entry of no permits", 1, now, blockRecord{p: log, state: []uint64{7, 1, uint64(now), 0}, name: "", key: "k"},
			false},
		{"a log with two entries of one time", 1, now,
			blockRecord{p: log, state: []uint64{7, 2, uint64(now), 1, 0, 1}, name: "", key: "k"}, false},
		{"a log of more entries than permits", 1, now,
			blockRecord{p: log, state: []uint64{7, 2*engine.MaxListed + 1}, name: "", key: "k"}, false},
		{"a log after too many changes", 1, now, blockRecord{p: log, state: []uint64{1<<62 + 1, 0}, name: "", key: "k"},
			false},
		{"a holder", 1, now, blockRecord{p: lease, state: []uint64{7, 1, engine.MaxPeriod}, name: name, key: "k"}, true},
		{"a holder twice", 1, now, blockRecord{p: lease, state: []uint64{7, 2, 1, 1}, name: name, key: "k"}, false},
		{"a holder past its end", 1, now, blockRecord{p: lease, state: []uint64{7, 1, 0}, name: name, key: "k"}, false},
		{"a holder for too long", 1, now,
			blockRecord{p: lease, state: []uint64{7, 1, engine.MaxPeriod + 1}, name: name, key: "k"}, false},
		{"no holders", 1, now, blockRecord{p: lease, state: []uint64{7, 0}, name: name, key: "k"}, true},
		{"too many holders", 1, now, blockRecord{p: lease, state: []uint64{7, engine.MaxListed + 1}, name: name, key: "k"},
			false},
		{"a bucket with a unit", 1, now,
			blockRecord{p: token, state: []uint64{0, 6e18 + 1}, name: "", key: "k"}.withPast(0, 6, 0), true},
		{"a bucket with a unit out of range", 1, now,
			blockRecord{p: token, state: []uint64{0, full}, name: "", key: "k"}.withPast(0, 1<<62+1, 0), false},
		{"a bucket that holds permits", 1, now,
			blockRecord{p: token, state: []uint64{0, full}, name: "", key: "k"}.withPast(uint64(now+1), 1, 0), false},
		{"a window that holds permits", 1, now,
			blockRecord{p: fixed, state: []uint64{0, 0}, name: "", key: "k"}.withPast(uint64(now+engine.MaxPeriod), 5, 0), true},
		{"a window that holds permits for too long", 1, now, blockRecord{p: fixed, state: []uint64{0, 0}, name: "",
			key: "k"}.withPast(uint64(now)+3*engine.MaxPeriod, 5, 0), false},
		{"a window that holds too many permits", 1, now, blockRecord{p: fixed, state: []uint64{0, 0}, name: "",
			key: "k"}.withPast(uint64(now+1), 2*engine.MaxLimit+1, 0), false},
		{"a window that holds no permits for some time", 1, now,
			blockRecord{p: fixed, state: []uint64{0, 0}, name: "", key: "k"}.withPast(uint64(now+1), 0, 0), false},
		{"a window with a debt", 1, now,
			blockRecord{p: fixed, state: []uint64{uint64(now + 1e12), 15}, name: "", key: "k"}.withPast(0, 0, 5), true},
		{"a window with more debt than permits", 1, now,
			blockRecord{p: fixed, state: []uint64{uint64(now + 1e12), 5}, name: "", key: "k"}.withPast(0, 0, 6), false},
		{"a sliding window with a debt", 1, now,
			blockRecord{p: slide, state: []uint64{uint64(now + 1e12), 0, 20}, name: "", key: "k"}.withPast(0, 0, 6), false},
		{"a sliding window that holds permits", 1, now,
			blockRecord{p: slide, state: []uint64{0, 0, 0}, name: "", key: "k"}.withPast(uint64(now+1), 5, 0), true},
		{"a log that holds permits", 1, now,
			blockRecord{p: log, state: []uint64{7, 0}, name: "", key: "k"}.withPast(uint64(now+1), 5, 0), true},
		{"holders that hold permits", 1, now,
			blockRecord{p: lease, state: []uint64{7, 0}, name: name, key: "k"}.withPast(uint64(now+1), 5, 0), false},
		{"an unknown algorithm", 1, now, blockRecord{p: with(token, func(p *engine.Params) { p.Alg = 31 }),
			state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a limit of zero", 1, now, blockRecord{p: with(token, func(p *engine.Params) { p.Limit = 0 }), state: []uint64{0, 0},
			name: "", key: "k"}, false},
		{"too great a limit", 1, now, blockRecord{p: with(token, func(p *engine.Params) { p.Limit = engine.MaxLimit + 1 }),
			state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"too great a limit of a log", 1, now, blockRecord{p: with(log,
			func(p *engine.Params) { p.Limit = engine.MaxListed + 1 }), state: []uint64{7, 0}, name: "", key: "k"}, false},
		{"no rate", 1, now, blockRecord{p: with(token, func(p *engine.Params) { p.Count = 0 }), state: []uint64{0, 0},
			name: "", key: "k"}, false},
		{"more than one a nanosecond", 1, now, blockRecord{p: with(token, func(p *engine.Params) { p.Period = 1 }),
			state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a rate of too long a time", 1, now, blockRecord{p: with(token,
			func(p *engine.Params) { p.Period = engine.MaxRatePeriod + 1 }), state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a window with a rate", 1, now, blockRecord{p: with(fixed, func(p *engine.Params) { p.Count = 1 }),
			state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a window that is too short", 1, now, blockRecord{p: with(fixed,
			func(p *engine.Params) { p.Period = engine.MinPeriod - 1 }), state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a window that is too long", 1, now, blockRecord{p: with(fixed,
			func(p *engine.Params) { p.Period = engine.MaxPeriod + 1 }), state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"an unknown calendar", 1, now, blockRecord{p: with(weekly, func(p *engine.Params) { p.Calendar = 5 }),
			state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a calendar and a window", 1, now, blockRecord{p: with(weekly, func(p *engine.Params) { p.Period = 1e9 }),
			state: []uint64{0, 0}, name: "", key: "k"}, false},
		{"a calendar of a sliding window", 1, now, blockRecord{p: with(slide, func(p *engine.Params) {
			p.Calendar,
				p.Period = engine.Day, 0
		}), state: []uint64{0, 0, 0}, name: "", key: "k"}, false},
	} {
		e := engine.New(engine.Options{})
		err := e.Load(encode(tt.version, tt.now, tt.x))
		if (err == nil) != tt.ok || e.Len() != yes(tt.ok) {
			t.Errorf("%s: Load is %v, and the engine has %d keys, want it loaded: %t", tt.name, err, e.Len(), tt.ok)
		}
	}
	x := blockRecord{p: token, state: []uint64{0, full}, name: "", key: "k"}
	for name, blocks := range map[string][][]byte{
		"in a block": {encode(1, now, x, x)},
		"in two":     {encode(1, now, x), encode(1, now, x)},
	} {
		e := engine.New(engine.Options{})
		var err error
		for _, block := range blocks {
			err = e.Load(block)
		}
		if err == nil || e.Len() != 1 {
			t.Errorf("a duplicate key %s: Load is %v, and the engine has %d keys, want an error and one", name, err, e.Len())
		}
	}
}

// TestLoadFingerprints changes a loaded key: its fingerprint never repeats.
func TestLoadFingerprints(t *testing.T) {
	e, key := engine.New(engine.Options{}), []byte("k")
	for _, x := range []blockRecord{
		{p: counter(engine.Log, 100), state: []uint64{5, 1, 1e18, 1}, key: "k"},
		{p: counter(engine.Lease, 100), state: []uint64{5, 1, 1e9}, name: strings.Repeat("n", 16), key: "k"},
	} {
		apply(e, 0, engine.Op{Kind: engine.Flush})
		if err := e.Load(encode(1, 1e18, x)); err != nil {
			t.Fatal(err)
		}
		first := e.Fingerprint(1e18, 0, key)
		for i := range 20 {
			apply(e, 1e18, engine.Op{Kind: engine.Forget, Key: key}, one(x.p, key, fmt.Sprint(i)))
			if e.Fingerprint(1e18, 0, key) == first {
				t.Errorf("%v: after %d changes the fingerprint is the loaded one", x.p.Alg, 2*i+2)
			}
		}
	}
}
