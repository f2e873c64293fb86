package engine_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

const (
	traceKeys   = 1000
	traceLimit  = 100
	traceWindow = 60 * second
	traceLength = 900 * second
)

// A request is a request of a trace, in ns from its start.
type request struct {
	at  int64
	key int
}

// poissonTrace returns keys with requests at random times, at a rate of their own: few of
// them above the limit.
func poissonTrace(r *rand.Rand) []request {
	var all []request
	for key := range traceKeys {
		mean := float64(traceWindow) / (traceLimit * (0.5 + 0.6*r.Float64()))
		for at := exponential(r, mean); at < traceLength; at += exponential(r, mean) {
			all = append(all, request{at, key})
		}
	}
	return byTime(all)
}

// burstyTrace returns keys that are silent for a window on average, then request twice
// the limit for half a window on average.
func burstyTrace(r *rand.Rand) []request {
	var all []request
	for key := range traceKeys {
		for at := int64(0); at < traceLength; {
			at += exponential(r, float64(traceWindow))
			end := at + exponential(r, float64(traceWindow)/2)
			for ; at < end && at < traceLength; at += exponential(r, float64(traceWindow)/(2*traceLimit)) {
				all = append(all, request{at, key})
			}
		}
	}
	return byTime(all)
}

// exponential returns the time to the next of random events, mean apart.
func exponential(r *rand.Rand, mean float64) int64 { return int64(r.ExpFloat64() * mean) }

func byTime(all []request) []request {
	slices.SortFunc(all, func(a, b request) int { return cmp.Compare(a.at, b.at) })
	return all
}

// TestTraces counts the decisions of the sliding and of the fixed counter that differ from
// the decisions of the exact log, each running on a state of its own.
func TestTraces(t *testing.T) {
	testwait.Sequential(t)
	for _, tt := range []struct {
		name  string
		trace func(*rand.Rand) []request
		most  float64 // of the decisions of SLIDE may differ
	}{
		{"Poisson", poissonTrace, 0.05},
		{"bursty", burstyTrace, 0.25},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := compareTrace(tt.trace(rand.New(rand.NewPCG(1, 2))))
			t.Logf("%d requests, LOG denies %.2f %%", c.requests, 100*c.share(c.denied))
			for _, a := range []engine.Alg{engine.Slide, engine.Fixed} {
				t.Logf("%v: %.3f %% differ (only here allowed %.3f %%, only here denied %.3f %%), allowed %+.3f %% of the "+
					"requests in total",
					a, 100*c.wrong(a), 100*c.share(c.extraAllowed[a]), 100*c.share(c.extraDenied[a]),
					100*c.share(c.extraAllowed[a]-c.extraDenied[a]))
			}
			if denied := c.share(c.denied); denied < 0.01 || denied > 0.5 {
				t.Errorf("LOG denies %.3f of the requests, want 0.01 to 0.5", denied)
			}
			slide, fixed := c.wrong(engine.Slide), c.wrong(engine.Fixed)
			if slide == 0 || slide > tt.most || slide > 0.95*fixed {
				t.Errorf("SLIDE differs in %.4f of its decisions, FIXED in %.4f; want at most %.2f, and less than FIXED", slide,
					fixed, tt.most)
			}
			if more := c.share(c.extraAllowed[engine.Slide] - c.extraDenied[engine.Slide]); more < 0 ||
				more > 0.3*c.share(c.denied) {
				t.Errorf("SLIDE grants %.4f of the requests more, LOG denies %.4f", more, c.share(c.denied))
			}
		})
	}
}

// A comparison counts decisions, and by algorithm those that differ from LOG's.
type comparison struct {
	requests, denied          int
	extraAllowed, extraDenied [len(engine.Stats{}.Allowed)]int
}

func (c *comparison) share(n int) float64 { return float64(n) / float64(c.requests) }

func (c *comparison) wrong(a engine.Alg) float64 {
	return c.share(c.extraAllowed[a] + c.extraDenied[a])
}

func compareTrace(trace []request) *comparison {
	compared := []engine.Alg{engine.Log, engine.Slide, engine.Fixed}
	keys := make([][][]byte, len(compared))
	for i, a := range compared {
		for key := range traceKeys {
			keys[i] = append(keys[i], strconv.AppendInt([]byte(a.String()), int64(key), 10))
		}
	}
	e := engine.New(engine.Options{})
	start := instant("2025-06-15T12:00:00Z")
	c := &comparison{requests: len(trace)}
	var b engine.Batch
	for _, r := range trace {
		b.Reset()
		for i, a := range compared {
			p := engine.Params{Alg: a, Limit: traceLimit, Period: traceWindow}
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: keys[i][r.key], Params: p, N: 1})
		}
		e.Apply(start+engine.Instant(r.at), &b)
		exact := b.Decisions[0].Allowed
		c.denied += int(1 - exact)
		for i, a := range compared {
			switch d := b.Decisions[i].Allowed; {
			case d > exact:
				c.extraAllowed[a]++
			case d < exact:
				c.extraDenied[a]++
			}
		}
	}
	return c
}
