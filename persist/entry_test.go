package persist

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A step is a batch and its time.
type step struct {
	Stamp  engine.Instant
	Atomic bool
	Ops    []engine.Op
}

func encode(steps []step) []byte {
	var e Entry
	for _, s := range steps {
		e.Append(s.Stamp, &engine.Batch{Ops: s.Ops, Atomic: s.Atomic})
	}
	return e.Bytes()
}

func decode(data []byte) (steps []step, err error) {
	var d Decoder
	err = d.Decode(data, func(stamp engine.Instant, b *engine.Batch) error {
		steps = append(steps, step{stamp, b.Atomic, append([]engine.Op(nil), b.Ops...)})
		return nil
	})
	return steps, err
}

var penalty = engine.Penalty{After: 3, Within: 600e9, Block: 60e9, Growth: 250, Max: 86400e9, Forgive: 86400e9,
	Extend: true}

var (
	token  = engine.Params{Alg: engine.Token, Limit: 10, Count: 1, Period: 200e6}
	logged = engine.Params{Alg: engine.Log, Limit: 100, Period: 60e9}
	month  = engine.Params{Alg: engine.Fixed, Calendar: engine.Month, Limit: engine.MaxLimit}
	places = engine.Params{Alg: engine.Lease, Limit: engine.MaxListed, Period: engine.MinPeriod}
	boxed  = penalty.Params()
	slow   = engine.Params{Alg: engine.Leaky, Limit: 1, Count: engine.MaxLimit - 1, Period: engine.MaxRatePeriod}
)

var entryCases = []struct {
	name  string
	steps []step
	bytes int // of the entry
}{
	{"one take", []step{{1, false, []engine.Op{{Kind: engine.Take, Params: token, N: 1, Key: []byte("user:42")}}}}, 20},
	{"a pipeline of one limit, 24 bytes an op", []step{{1, false, []engine.Op{
		{Kind: engine.Take, Params: token, N: 1, Key: []byte("0123456789012345678901")},
		{Kind: engine.Take, Params: token, N: 1, Key: []byte("1123456789012345678901")},
		{Kind: engine.Take, Params: token, N: 1, Key: []byte("2123456789012345678901")},
	}}}, 35 + 24 + 24},
	{"groups of two limits", []step{{5, true, []engine.Op{
		{Kind: engine.Take, Group: 2, Params: token, N: 3, Key: []byte("a")},
		{Kind: engine.Take, Params: logged, N: 0, Key: []byte("b")},
		{Kind: engine.Take, Group: 2, Params: token, N: engine.MaxN, Key: []byte("a")},
		{Kind: engine.Take, Params: logged, N: 1, Key: []byte("b")},
	}}}, 45},
	{"a group with modes and leases, and one of one", []step{{5, false, []engine.Op{
		{Kind: engine.Take, Group: 4, Params: token, N: 1, Key: []byte("a")},
		{Kind: engine.Take, Mode: engine.Shadow, Params: logged, N: 1, Key: []byte("b")},
		{Kind: engine.Take, Mode: engine.AnyOf, DB: 3, Params: token, N: 0, Key: []byte("b")},
		{Kind: engine.Acquire, Mode: engine.AnyOf, Params: places, N: 1, Key: []byte("c"), ID: []byte("job")},
		{Kind: engine.Take, Mode: engine.Shadow, Group: 1, Params: token, N: 1, Key: []byte("a")},
	}}}, 57},
	{"a group with guards, and one of one", []step{{5, false, []engine.Op{
		{Kind: engine.Take, Mode: engine.Guard, Group: 3, Params: boxed, N: 1, Key: []byte("x")},
		{Kind: engine.Take, Params: token, N: 1, Key: []byte("a")},
		{Kind: engine.Take, Mode: engine.Guard, Params: boxed, N: 0, Key: []byte("y")},
		{Kind: engine.Take, Mode: engine.Guard, Group: 1, Params: boxed, N: 1, Key: []byte("x")},
	}}}, 48},
	{"a group that needs a version", []step{{5, false, []engine.Op{
		{Kind: engine.Needs, Group: 2, N: 1000},
		{Kind: engine.Take, Params: token, N: 1, Key: []byte("a")},
	}}}, 19},
	{"a box by its algorithm",
		[]step{{5, false, []engine.Op{{Kind: engine.Refund, Params: boxed, N: 1, Key: []byte("x")}}}}, 25},
	{"every kind", []step{{math.MaxInt64, true, []engine.Op{
		{Kind: engine.Expect, N: math.MinInt64, Key: []byte("w")},
		{Kind: engine.Expect, N: -1, Key: []byte("w")},
		{Kind: engine.Take, Mode: engine.Partial | engine.Shadow, Params: month, N: 1, Key: []byte("k")},
		{Kind: engine.Take, Group: 1, Params: slow, N: 1, Key: []byte("k")},
		{Kind: engine.Peek, Key: []byte("k")},
		{Kind: engine.Refund, Params: token, N: 2, Key: []byte("k")},
		{Kind: engine.Refund, N: 2, Key: []byte("k")},
		{Kind: engine.Charge, N: 2, Key: []byte("k")},
		{Kind: engine.Forget, Key: []byte("k")},
		{Kind: engine.Acquire, Mode: engine.Shadow, Params: places, N: 1, Key: []byte("k"), ID: []byte("job")},
		{Kind: engine.Release, Key: []byte("k"), ID: []byte("j")},
		{Kind: engine.Watch, Key: []byte("k")},
		{Kind: engine.Flush},
	}}}, 132},
	{"time going back and forth", []step{
		{math.MaxInt64, false, []engine.Op{{Kind: engine.Flush}}},
		{0, false, []engine.Op{{Kind: engine.Flush}}},
		{7, false, []engine.Op{{Kind: engine.Flush}}},
		{7, false, []engine.Op{{Kind: engine.Flush}}},
	}, 35},
	{"the longest key and id", []step{{0, false, []engine.Op{
		{Kind: engine.Release, Key: make([]byte, engine.MaxKeyBytes), ID: make([]byte, engine.MaxIDBytes)},
	}}}, 2058},
}

func TestEntryRoundTrip(t *testing.T) {
	for _, tt := range entryCases {
		data := encode(tt.steps)
		got, err := decode(data)
		if err != nil || !reflect.DeepEqual(got, tt.steps) {
			t.Errorf("%s: decode\n got %+v, %v\nwant %+v", tt.name, got, err, tt.steps)
		}
		if len(data) != tt.bytes {
			t.Errorf("%s: %d bytes, want %d: %x", tt.name, len(data), tt.bytes, data)
		}
		for n := 1; n < len(data); n++ { // no truncated entry may decode
			got, err := decode(data[:n])
			if err == nil && len(encode(got)) != n && n > 1 {
				t.Errorf("%s: the first %d bytes: got %+v and no error", tt.name, n, got)
			}
		}
	}
}

// TestEntryFlags checks the flags in the head of a batch, and that they do not carry over
// from the previous batch.
func TestEntryFlags(t *testing.T) {
	ops := []engine.Op{{Kind: engine.Flush}}
	for _, want := range []engine.Batch{
		{Ops: ops}, {Ops: ops, Atomic: true}, {Ops: ops, Full: true}, {Ops: ops, Atomic: true, Full: true},
	} {
		var e Entry
		e.Append(1, &want)
		want.Decisions = []engine.Decision{{Changed: true}}
		e.AppendChanged(1, &want)
		e.Append(1, &engine.Batch{Ops: ops})
		var d Decoder
		batches := 0
		err := d.Decode(e.Bytes(), func(_ engine.Instant, b *engine.Batch) error {
			atomic, full := want.Atomic && batches < 2, want.Full && batches < 2
			if b.Atomic != atomic || b.Full != full {
				t.Errorf("batch %d: Atomic %t, Full %t, want %t, %t", batches, b.Atomic, b.Full, atomic, full)
			}
			batches++
			return nil
		})
		if err != nil || batches != 3 {
			t.Errorf("decode of %x: %d batches, %v", e.Bytes(), batches, err)
		}
	}
}

func TestAppendChanged(t *testing.T) {
	take := func(key string, group uint8) engine.Op {
		return engine.Op{Kind: engine.Take, Params: token, N: 1, Key: []byte(key), Group: group}
	}
	for _, tt := range []struct {
		name    string
		ops     []engine.Op
		changed string // an x for each op that changed state
		want    string // the keys logged
	}{
		{"nothing", nil, "", ""},
		{"no change in two", []engine.Op{take("a", 0), take("b", 0)}, "..", ""},
		{"one change in three", []engine.Op{take("a", 0), take("b", 0), take("c", 1)}, ".x.", "b"},
		{"a group with a change in its last op",
			[]engine.Op{take("a", 0), take("b", 3), take("c", 0), take("d", 0), take("e", 0)}, "...x.", "bcd"},
		{"an unchanged group", []engine.Op{take("a", 0), take("b", 3), take("c", 0), take("d", 0), take("e", 0)}, "x...x",
			"ae"},
	} {
		b := &engine.Batch{Ops: tt.ops, Atomic: true}
		for _, c := range tt.changed {
			b.Decisions = append(b.Decisions, engine.Decision{Changed: c == 'x'})
		}
		var e Entry
		e.AppendChanged(3, b)
		got := ""
		if e.Len() > 0 {
			steps, err := decode(e.Bytes())
			if err != nil || len(steps) != 1 || steps[0].Stamp != 3 || !steps[0].Atomic {
				t.Errorf("%s: got %+v, %v; want one atomic batch at 3", tt.name, steps, err)
				continue
			}
			for _, op := range steps[0].Ops {
				got += string(op.Key)
			}
		}
		if got != tt.want {
			t.Errorf("%s: logged %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestEmptyEntry(t *testing.T) {
	var e Entry
	e.Append(1, &engine.Batch{})
	if e.Len() != 0 {
		t.Errorf("an empty batch: %x, want nothing", e.Bytes())
	}
	e.Append(1, takesOf(1))
	e.Reset()
	if e.Len() != 0 {
		t.Errorf("after Reset: %d bytes, want 0", e.Len())
	}
}

// TestDecodeRejects checks that values out of the bounds of the engine are rejected.
func TestDecodeRejects(t *testing.T) {
	with := func(change func(op *engine.Op)) []step {
		op := engine.Op{Kind: engine.Take, Params: token, N: 1, Key: []byte("k")}
		change(&op)
		return []step{{1, false, []engine.Op{op}}}
	}
	params := func(p engine.Params) []step { return with(func(op *engine.Op) { op.Params = p }) }
	group := func(groups ...uint8) (steps []step) {
		steps = []step{{Stamp: 1}}
		for _, g := range groups {
			steps[0].Ops = append(steps[0].Ops, engine.Op{Kind: engine.Take, Params: token, N: 1, Key: []byte("k"), Group: g})
		}
		return steps
	}
	mixed := group(2, 0)
	mixed[0].Ops[1].Mode = engine.Shadow
	peeked := group(2, 0)
	peeked[0].Ops[1].Kind = engine.Peek
	needed := group(2, 0)
	needed[0].Ops[1] = engine.Op{Kind: engine.Needs, N: 1}
	part, both := group(2, 0), group(2, 0)
	part[0].Ops[1].Mode, both[0].Ops[1].Mode = engine.Partial, engine.Shadow|engine.AnyOf
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"an unknown kind", with(func(op *engine.Op) { op.Kind = engine.Needs + 1 }), "unknown kind"},
		{"an unknown algorithm", params(engine.Params{Alg: 255, Limit: 1, Period: 1e9}), "unknown algorithm"},
		{"a take without parameters", params(engine.Params{}), "lacks"},
		{"a take of a lease", params(places), "lacks"},
		{"a limit of 0", params(engine.Params{Limit: 0, Count: 1, Period: 1}), "out of range"},
		{"a limit too high", params(engine.Params{Limit: engine.MaxLimit + 1, Count: 1, Period: 1}), "out of range"},
		{"a negative limit", params(engine.Params{Limit: -1, Count: 1, Period: 1}), "out of range"},
		{"a long list", params(engine.Params{Alg: engine.Log, Limit: engine.MaxListed + 1, Period: 1e9}), "out of range"},
		{"a rate of 0", params(engine.Params{Limit: 1, Period: 1}), "out of range"},
		{"a rate above one a nanosecond", params(engine.Params{Limit: 1, Count: 2, Period: 1}), "out of range"},
		{"a rate not in lowest terms", params(engine.Params{Limit: 1, Count: 2, Period: 4}), "out of range"},
		{"a rate too slow", params(engine.Params{Limit: 1, Count: 1, Period: engine.MaxRatePeriod + 1}), "out of range"},
		{"a bucket with a calendar", params(engine.Params{Limit: 1, Count: 1, Period: 1, Calendar: engine.Day}),
			"out of range"},
		{"a window too short", params(engine.Params{Alg: engine.Slide, Limit: 1, Period: engine.MinPeriod - 1}),
			"out of range"},
		{"a window too long", params(engine.Params{Alg: engine.Slide, Limit: 1, Period: engine.MaxPeriod + 1}),
			"out of range"},
		{"a window with a count", params(engine.Params{Alg: engine.Slide, Limit: 1, Count: 1, Period: 1e9}), "out of range"},
		{"a calendar for another algorithm", params(engine.Params{Alg: engine.Slide, Limit: 1, Calendar: engine.Day}),
			"out of range"},
		{"an unknown calendar", params(engine.Params{Alg: engine.Fixed, Limit: 1, Calendar: engine.Year + 1}),
			"out of range"},
		{"a calendar and a period", params(engine.Params{Alg: engine.Fixed, Limit: 1, Calendar: engine.Day, Period: 1e9}),
			"out of range"},
		{"a need without a group", with(func(op *engine.Op) { *op = engine.Op{Kind: engine.Needs, N: 1} }),
			"outside of a group"},
		{"a need of an unknown space",
			with(func(op *engine.Op) { *op = engine.Op{Kind: engine.Needs, N: 1, DB: 15, Group: 2} }), "lacks"},
		{"a need within a group", needed, "kind 12 and mode 0x0 in a group"},
		{"a box without a guard", params(boxed), "lacks"},
		{"a guard of a limit", with(func(op *engine.Op) { op.Mode = engine.Guard }), "lacks"},
		{"a guard of two", with(func(op *engine.Op) { op.Mode, op.Params, op.N = engine.Guard, boxed, 2 }), "lacks"},
		{"a guard without a group", with(func(op *engine.Op) { op.Mode, op.Params = engine.Guard, boxed }),
			"outside of a group"},
		{"a box without growth", params(engine.Params{Alg: engine.Box, Limit: 1, Count: boxed.Count, Period: boxed.Period}),
			"out of range"},
		{"a box with a calendar", params(engine.Params{Alg: engine.Box, Calendar: 1, Growth: 100, Limit: 1,
			Count: boxed.Count, Period: boxed.Period}), "out of range"},
		{"n negative", with(func(op *engine.Op) { op.N = -1 }), "n is -1"},
		{"n too high", with(func(op *engine.Op) { op.N = engine.MaxN + 1 }), "allowed"},
		{"no key", with(func(op *engine.Op) { op.Key = nil }), "key of 0 bytes"},
		{"a long key", with(func(op *engine.Op) { op.Key = make([]byte, engine.MaxKeyBytes+1) }), "key of 1025 bytes"},
		{"a long id", with(func(op *engine.Op) { op.ID = make([]byte, engine.MaxIDBytes+1) }), "id of 1025 bytes"},
		{"an acquire without id", with(func(op *engine.Op) { op.Kind, op.Params = engine.Acquire, places }), "lacks"},
		{"an acquire of two", with(func(op *engine.Op) {
			op.Kind, op.Params, op.N, op.ID = engine.Acquire, places, 2,
				op.Key
		}), "lacks"},
		{"an acquire with a bucket's parameters", with(func(op *engine.Op) { op.Kind, op.ID = engine.Acquire, op.Key }),
			"lacks"},
		{"a release without id", with(func(op *engine.Op) { op.Kind, op.Params = engine.Release, engine.Params{} }), "lacks"},
		{"an expect in a batch that is not atomic", with(func(op *engine.Op) { op.Kind = engine.Expect }), "not atomic"},
		{"time before the epoch", []step{{-1, false, []engine.Op{{Kind: engine.Flush}}}}, "out of range"},
		{"a truncated group", group(3, 0), "lacks 1 ops"},
		{"a group within a group", group(3, 2, 0), "within"},
		{"a group of more than allowed", group(130), "a group of 130"},
		{"a group with a peek", peeked, "that settle and of others"},
		{"a group with a part", part, "mode 0x1 in a group"},
		{"two modes in a group", both, "mode 0x22 in a group"},
		{"a mode of groups without one", with(func(op *engine.Op) { op.Mode = engine.AnyOf }), "outside of a group"},
	} {
		got, err := decode(encode(tt.steps))
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(got) > 0 {
			t.Errorf("%s: got %+v, error %v, want one with %q", tt.name, got, err, tt.want)
		}
	}
	older := encode(mixed)
	if older[0] != entryGroups {
		t.Errorf("a group with a mode is in version %d", older[0])
	}
	older[0] = entryPlain
	if got, err := decode(older); !errors.Is(err, errGroup) {
		t.Errorf("a group with a mode in version %d: got %+v, error %v", entryPlain, got, err)
	}
}

// TestVersionsOfCalls: entries with calls that older programs do not know have another version,
// so that a cluster refuses them while there are such.
func TestVersionsOfCalls(t *testing.T) {
	for command, want := range map[uint16]int{0: entryPlain, newerCalls - 1: entryPlain, newerCalls: entryGroups,
		3 << 12: entryGroups, onceCalls - 1: entryGroups, onceCalls: entryHolds, idCall: entryIDs, namedCalls - 1: entryHolds,
		namedCalls: entryVersion} {
		var (
			b engine.Batch
			e Entry
		)
		b.Level = 1
		b.AddCall(0).Command = command
		e.Append(1, &b)
		if got := VersionOf(&b); got != want || int(e.Bytes()[0]) != want {
			t.Errorf("call %d: version %d, and %d in the entry, want %d", command, got, e.Bytes()[0], want)
		}
	}
}

// TestOlderGroupOfOne: until version 2 a group of a single op was no group, also with a
// mode.
func TestOlderGroupOfOne(t *testing.T) {
	steps := []step{{1, false,
		[]engine.Op{{Kind: engine.Take, Mode: engine.Shadow, Params: token, N: 1, Key: []byte("k"), Group: 1}}}}
	data := encode(steps)
	data[0] = entryLimits
	got, err := decode(data)
	steps[0].Ops[0].Group = 0
	if err != nil || !reflect.DeepEqual(got, steps) {
		t.Errorf("got %+v, %v, want %+v", got, err, steps)
	}
}

func TestDecodeBytes(t *testing.T) {
	for _, tt := range []struct{ name, hex, want string }{
		{"nothing", "", "empty"},
		{"another version", "08ffff", "format 8, and this limitsrv supports formats up to 7"},
		{"an op without a head", "0147", "is not the head of a batch"},
		{"a head alone", "010f02", "without ops"},
		{"no stamp", "010f", "too early"},
		{"a stamp without end", "010fffffffffffffffffffffff", "too early"},
		{"a stamp that overflows", "010ffeffffffffffffffff0107000f020700", "out of range"},
		{"a head with unknown bits", "014f0207", "is not the head of a batch"},
		{"an empty flags byte", "010f028700", "unknown flags"},
		{"unknown flags", "010f028710", "unknown flags"},
		{"last parameters without any", "010f0250016b", "there are none"},
		{"last but one parameters without any", "010f0260016b", "there are none"},
		{"n of 70 bits", "010f0203ffffffffffffffffffff01016b", "more than 64 bits"},
		{"a truncated key", "010f0244026b", "too early"},
	} {
		data, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decode(data); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %+v, error %v, want one with %q", tt.name, got, err, tt.want)
		}
	}
}

// TestAlgorithmNumbers checks the numbers of algorithms that logs contain.
func TestAlgorithmNumbers(t *testing.T) {
	for i, name := range []string{"TOKEN", "LEAKY", "FIXED", "SLIDE", "LOG", "LEASE", "PENALTY"} {
		if alg, ok := engine.AlgByName([]byte(name)); !ok || int(alg) != i {
			t.Errorf("%s: got algorithm %d, want %d", name, alg, i)
		}
	}
}

// TestDecodeForgets decodes an entry that refers to parameters of the entry decoded
// before.
func TestDecodeForgets(t *testing.T) {
	var d Decoder
	yield := func(engine.Instant, *engine.Batch) error { return nil }
	if err := d.Decode(encode(entryCases[0].steps), yield); err != nil {
		t.Fatal(err)
	}
	if err := d.Decode([]byte("\x01\x0f\x02\x50\x01k"), yield); err == nil {
		t.Error("an entry was decoded with the parameters of another")
	}
}

func TestDecodeYieldError(t *testing.T) {
	stop := errors.New("stop")
	var d Decoder
	calls := 0
	err := d.Decode(encode(entryCases[4].steps), func(engine.Instant, *engine.Batch) error { calls++; return stop })
	if err != stop || calls != 1 {
		t.Errorf("got %v after %d calls, want the error of the first", err, calls)
	}
}

func TestEntryAllocates(t *testing.T) {
	b := takesOf(64)
	var e Entry
	var d Decoder
	yield := func(engine.Instant, *engine.Batch) error { return nil }
	run := func() {
		e.Reset()
		e.AppendChanged(1, b)
		e.Append(2, b)
		if err := d.Decode(e.Bytes(), yield); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations an entry, want 0", n)
	}
}

// takesOf returns a batch of Takes with 22-byte keys. Each of them changed state.
func takesOf(ops int) *engine.Batch {
	b := &engine.Batch{}
	for i := range ops {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Params: token, N: 1, Key: fmt.Appendf(nil, "user:%017d", i)})
		b.Decisions = append(b.Decisions, engine.Decision{Changed: true})
	}
	return b
}

// FuzzDecodeEntry checks that any bytes are rejected, or decode to steps that are equal
// after encoding and decoding them again.
func FuzzDecodeEntry(f *testing.F) {
	for _, tt := range entryCases {
		f.Add(encode(tt.steps))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(encode(first))
		if len(first) > 0 && (err != nil || !reflect.DeepEqual(again, first)) {
			t.Errorf("decoded\n%+v\nand after encoding again\n%+v, %v", first, again, err)
		}
	})
}

// TestDecodeNoise flips and cuts valid entries: no panic, no endless loop.
func TestDecodeNoise(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		data := encode(entryCases[r.IntN(len(entryCases)-1)].steps)
		for range 1 + r.IntN(4) {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		steps, err := decode(data[:1+r.IntN(len(data))])
		if err != nil || len(steps) == 0 {
			continue
		}
		if again, err := decode(encode(steps)); err != nil || !reflect.DeepEqual(again, steps) {
			t.Fatalf("seed %d: decoded\n%+v\nand after encoding again\n%+v, %v", seed, steps, again, err)
		}
	}
}

func BenchmarkEntryAppend(b *testing.B) {
	for _, ops := range []int{1, 64} {
		b.Run(fmt.Sprintf("ops=%d", ops), func(b *testing.B) {
			batch := takesOf(ops)
			var e Entry
			b.ReportAllocs()
			for i := 0; i < b.N; i += ops {
				if e.Len() > 64<<10 {
					e.Reset()
				}
				e.AppendChanged(engine.Instant(i), batch)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	var e Entry
	e.Append(1, takesOf(64))
	var d Decoder
	b.ReportAllocs()
	for i := 0; i < b.N; i += 64 {
		if err := d.Decode(e.Bytes(), func(engine.Instant, *engine.Batch) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// TestVersionsOfAdjusting: a Refund or a Charge of what fits, and a group that settles, are in a
// version that older programs refuse. In entries of those their modes have no meaning, so that a
// log of before is replayed as it was applied.
func TestVersionsOfAdjusting(t *testing.T) {
	for _, kind := range []engine.Kind{engine.Refund, engine.Charge} {
		for _, mode := range []engine.Mode{engine.Fit, engine.Partial} {
			op := engine.Op{Kind: kind, N: 2, Key: []byte("k")}
			plain := encode([]step{{5, false, []engine.Op{op}}})
			op.Mode = mode
			fits := encode([]step{{5, false, []engine.Op{op}}})
			if plain[0] != entryLimits || fits[0] != entryAdjusts {
				t.Errorf("%v: version %d, with mode %#x %d, want %d and %d", kind, plain[0], mode, fits[0], entryLimits,
					entryAdjusts)
			}
			for _, version := range []byte{entryLimits, entryPlain, entryGroups, entryAdjusts} {
				fits[0] = version
				want := engine.Mode(0)
				if version == entryAdjusts {
					want = mode
				}
				if got, err := decode(fits); err != nil || got[0].Ops[0].Mode != want {
					t.Errorf("%v with mode %#x in version %d: %+v, error %v, want mode %#x", kind, mode, version, got, err, want)
				}
			}
		}
	}
	settling := []engine.Op{{Kind: engine.Needs, Group: 3},
		{Kind: engine.Charge, Mode: engine.Fit, N: 1, Key: []byte("k")}, {Kind: engine.Peek, Key: []byte("l")}}
	data := encode([]step{{5, false, settling}})
	if got, err := decode(data); data[0] != entryAdjusts || err != nil || len(got[0].Ops) != 3 {
		t.Errorf("a group that settles: version %d, %+v, error %v", data[0], got, err)
	}
	data[0] = entryGroups
	if got, err := decode(data); err == nil {
		t.Errorf("a group that settles in version %d: %+v", entryGroups, got)
	}
}
