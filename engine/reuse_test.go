package engine

import (
	"fmt"
	"testing"
)

// TestReuse asks for keys that reset in a tenth of a second, each once, and then for a few
// again and again: their records are left only while that pays.
func TestReuse(t *testing.T) {
	const (
		perSecond = 1000
		few       = 2 * perSecond
		second    = Instant(1e9)
	)
	var (
		e    = New(Options{Shards: 1})
		b    = &Batch{}
		now  = Instant(1e18)
		keys = 0 // asked for once
		ask  = func(key string) {
			now += second / perSecond
			b.Reset()
			b.Ops = append(b.Ops, Op{Kind: Take, Params: Params{Alg: Token, Limit: 10, Count: 10, Period: 1e9}, N: 1,
				Key: []byte(key)})
			e.Apply(now, b)
		}
		once = func(lasting Instant) {
			for end := now + lasting; now < end; keys++ {
				ask(fmt.Sprint("once", keys))
			}
		}
		again = func(lasting Instant) {
			for end := now + lasting; now < end; {
				ask(fmt.Sprint("again", int(now/(second/perSecond))%few))
			}
		}
		held = func() int64 {
			e.Sweep(now, 10_000)
			return e.Len()
		}
	)
	once(reuseTime)
	if got := held(); got != perSecond*int64(reuseTime/second) {
		t.Errorf("%d records of keys asked for once are left in the trial, want all", got)
	}
	once(2 * reuseTime)
	if got := held(); got > perSecond/5 {
		t.Errorf("%d records of keys asked for once are left after it, want those of a tenth of a second", got)
	}
	again(reuseTime)
	if got := held(); got > perSecond/5 {
		t.Errorf("%d records are left before the next trial, want those of a tenth of a second", got)
	}
	again(reuseTrial)
	if got := held(); got != few {
		t.Errorf("%d records of %d keys asked for again and again are left", got, few)
	}
	again(3 * reuseTime)
	if got := held(); got != few {
		t.Errorf("%d records of %d keys asked for again and again are left later", got, few)
	}
}
