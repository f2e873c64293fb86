package topk

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"limitsrv/internal/testing/testwait"
)

// longestKey is the length of the longest keys counted.
const longestKey = 1024

// hash returns the 64 bits that identify a key.
func hash(key []byte) uint64 {
	h := fnv.New64a()
	h.Write(key)
	return h.Sum64() * 0x9e3779b97f4a7c15
}

// checkBounds compares rows with exact counts: all must be within their bounds, and every
// key not listed must have been counted at most others times.
func checkBounds(t interface{ Fatalf(string, ...any) }, rows []Row, others int64, exact map[string]int64) {
	listed := make(map[string]bool)
	for _, r := range rows {
		if got := exact[string(r.Key)]; got > r.Count || got < r.Count-r.Error || r.Error < 0 || listed[string(r.Key)] {
			t.Fatalf("%.9q... was counted %d times, listed as %d with an error of %d; twice: %v", r.Key, got, r.Count, r.Error,
				listed[string(r.Key)])
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
		long := rapid.SampledFrom([]int{0, 0, 50, 300, longestKey - 20}).Draw(t, "length")
		random := func(i int) uint64 { return hash(fmt.Append(nil, salt, i)) }
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

// TestCounterBounds counts streams with a small capacity: the rows and minCount
// bound the exact counts, and minCount is within its own bound.
func TestCounterBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const keys = 16
		var (
			counter = newCounter(keys)
			scratch Scratch
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
			counter.Prefetch(hash(key) << 4)
			counter.Count(hash(key)<<4, 0, key, &scratch)
		}
		var counts list
		counter.listTo(&counts)
		checkBounds(t, rowsOf(&counts), counter.minCount, exact)
		for key, n := range exact {
			h := hash([]byte(key)) << 4
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
		if counter.total != int64(n) || counter.tracked > keys || cap(counter.bytes) != memory ||
			!slices.IsSortedFunc(counts.rows, byHash) {
			t.Fatalf("total %d, want %d; %d keys tracked; %d bytes, were %d; %v", counter.total, n, counter.tracked,
				cap(counter.bytes), memory, counts.rows)
		}
	})
}

// TestCounterBeyondFilter counts keys more often than a cell of the filter can
// count.
func TestCounterBeyondFilter(t *testing.T) {
	testwait.Sequential(t)
	const keys, times = 16, 3 * trackedBit
	var (
		counter = newCounter(keys)
		scratch Scratch
		exact   = make(map[string]int64)
	)
	for i := range (keys + 8) * times {
		key := fmt.Appendf(nil, "key %d", i%(keys+8))
		if i%(keys+8) > keys && i > keys*times { // some keys stop
			continue
		}
		exact[string(key)]++
		counter.Count(hash(key), 0, key, &scratch)
	}
	var counts list
	counter.listTo(&counts)
	checkBounds(t, rowsOf(&counts), counter.minCount, exact)
	if counter.minCount <= trackedBit || counter.minCount*(keys*3/4) > counter.total {
		t.Errorf("minCount is %d after %d counts, want it above %d and at most one in %d", counter.minCount, counter.total,
			trackedBit, keys*3/4)
	}
}

func byHash(a, b listRow) int { return cmp.Compare(a.hash, b.hash) }

func rowsOf(l *list) (rows []Row) {
	for i := range l.rows {
		r := &l.rows[i]
		rows = append(rows, Row{l.key(r), r.count, r.error, r.tag})
	}
	return rows
}

// TestListCut cuts lists: the rows kept have the highest counts, as many as fit, and
// the rows dropped have at most minCount.
func TestListCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			scratch   Scratch
			from, cut list
			rows      = rapid.SampledFrom([]int{4, 16, 64}).Draw(t, "room")
			most      = rapid.SampledFrom([]int{avgKeyBytes, 200, longestKey}).Draw(t, "key length")
		)
		from.minCount = rapid.Int64Range(0, 3).Draw(t, "minCount")
		for i := range rapid.IntRange(0, 3*rows).Draw(t, "rows") {
			key := make([]byte, rapid.IntRange(1, most).Draw(t, "length"))
			from.add(listRow{hash: uint64(i), count: from.minCount + rapid.Int64Range(1, 9).Draw(t, "count")}, key)
		}
		from.total = rapid.Int64().Draw(t, "total")
		scratch.cut(&cut, &from, rows, longestKey)
		var dropped, kept []int64
		for i, left := 0, cut.rows; i < len(from.rows); i++ {
			if len(left) > 0 && left[0].hash == from.rows[i].hash {
				kept, left = append(kept, left[0].count), left[1:]
				continue
			}
			dropped = append(dropped, from.rows[i].count)
		}
		if len(kept) != len(cut.rows) || len(kept) > rows || len(cut.bytes) > max(rows*avgKeyBytes, longestKey) ||
			cut.total != from.total {
			t.Fatalf("%d rows became %d, of which %d existed, with %d bytes", len(from.rows), len(cut.rows), len(kept),
				len(cut.bytes))
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
