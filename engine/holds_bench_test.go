package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// An openHold is a hold of the benchmark that is not settled.
type openHold struct {
	id uint64
	at Instant
}

// A holdBench keeps a number of holds open on the key "k". Half of each hold's permits are used, and a
// bucket earns the used permits back, so that the marks of the holds differ.
type holdBench struct {
	heldShard
	batch Batch // a call with the key
	takes Batch // a take of benchHeld
	rng   *rand.Rand
	open  []openHold
	ids   uint64
}

const (
	benchHeld  = 20
	benchStep  = 1e6         // between two holds
	benchRound = 8           // holds that are settled, and then replaced, in a round
	benchTTL   = 1_000_000e6 // longer than a benchmark keeps a hold
)

// holdBenchParams has limits that no benchmark reaches.
var holdBenchParams = []Params{
	{Alg: Token, Limit: 1 << 30, Count: benchHeld / 2, Period: benchStep},
	{Alg: Fixed, Limit: MaxLimit, Period: 1e15},
	{Alg: Slide, Limit: MaxLimit, Period: 1e15},
	{Alg: Log, Limit: MaxListed, Period: 20_000 * benchStep},
}

func newHoldBench(p Params) *holdBench {
	x := &holdBench{heldShard: newHeldShard(0), rng: rand.New(rand.NewPCG(1, 2))}
	c := x.batch.AddCall(0)
	c.Args = append(c.Args, []byte("k"))
	x.takes.Ops = []Op{{Params: p, N: benchHeld, Key: []byte("k")}}
	return x
}

// apply applies a call, 0.5 to 1.5 times benchStep after the call before.
func (x *holdBench) apply(do func(tx *Tx)) {
	x.now += benchStep/2 + Instant(x.rng.Int64N(benchStep))
	x.do = do
	x.e.Apply(x.now, &x.batch)
}

func (x *holdBench) take(tx *Tx) { tx.Decide(&x.takes) }

func (x *holdBench) reserve(tx *Tx) {
	x.ids++
	tx.Decide(&x.takes)
	tx.Hold([]byte("k"), Hold{ID: x.ids, N: benchHeld, Stamp: x.now, End: x.now + benchTTL})
	x.open = append(x.open, openHold{x.ids, x.now})
}

// A settleOrder returns the index of the hold to settle next, of n in the order of their stamps.
type settleOrder func(rng *rand.Rand, n int) int

var settleOrders = []struct {
	name string
	next settleOrder
}{
	{"oldest", func(*rand.Rand, int) int { return 0 }},
	{"newest", func(_ *rand.Rand, n int) int { return n - 1 }},
	{"random", func(rng *rand.Rand, n int) int { return rng.IntN(n) }},
}

// BenchmarkHolds settles and replaces holds of a key with many open holds, in rounds of benchRound. It
// reports the time to settle a hold, to take and hold permits, and to take them without a hold. It leaves out the
// slowest hundredth of the rounds, in which other processes ran.
//
//	go test ./engine -run=- -bench=Holds
func BenchmarkHolds(b *testing.B) {
	for _, p := range holdBenchParams {
		for _, order := range settleOrders {
			for _, open := range []int{100, 1_000, 10_000} {
				b.Run(fmt.Sprintf("alg=%v/order=%s/open=%d", p.Alg, order.name, open), func(b *testing.B) {
					benchmarkHolds(b, p, order.next, open)
				})
			}
		}
	}
}

func benchmarkHolds(b *testing.B, p Params, next settleOrder, open int) {
	x := newHoldBench(p)
	for range open {
		x.apply(x.reserve)
	}
	var (
		chosen  [benchRound]openHold
		settled int
		settle  = func(tx *Tx) {
			h := &chosen[settled%benchRound]
			if n, _ := tx.Settle([]byte("k"), Hold{ID: h.id, Stamp: h.at, Keep: benchHeld / 2}); n != 1 {
				b.Fatal("a hold is missing")
			}
			settled++
		}
		steps = [...]struct {
			unit string
			do   func(tx *Tx)
			took []time.Duration // of the rounds
		}{{unit: "ns/settle", do: settle}, {unit: "ns/reserve", do: x.reserve}, {unit: "ns/take", do: x.take}}
	)
	b.ReportAllocs()
	for settled < b.N {
		for i := range chosen {
			n := next(x.rng, len(x.open))
			chosen[i] = x.open[n]
			x.open = slices.Delete(x.open, n, n+1)
		}
		for i := range steps {
			from := time.Now()
			for range benchRound {
				x.apply(steps[i].do)
			}
			steps[i].took = append(steps[i].took, time.Since(from))
		}
	}
	for i := range steps {
		took := steps[i].took
		slices.Sort(took)
		var sum time.Duration
		for _, d := range took[:len(took)-len(took)/100] {
			sum += d
		}
		b.ReportMetric(float64(sum.Nanoseconds())/float64(settled), steps[i].unit)
	}
}
