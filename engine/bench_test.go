package engine

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// benchParams are the parameters of a bucket that stays full during a test.
var benchParams = Params{Alg: Token, Limit: 1000, Count: 1, Period: 1e12}

// fill takes a permit of each of n 22-byte keys and returns the keys.
func fill(e *Engine, p Params, n int) [][]byte {
	keys := make([][]byte, n)
	b := &Batch{}
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key:%018d", i)
		b.Ops = append(b.Ops, Op{Kind: Take, Params: p, N: 1, Key: keys[i]})
		if len(b.Ops) == 64 || i == n-1 {
			e.Apply(1e18, b)
			b.Reset()
		}
	}
	return keys
}

// resetParams are the parameters of a bucket that is full again before its key's next use,
// unless there are few keys.
var resetParams = Params{Alg: Token, Limit: 100, Count: 10, Period: 1e9}

// BenchmarkTake takes from random keys in batches of 64. The keys are rewritten for each
// batch, as in a read buffer, so that only the table is cold.
//
//	go test ./engine -run=- -bench=Take
func BenchmarkTake(b *testing.B) {
	for _, p := range []Params{benchParams, resetParams, {Alg: Log, Limit: 100, Period: 1e10}} {
		for _, n := range []int{1_000, 1_000_000} {
			for _, shards := range []int{16, 64} {
				b.Run(fmt.Sprintf("alg=%v/limit=%d/keys=%d/shards=%d", p.Alg, p.Limit, n, shards), func(b *testing.B) {
					benchmarkTake(b, p, n, shards)
				})
			}
		}
	}
}

func benchmarkTake(b *testing.B, p Params, n, shards int) {
	e := New(Options{Shards: shards})
	key := append([]byte(nil), fill(e, p, n)[0]...)
	batch := &Batch{}
	keys := bytes.Repeat(key, 64)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += 64 {
		batch.Reset()
		for j := range 64 {
			k := keys[j*len(key) : (j+1)*len(key)]
			for at, x := len(k)-1, rand.Intn(n); x > 0; at, x = at-1, x/10 {
				k[at] = '0' + byte(x%10)
			}
			batch.Ops = append(batch.Ops, Op{Kind: Take, Params: p, N: 1, Key: k})
		}
		e.Apply(Instant(1e18+1000*i), batch)
	}
	b.ReportMetric(float64(e.Stats().MemoryBytes)/float64(n), "B/key")
}

// BenchmarkGrowth inserts ten million keys one at a time and reports the slowest
// insertion after the first million. The table grows at the same keys in each of three
// runs, so that the minimum of a key's times is the cost of growth, without interference
// of the machine.
//
//	go test ./engine -run=- -bench=Growth -benchtime=1x
func BenchmarkGrowth(b *testing.B) {
	const keys, first = 10_000_000, 1_000_000
	for range b.N {
		least := make([]time.Duration, keys)
		for run := range 3 {
			e := New(Options{})
			batch := &Batch{Ops: []Op{{Kind: Take, Params: benchParams, N: 1, Key: []byte("key:000000000000000000")}}}
			key := batch.Ops[0].Key
			for i := range least {
				for at, x := len(key)-1, i; x > 0; at, x = at-1, x/10 {
					key[at] = '0' + byte(x%10)
				}
				start := time.Now()
				e.Apply(1e18, batch)
				if took := time.Since(start); run == 0 || took < least[i] {
					least[i] = took
				}
			}
		}
		slowest := slices.Sorted(slices.Values(least[first:]))
		b.ReportMetric(float64(slowest[len(slowest)-1].Microseconds()), "µs-max")
		b.ReportMetric(float64(slowest[len(slowest)/1000*999].Nanoseconds())/1000, "µs-p99.9")
	}
}

func TestApplyAllocatesNothing(t *testing.T) {
	testwait.Sequential(t)
	box := Penalty{After: 3, Within: second, Block: second, Growth: 150, Max: 9 * second, Forgive: second}
	for alg := range limits {
		e := New(Options{})
		p := Params{Alg: alg, Limit: 5, Count: 1, Period: 1e9}
		batch, now := &Batch{}, Instant(1e18)
		key, ids := []byte("some key of mine"), []byte("abcdefghijklmnopqrstuvwxyz")
		apply := func() {
			batch.Reset()
			for i := range 64 {
				op := Op{Kind: Take, Params: p, N: 1, Key: key[:1+i%8], ID: ids[:i%len(ids)]}
				switch {
				case alg == Lease:
					op.Kind = Acquire
				case alg == Box && i%4 == 0:
					op.Params, op.Mode, op.Group = box.Params(), Guard, 4
				case alg == Box: // members of groups with boxes
					op.Key, op.Params.Alg, op.Mode = key[8:9+i%4], Token, [...]Mode{0, AnyOf, Shadow}[i%4-1]
				}
				batch.Ops = append(batch.Ops, op)
			}
			now += 1e8
			e.Apply(now, batch)
		}
		for range 1000 {
			apply()
		}
		if n := testing.AllocsPerRun(1000, apply); n > 0 {
			t.Errorf("%v: a batch of 64 allocates %v times", alg, n)
		}
	}
}
