package topk

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"limitsrv/internal/testing/testwait"
)

// A sighting is a count of a model.
type sighting struct {
	at  int64
	key string
}

// A model counts exactly, by remembering every count.
type model []sighting

// counts returns the count of each key from a time on.
func (m model) counts(from int64) map[string]int64 {
	counts := make(map[string]int64)
	for _, s := range m {
		if s.at >= from {
			counts[s.key]++
		}
	}
	return counts
}

// shards are Windows that count keys by the first bits of their hashes, with the working
// memory that they share.
type shards struct {
	windows []Windows
	scratch Scratch
}

// newShards returns n shards, a power of two.
func newShards(n, keys int) *shards {
	s := &shards{windows: make([]Windows, n)}
	for i := range s.windows {
		s.windows[i] = New(keys, longestKey)
	}
	return s
}

func (s *shards) count(now int64, h uint64, key []byte) {
	n := uint64(len(s.windows))
	s.windows[h%n].Current(now, &s.scratch).Count(h/n*n, 0, key, &s.scratch)
}

func (s *shards) top(now int64, window Window, rows int) (r Result, from int64) {
	q, from := NewQuery(window, now, rows)
	for i := range s.windows {
		q.Read(&s.windows[i], &s.scratch)
		q.Merge()
	}
	return q.Result(), from
}

// TestWindowsBounds counts streams in two shards with a small capacity while time advances
// in steps of all sizes, and compares a Query with exact counts.
func TestWindowsBounds(t *testing.T) {
	testwait.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		var (
			keys = rapid.SampledFrom([]int{16, 32}).Draw(t, "room")
			s    = newShards(2, keys)
			m    model
			now  = rapid.SampledFrom([]int64{0, 1e18, 1e18 + intervalNanos - 1, 1e18 + 7*blockIntervals*intervalNanos}).Draw(t,
				"start")
			short = true
		)
		for range rapid.IntRange(1, 20).Draw(t, "stretches") {
			next := drawKeys(2*keys).Draw(t, "keys")
			for i := range rapid.IntRange(1, 300).Draw(t, "counts") {
				key := next(i)
				s.count(now, hash([]byte(key)), []byte(key))
				m = append(m, sighting{now, key})
				short = short && len(key) <= avgKeyBytes
			}
			if rapid.Bool().Draw(t, "ask") {
				checkTop(t, s, m, now, keys, short)
			}
			now += rapid.SampledFrom([]int64{0, 1e6, 4e9, 9.999e9, intervalNanos, 33e9, 70e9, 290e9, 300e9, 3600e9, 3901e9,
				1e17}).Draw(t, "step")
		}
	})
}

// checkTop compares a Query of shards, each with a capacity of so many keys, with a model.
func checkTop(t *rapid.T, s *shards, m model, now int64, keys int, short bool) {
	window := rapid.SampledFrom([]Window{Minute, Hour}).Draw(t, "window")
	rows := rapid.IntRange(1, 100).Draw(t, "rows")
	got, from := s.top(now, window, rows)
	exact := m.counts(from)
	checkBounds(t, got.Rows, got.Others, exact)
	var total int64
	for _, n := range exact {
		total += n
	}
	if got.Total != total {
		t.Fatalf("total %d, want %d", got.Total, total)
	}
	least, most := int64(60e9), int64(70e9)
	if window == Hour {
		least, most = 3600e9, 3900e9
	}
	if span := now - from; from > 0 && (span < least || span >= most) {
		t.Fatalf("window %d is from %d to %d", window, from, now)
	}
	all, _ := s.top(now, window, 10_000)
	sorted := slices.IsSortedFunc(all.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Key, b.Key))
	})
	if !sorted || !reflect.DeepEqual(got.Rows, all.Rows[:min(rows, len(all.Rows))]) {
		t.Fatalf("%d rows are %+v, all are %+v", rows, got.Rows, all.Rows)
	}
	if short && all.Others*int64(keys/intervalShare+1) > all.Total {
		t.Fatalf("of %d counts, unlisted keys may have %d", all.Total, all.Others)
	}
}

// TestWindowsMemory counts random keys for more than an hour, more than fit in each
// interval, in two Windows for each shard of an engine. It compares the memory with the
// bound documented at engine.Engine.Top.
func TestWindowsMemory(t *testing.T) {
	testwait.Sequential(t)
	for _, tt := range []struct{ shards, keys, keyBytes, most int }{
		{16, 256, 22, 3_900_000}, {16, 256, 64, 5_500_000}, {16, 256, longestKey, 5_500_000}, {1, 4096, 64, 5_500_000},
		{256, 16, 64, 7_000_000},
	} {
		var all []*shards // each with the scratch of an engine's shard
		for range tt.shards {
			all = append(all, newShards(2, tt.keys))
		}
		key, random := make([]byte, tt.keyBytes), uint64(1)
		for i := range int64((hourBlocks + 2) * (minuteIntervals + 1)) {
			now := (i/(minuteIntervals+1)*blockIntervals + i%(minuteIntervals+1)) * intervalNanos
			for range 2 * tt.shards * tt.keys {
				random = random*6364136223846793005 + 1442695040888963407
				h := (random ^ random>>31) * 0x9e3779b97f4a7c15
				s := all[h>>8%uint64(tt.shards)]
				for i := range s.windows {
					s.windows[i].Current(now, &s.scratch).Count(h&^(1<<8-1), 0, key, &s.scratch)
				}
			}
		}
		bytes := 0
		for _, s := range all {
			bytes += s.scratch.memory()
			for i := range s.windows {
				bytes += s.windows[i].memory()
			}
		}
		t.Logf("%d shards, keys of %d bytes: %d bytes", tt.shards, tt.keyBytes, bytes)
		if bytes > tt.most {
			t.Errorf("%d shards, keys of %d bytes: %d bytes, want at most %d", tt.shards, tt.keyBytes, bytes, tt.most)
		}
	}
}

func (l *list) memory() int { return cap(l.rows)*int(unsafe.Sizeof(listRow{})) + cap(l.bytes) }

func (s *Scratch) memory() int { return s.tracked.memory() + s.merged.memory() + 8*cap(s.counts) }

func (p *Windows) memory() int {
	t := &p.counter
	bytes := int(unsafe.Sizeof(*p)) + cap(t.slots)*int(unsafe.Sizeof(slot{})) +
		cap(t.keys)*int(unsafe.Sizeof(trackedKey{})) +
		cap(t.bytes) + 2*cap(t.filter) + p.block.memory()
	for i := range p.minute {
		bytes += p.minute[i].memory()
	}
	for i := range p.hour {
		bytes += p.hour[i].memory()
	}
	return bytes
}
