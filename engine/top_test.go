package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"limitsrv/testwait"
)

// A sighting is one count of a topModel.
type sighting struct {
	at   Instant
	kind TopKind
	key  string
}

// A topModel counts exactly, by remembering every count.
type topModel []sighting

// counts returns the count of each key from a time on.
func (t topModel) counts(kind TopKind, from Instant) map[string]int64 {
	counts := make(map[string]int64)
	for _, s := range t {
		if s.kind == kind && s.at >= from {
			counts[s.key]++
		}
	}
	return counts
}

// checkBounds compares rows with exact counts: all must be within their bounds, and every
// key not listed must have been counted at most others times.
func checkBounds(t interface{ Fatalf(string, ...any) }, rows []TopRow, others int64, exact map[string]int64) {
	listed := make(map[string]bool)
	for _, r := range rows {
		if got := exact[string(r.Key)]; got > r.Count || got < r.Count-r.Error || r.Error < 0 || listed[string(r.Key)] {
			t.Fatalf("%.9q... was counted %d times, listed as %d with an error of %d; twice: %v", r.Key, got, r.Count, r.Error, listed[string(r.Key)])
		}
		listed[string(r.Key)] = true
	}
	for key, n := range exact {
		if n > others && !listed[key] {
			t.Fatalf("%.9q... was counted %d times and is not listed; others is %d", key, n, others)
		}
	}
}

// drawKeys draws a stream of keys that repeat often, rarely or never; the hardest stream
// for the counters is a rotation of slightly more keys than they track.
func drawKeys(most int) *rapid.Generator[func(i int) string] {
	return rapid.Custom(func(t *rapid.T) func(i int) string {
		keys := rapid.SampledFrom([]int{1, 2, most / 2, most - 1, most, most + 1, 2*most + 1, 10 * most}).Draw(t, "keys")
		exponent := rapid.Float64Range(1.01, 2).Draw(t, "exponent")
		salt := rapid.Uint64().Draw(t, "salt")
		long := rapid.SampledFrom([]int{0, 0, 50, 300, MaxKeyBytes - 20}).Draw(t, "length")
		random := func(i int) uint64 { return hashKey{salt, 1}.sum(fmt.Append(nil, i)) }
		name := func(n int) string { return fmt.Sprintf("%d%s", n, bytes.Repeat([]byte{'x'}, long*(n%3)/2)) }
		return rapid.SampledFrom([]func(i int) string{
			func(i int) string { return name(i % keys) },
			func(i int) string { return name(i / 7 % keys) },
			func(i int) string { return name(int(random(i) % uint64(keys))) },
			func(i int) string { return name(i) },
			func(i int) string {
				rank := math.Pow(float64(random(i)>>11)/(1<<53), -1/(exponent-1))
				return name(int(min(rank, float64(10*most))))
			},
			func(i int) string {
				if i%5 == 0 {
					return "hot"
				}
				return name(int(random(i) % uint64(keys)))
			},
		}).Draw(t, "stream")
	})
}

// TestHeavyHittersBounds counts streams with a small capacity: the rows and minCount
// bound the exact counts, and minCount is within its own bound.
func TestHeavyHittersBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const keys = 16
		var (
			counter = newHeavyHitters(keys)
			scratch topScratch
			next    = drawKeys(keys).Draw(t, "keys")
			n       = rapid.IntRange(1, 3000).Draw(t, "counts")
			exact   = make(map[string]int64)
			longest = 0
			memory  = cap(counter.bytes)
		)
		for i := range n {
			key := []byte(next(i))
			exact[string(key)]++
			longest = max(longest, len(key))
			counter.count(hashKey{1, 2}.sum(key)<<4, key, &scratch)
		}
		var list topList
		counter.list(&list)
		checkBounds(t, rowsOf(&list), counter.minCount, exact)
		for key, n := range exact {
			h := hashKey{1, 2}.sum([]byte(key)) << 4
			tracked := counter.slots[counter.seek(h)].count > 0
			if cell := *counter.cell(h) &^ trackedBit; !tracked && n > int64(cell) {
				t.Fatalf("%.9q... was counted %d times and is not tracked, its cell is at %d", key, n, cell)
			}
		}
		tracked := keys
		if longest > avgKeyBytes {
			tracked = max((memory-longest+1)/longest, 1)
		}
		if least := int64(tracked - (tracked-1)/4); counter.minCount*least > int64(n) {
			t.Fatalf("minCount is %d after %d counts, want at most one in %d", counter.minCount, n, least)
		}
		if counter.total != int64(n) || counter.tracked > keys || cap(counter.bytes) != memory || !slices.IsSortedFunc(list.rows, byHash) {
			t.Fatalf("total %d, want %d; %d keys tracked; %d bytes, were %d; %v", counter.total, n, counter.tracked, cap(counter.bytes), memory, list.rows)
		}
	})
}

// TestHeavyHittersBeyondFilter counts keys more often than a cell of the filter can
// count.
func TestHeavyHittersBeyondFilter(t *testing.T) {
	testwait.Sequential(t)
	const keys, times = 16, 3 * trackedBit
	var (
		counter = newHeavyHitters(keys)
		scratch topScratch
		exact   = make(map[string]int64)
	)
	for i := range (keys + 8) * times {
		key := fmt.Appendf(nil, "key %d", i%(keys+8))
		if i%(keys+8) > keys && i > keys*times { // some keys stop
			continue
		}
		exact[string(key)]++
		counter.count(hashKey{1, 2}.sum(key), key, &scratch)
	}
	var list topList
	counter.list(&list)
	checkBounds(t, rowsOf(&list), counter.minCount, exact)
	if counter.minCount <= trackedBit || counter.minCount*(keys*3/4) > counter.total {
		t.Errorf("minCount is %d after %d counts, want it above %d and at most one in %d", counter.minCount, counter.total, trackedBit, keys*3/4)
	}
}

func byHash(a, b topRow) int { return cmp.Compare(a.hash, b.hash) }

func rowsOf(l *topList) (rows []TopRow) {
	for i := range l.rows {
		r := &l.rows[i]
		rows = append(rows, TopRow{l.key(r), r.count, r.error})
	}
	return rows
}

// TestTopBounds applies streams to a small engine while time advances in steps of all
// sizes, and compares Top with exact counts.
func TestTopBounds(t *testing.T) {
	testwait.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		var (
			keys  = rapid.SampledFrom([]int{16, 32}).Draw(t, "room")
			e     = New(Options{Shards: 2, Seed: [16]byte{1}})
			model topModel
			now   = rapid.SampledFrom([]Instant{0, 1e18, 1e18 + intervalNanos - 1, 1e18 + 7*blockIntervals*intervalNanos}).Draw(t, "start")
			b     Batch
			short = true
		)
		for i := range e.shards {
			for kind := range e.shards[i].tops {
				e.shards[i].tops[kind].keys = keys
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "stretches") {
			next := drawKeys(2*keys).Draw(t, "keys")
			limit := rapid.SampledFrom([]int64{1, 3, 1000}).Draw(t, "limit")
			for i := range rapid.IntRange(1, 300).Draw(t, "counts") {
				op := Op{Kind: Take, Key: []byte(next(i)), N: 1, Params: Params{Alg: Fixed, Limit: limit, Period: 100e9}}
				b.Reset()
				b.Ops = append(b.Ops, op)
				e.Apply(now, &b)
				model = append(model, sighting{now, TopHot, string(op.Key)})
				if b.Decisions[0].Allowed == 0 {
					model = append(model, sighting{now, TopDenied, string(op.Key)})
				}
				short = short && len(op.Key) <= avgKeyBytes
			}
			if rapid.Bool().Draw(t, "ask") {
				checkTop(t, e, model, now, keys, short)
			}
			now += rapid.SampledFrom([]Instant{0, 1e6, 4e9, 9.999e9, intervalNanos, 33e9, 70e9, 290e9, 300e9, 3600e9, 3901e9, MaxPeriod}).Draw(t, "step")
			now = min(now, latest)
		}
	})
}

// checkTop compares Top, of an engine with a capacity of so many keys in a shard, with a
// model.
func checkTop(t *rapid.T, e *Engine, model topModel, now Instant, keys int, short bool) {
	kind := rapid.SampledFrom([]TopKind{TopDenied, TopHot}).Draw(t, "kind")
	window := rapid.SampledFrom([]TopWindow{TopMinute, TopHour}).Draw(t, "window")
	count := rapid.IntRange(1, 100).Draw(t, "rows")
	got := e.Top(now, kind, window, count)
	exact := model.counts(kind, got.From)
	checkBounds(t, got.Rows, got.Others, exact)
	var total int64
	for _, n := range exact {
		total += n
	}
	if got.Total != total || got.To != now {
		t.Fatalf("total %d, want %d; to %d, want %d", got.Total, total, got.To, now)
	}
	least, most := 60*Instant(1e9), 70*Instant(1e9)
	if window == TopHour {
		least, most = 3600e9, 3900e9
	}
	if span := now - got.From; got.From > 0 && (span < least || span >= most) {
		t.Fatalf("window %d is from %d to %d", window, got.From, now)
	}
	all := e.Top(now, kind, window, 10_000)
	sorted := slices.IsSortedFunc(all.Rows, func(a, b TopRow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Key, b.Key))
	})
	if !sorted || !reflect.DeepEqual(got.Rows, all.Rows[:min(count, len(all.Rows))]) {
		t.Fatalf("%d rows are %+v, all are %+v", count, got.Rows, all.Rows)
	}
	if short && all.Others*int64(keys/intervalShare+1) > all.Total {
		t.Fatalf("of %d counts, unlisted keys may have %d", all.Total, all.Others)
	}
}

// TestTopListCut cuts lists: the rows kept have the highest counts, as many as fit, and
// the rows dropped have at most minCount.
func TestTopListCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			scratch   topScratch
			from, cut topList
			rows      = rapid.SampledFrom([]int{4, 16, 64}).Draw(t, "room")
			most      = rapid.SampledFrom([]int{avgKeyBytes, 200, MaxKeyBytes}).Draw(t, "key length")
		)
		from.minCount = rapid.Int64Range(0, 3).Draw(t, "minCount")
		for i := range rapid.IntRange(0, 3*rows).Draw(t, "rows") {
			key := make([]byte, rapid.IntRange(1, most).Draw(t, "length"))
			from.add(topRow{hash: uint64(i), count: from.minCount + rapid.Int64Range(1, 9).Draw(t, "count")}, key)
		}
		from.total = rapid.Int64().Draw(t, "total")
		scratch.cut(&cut, &from, rows)
		var dropped, kept []int64
		for i, left := 0, cut.rows; i < len(from.rows); i++ {
			if len(left) > 0 && left[0].hash == from.rows[i].hash {
				kept, left = append(kept, left[0].count), left[1:]
				continue
			}
			dropped = append(dropped, from.rows[i].count)
		}
		if len(kept) != len(cut.rows) || len(kept) > rows || len(cut.bytes) > max(rows*avgKeyBytes, MaxKeyBytes) || cut.total != from.total {
			t.Fatalf("%d rows became %d, of which %d existed, with %d bytes", len(from.rows), len(cut.rows), len(kept), len(cut.bytes))
		}
		if len(dropped) == 0 {
			return
		}
		if highest := slices.Max(dropped); cut.minCount != highest || len(kept) > 0 && slices.Min(kept) < highest {
			t.Fatalf("%d was dropped, and %v kept, with a minCount of %d", dropped, kept, cut.minCount)
		}
		if most == avgKeyBytes && len(kept) < rows {
			t.Fatalf("%d of %d rows were kept, %d fit", len(kept), len(from.rows), rows)
		}
	})
}

// TestTopCounts checks which ops count, and for which key.
func TestTopCounts(t *testing.T) {
	const at = Instant(1e18)
	p := Params{Alg: Fixed, Limit: 2, Period: 1e12}
	take := func(key string, n int64, mode Mode) Op {
		return Op{Kind: Take, Mode: mode, Key: []byte(key), Params: p, N: n}
	}
	lease := Op{Kind: Acquire, Key: []byte("a"), Params: Params{Alg: Lease, Limit: 1, Period: 1e12}, N: 1, ID: []byte("1")}
	other := lease
	other.ID = []byte("2")
	group := func(ops ...Op) []Op {
		ops[0].Group = uint8(len(ops))
		return ops
	}
	for _, tt := range []struct {
		name        string
		batches     [][]Op
		hot, denied string
	}{
		{"a request once, however many permits", [][]Op{{take("a", 2, 0)}}, "a=1", ""},
		{"a denial", [][]Op{{take("a", 3, 0)}}, "a=1", "a=1"},
		{"a denial under shadow", [][]Op{{take("a", 3, Shadow)}}, "a=1", "a=1"},
		{"a part", [][]Op{{take("a", 3, Partial)}, {take("a", 3, Partial)}}, "a=2", "a=1"},
		{"not a read-only op", [][]Op{{take("a", 0, 0), {Kind: Peek, Key: []byte("a")}}}, "", ""},
		{"not a charge or refund", [][]Op{{{Kind: Charge, Key: []byte("a"), N: 1}, {Kind: Refund, Key: []byte("a"), N: 1}}}, "", ""},
		{"not another algorithm's key", [][]Op{{lease}, {take("a", 1, 0)}}, "a=1", ""},
		{"leases", [][]Op{{lease, lease, other}}, "a=3", "a=1"},
		{"each of a group", [][]Op{group(take("a", 1, 0), take("b", 1, 0))}, "a=1 b=1", ""},
		{"the denying limits of a group", [][]Op{group(take("a", 1, 0), take("b", 3, 0))}, "a=1 b=1", "b=1"},
		{"not a read-only op in a group", [][]Op{group(take("a", 1, 0), take("b", 0, 0))}, "a=1", ""},
		{"a flushed key", [][]Op{{take("a", 3, 0)}, {{Kind: Flush}}}, "a=1", "a=1"},
		{"a forgotten key", [][]Op{{take("a", 1, 0)}, {{Kind: Forget, Key: []byte("a")}}}, "a=1", ""},
		{"the most first, then by key", [][]Op{{take("b", 1, 0), take("c", 1, 0), take("a", 1, 0), take("c", 1, 0)}}, "c=2 a=1 b=1", ""},
	} {
		e := New(Options{})
		for _, ops := range tt.batches {
			e.Apply(at, &Batch{Ops: ops})
		}
		for kind, want := range map[TopKind]string{TopHot: tt.hot, TopDenied: tt.denied} {
			for _, window := range []TopWindow{TopMinute, TopHour} {
				got := e.Top(at, kind, window, 10)
				var text []byte
				for _, r := range got.Rows {
					text = fmt.Appendf(text, "%s=%d ", r.Key, r.Count)
				}
				if string(bytes.TrimSpace(text)) != want || got.Others != 0 {
					t.Errorf("%s: kind %d, window %d: Top is %q, others %d, want %q", tt.name, kind, window, text, got.Others, want)
				}
			}
		}
	}
}

// TestTopTime queries a key that was counted once as time advances, jumps, and after a
// query for a later time.
func TestTopTime(t *testing.T) {
	const at = Instant(1e18 + 5e9)
	for _, tt := range []struct {
		name         string
		asked        Instant // when Top is asked
		applied      Instant // when another op was applied before that; 0: none
		minute, hour bool    // whether it is listed
	}{
		{"at once", at, 0, true, true},
		{"asked about an earlier time", 1, 0, true, true},
		{"a minute later", at + 60e9, at + 60e9, true, true},
		{"a minute later, without ops since", at + 60e9, 0, true, true},
		{"before its ten seconds are a minute old", 1e18 + 70e9 - 1, at + 60e9, true, true},
		{"when its ten seconds are a minute old", 1e18 + 70e9, at + 70e9, false, true},
		{"the same, without ops since", 1e18 + 70e9, 0, false, true},
		{"an hour later", at + 3600e9, at + 600e9, false, true},
		{"an hour later, without ops since", at + 3600e9, 0, false, true},
		{"before its five minutes are an hour old", 1e18 + 3800e9 - 1, at + 3600e9, false, true},
		{"when its five minutes are an hour old", 1e18 + 3800e9, at + 3600e9, false, false},
		{"the same, without ops since", 1e18 + 3800e9, 0, false, false},
		{"at the end of time", math.MaxInt64, 0, false, false},
		{"after the end of time", at, math.MaxInt64, false, false},
		{"after a query for a later time", at + 1, -1, true, true},
	} {
		e := New(Options{Shards: 1})
		take := func(at Instant, key string) {
			op := Op{Kind: Take, Key: []byte(key), Params: Params{Alg: Fixed, Limit: 2, Period: 1e12}, N: 1}
			e.Apply(at, &Batch{Ops: []Op{op}})
		}
		take(at, "a")
		switch {
		case tt.applied > 0:
			take(tt.applied, "b")
		case tt.applied < 0:
			e.Top(at+1e15, TopHot, TopHour, 10)
		}
		for window, want := range map[TopWindow]bool{TopMinute: tt.minute, TopHour: tt.hour} {
			got := e.Top(tt.asked, TopHot, window, 10)
			listed := slices.ContainsFunc(got.Rows, func(r TopRow) bool { return string(r.Key) == "a" && r.Count == 1 && r.Error == 0 })
			if listed != want {
				t.Errorf("%s: window %d: from %d to %d Top is %+v, want the key listed: %v", tt.name, window, got.From, got.To, got.Rows, want)
			}
		}
	}
}

// TestTopMemory counts random keys for more than an hour, more than fit in each interval,
// and compares the memory with the bound documented at Top.
func TestTopMemory(t *testing.T) {
	testwait.Sequential(t)
	for _, tt := range []struct{ shards, keyBytes, most int }{
		{16, 22, 3_900_000}, {16, 64, 5_500_000}, {16, MaxKeyBytes, 5_500_000}, {1, 64, 5_500_000}, {256, 64, 7_000_000},
	} {
		e := New(Options{Shards: tt.shards})
		key, random := make([]byte, tt.keyBytes), uint64(1)
		for i := range Instant((hourBlocks + 2) * (minuteIntervals + 1)) {
			now := (i/(minuteIntervals+1)*blockIntervals + i%(minuteIntervals+1)) * intervalNanos
			for range 2 * trackedKeys {
				random = random*6364136223846793005 + 1442695040888963407
				h := hashKey{random, 2}.sum(nil)
				s := &e.shards[h>>(64-e.bits)]
				for kind := range s.tops {
					s.tops[kind].current(now, &s.topScratch).count(h<<e.bits, key, &s.topScratch)
				}
			}
		}
		bytes := 0
		for i := range e.shards {
			s := &e.shards[i]
			bytes += s.topScratch.memory()
			for kind := range s.tops {
				bytes += s.tops[kind].memory()
			}
		}
		t.Logf("%d shards, keys of %d bytes: %d bytes", tt.shards, tt.keyBytes, bytes)
		if bytes > tt.most {
			t.Errorf("%d shards, keys of %d bytes: %d bytes, want at most %d", tt.shards, tt.keyBytes, bytes, tt.most)
		}
	}
}

func (l *topList) memory() int { return cap(l.rows)*int(unsafe.Sizeof(topRow{})) + cap(l.bytes) }

func (s *topScratch) memory() int { return s.tracked.memory() + s.merged.memory() + 8*cap(s.counts) }

func (p *topWindows) memory() int {
	t := &p.counter
	bytes := int(unsafe.Sizeof(*p)) + cap(t.slots)*int(unsafe.Sizeof(hitterSlot{})) + cap(t.keys)*int(unsafe.Sizeof(hitterKey{})) +
		cap(t.bytes) + 2*cap(t.filter) + p.block.memory()
	for i := range p.minute {
		bytes += p.minute[i].memory()
	}
	for i := range p.hour {
		bytes += p.hour[i].memory()
	}
	return bytes
}
