package commands

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/histogram"
)

// stripes is the number of copies of the counters, on separate cache lines, so that
// sessions on several cores seldom share one.
const stripes = 8

// stats are the counters of INFO.
type stats struct {
	stripes     [stripes][]commandCounts     // by spec.id
	waits       [stripes]histogram.Histogram // latency of each op; never reset
	codes       resp.CodeCounts
	connections atomic.Int64
	rate        throughput // of commands
	inputRate   throughput // of bytes
	outputRate  throughput
	// networkBase is the Network at the last CONFIG RESETSTAT; nil: there was none.
	networkBase atomic.Pointer[Network]
}

// commandCounts are the counters of one command.
type commandCounts struct {
	rejected atomic.Int64 // not executed: arity, login
	failed   atomic.Int64 // executed and answered with an error
	hits     atomic.Int64 // keys that a reading op found
	misses   atomic.Int64
	nanos    atomic.Int64                        // total time of the calls; each call of a batch has an equal share
	latency  atomic.Pointer[histogram.Histogram] // of all calls; nil before the first
}

// took counts calls that took `each` nanoseconds each.
func (c *commandCounts) took(calls, each int64) {
	c.nanos.Add(calls * each)
	h := c.latency.Load()
	for h == nil {
		c.latency.CompareAndSwap(nil, new(histogram.Histogram))
		h = c.latency.Load()
	}
	h.Add(time.Duration(each), calls)
}

func newStats(commands int) *stats {
	s := &stats{}
	for i := range s.stripes {
		s.stripes[i] = make([]commandCounts, commands)
	}
	return s
}

func (s *stats) stripe(session int64) []commandCounts { return s.stripes[session%stripes] }

// commandTotals are the sums of commandCounts over the stripes.
type commandTotals struct{ calls, rejected, failed, hits, misses, nanos int64 }

func (s *stats) command(id int) (t commandTotals) {
	for i := range s.stripes {
		c := &s.stripes[i][id]
		if h := c.latency.Load(); h != nil {
			t.calls += h.Total()
		}
		t.rejected += c.rejected.Load()
		t.failed += c.failed.Load()
		t.hits += c.hits.Load()
		t.misses += c.misses.Load()
		t.nanos += c.nanos.Load()
	}
	return t
}

// latency returns the distribution of a command's call times.
func (s *stats) latency(id int) *histogram.Distribution {
	d := &histogram.Distribution{}
	for i := range s.stripes {
		if h := s.stripes[i][id].latency.Load(); h != nil {
			d.Add(h)
		}
	}
	return d
}

// total sums calls, hits and misses over all commands.
func (s *stats) total() (t commandTotals) {
	for id := range s.stripes[0] {
		c := s.command(id)
		t.calls += c.calls
		t.hits += c.hits
		t.misses += c.misses
	}
	return t
}

func (s *stats) reset() {
	for i := range s.stripes {
		for j := range s.stripes[i] {
			c := &s.stripes[i][j]
			c.rejected.Store(0)
			c.failed.Store(0)
			c.hits.Store(0)
			c.misses.Store(0)
			c.nanos.Store(0)
			c.latency.Store(nil)
		}
	}
	s.codes.Reset()
	s.connections.Store(0)
	s.rate.reset()
	s.inputRate.reset()
	s.outputRate.reset()
}

// A throughput is the rate of a counter between two samples, which are at least
// rateInterval apart; an earlier sample returns the last rate.
type throughput struct {
	mu    sync.Mutex
	at    time.Time
	total int64
	rate  int64
}

const rateInterval = 100 * time.Millisecond

func (r *throughput) sample(now time.Time, total int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() {
		r.at, r.total = now, total
		return 0
	}
	if d := now.Sub(r.at); d >= rateInterval {
		r.rate = int64(float64(total-r.total) / d.Seconds())
		r.at, r.total = now, total
	}
	return r.rate
}

func (r *throughput) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.total, r.rate = time.Time{}, 0, 0
}

// String returns the value of a line of INFO commandstats.
func (t commandTotals) String() string {
	micros := float64(t.nanos) / 1000
	return fmt.Sprintf("calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
		t.calls, micros, micros/float64(max(t.calls, 1)), t.rejected, t.failed)
}
