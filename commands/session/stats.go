package session

import (
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/engine"
	"limitsrv/internal/histogram"
)

// stripes is the number of copies of the counters, on separate cache lines, so that
// sessions on several cores seldom share a line.
const stripes = 8

// Stats are the counters of INFO. Concurrency: any number of goroutines may use them.
type Stats struct {
	stripes     [stripes][]commandCounts     // by Spec.ID
	waits       [stripes]histogram.Histogram // latency of each op; never reset
	codes       resp.CodeCounts
	connections atomic.Int64
	rate        throughput // of commands
	inputRate   throughput // of bytes
	outputRate  throughput
	network     func() Network // since the start
	scripted    scripted
	others      [stripes][protocols]outcomeCounts // requests of other protocols
	next        atomic.Uint32                     // the stripe of the next of them
	// dear are the ops in waits of sessions that have sent a slow batch in the last dearFor.
	dear atomic.Int64
	// networkBase is the Network at the last Reset; nil: there was no Reset.
	networkBase atomic.Pointer[Network]
}

// commandCounts are the counters of a command.
type commandCounts struct {
	rejected atomic.Int64 // not executed: arity, login
	failed   atomic.Int64 // executed and answered with an error
	hits     atomic.Int64 // keys that a reading op found
	misses   atomic.Int64
	nanos    atomic.Int64                        // total time of the calls; each call of a batch has an equal share
	latency  atomic.Pointer[histogram.Histogram] // of all calls; nil before the first
	requests atomic.Pointer[outcomeCounts]       // of a command that Decides; nil before the first
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

// scripted has the counts of calls by scripts.
type scripted struct {
	engine  func() *engine.Engine
	numbers map[int]int // for engine.Engine.CommandCount, by Spec.ID
}

// count returns the calls of a command by scripts.
func (x *scripted) count(id int) engine.CommandCount {
	number, counted := x.numbers[id]
	if !counted {
		return engine.CommandCount{}
	}
	return x.engine().CommandCount(number)
}

func (x *scripted) reset() {
	if len(x.numbers) > 0 {
		x.engine().ResetCommandCounts()
	}
}

func newStats(commands int, network func() Network) *Stats {
	s := &Stats{network: network}
	for i := range s.stripes {
		s.stripes[i] = make([]commandCounts, commands)
	}
	return s
}

func (s *Stats) stripe(session int64) []commandCounts { return s.stripes[session%stripes] }

// Totals are the counters of a command or of all commands, since the start or the last
// Reset.
type Totals struct {
	Calls    int64 // executed, with or without an error
	Rejected int64 // not executed: arity, login, loading
	Failed   int64 // of Calls: answered with an error
	Hits     int64 // keys that a reading op found
	Misses   int64
	Nanos    int64 // total time of the calls, without those by scripts
}

// Command returns the totals of the command with that Spec.ID, including calls by scripts.
func (s *Stats) Command(id int) (t Totals) {
	for i := range s.stripes {
		c := &s.stripes[i][id]
		if h := c.latency.Load(); h != nil {
			t.Calls += h.Total()
		}
		t.Rejected += c.rejected.Load()
		t.Failed += c.failed.Load()
		t.Hits += c.hits.Load()
		t.Misses += c.misses.Load()
		t.Nanos += c.nanos.Load()
	}
	n := s.scripted.count(id)
	t.Calls += n.Calls
	t.Rejected += n.Rejected
	t.Failed += n.Failed
	return t
}

// Latency returns the distribution of a command's call times.
func (s *Stats) Latency(id int) *histogram.Distribution {
	d := &histogram.Distribution{}
	for i := range s.stripes {
		if h := s.stripes[i][id].latency.Load(); h != nil {
			d.Add(h)
		}
	}
	return d
}

// Waits returns the latencies of ops since the start, each from the hand-over of its
// batch to the Exec until its decisions are there.
func (s *Stats) Waits() histogram.Distribution {
	var w histogram.Distribution
	for i := range s.waits {
		w.Add(&s.waits[i])
	}
	return w
}

// countOthers returns the number of requests of clients that have not sent slow batches lately, for
// turns. It may be too low for a moment. Cost: some thousand atomic reads.
func (s *Stats) countOthers() (n int64) {
	for i := range s.waits {
		n += s.waits[i].Total()
		for p := range s.others[i] {
			for o := range s.others[i][p] {
				n += s.others[i][p][o].Load()
			}
		}
	}
	return n - s.dear.Load() // read after the waits, and counted before them
}

// Errors returns the error replies by code word.
func (s *Stats) Errors() map[string]int64 { return s.codes.Get() }

// Connections returns the number of connections.
func (s *Stats) Connections() int64 { return s.connections.Load() }

// Network returns the counts of the transport since the last Reset.
func (s *Stats) Network() Network {
	n := s.network()
	if from := s.networkBase.Load(); from != nil {
		n.Rejected -= from.Rejected
		n.RejectedHTTP -= from.RejectedHTTP
		n.InputBytes -= from.InputBytes
		n.OutputBytes -= from.OutputBytes
	}
	return n
}

// Rates are per second.
type Rates struct{ Commands, InputBytes, OutputBytes int64 }

// Rates returns the rates of growth of calls and of the bytes of n between the last calls
// of Rates.
func (s *Stats) Rates(calls int64, n Network) Rates {
	now := time.Now()
	return Rates{s.rate.sample(now, calls), s.inputRate.sample(now, n.InputBytes), s.outputRate.sample(now, n.OutputBytes)}
}

// Total sums calls, hits and misses over all commands.
func (s *Stats) Total() (t Totals) {
	for id := range s.stripes[0] {
		c := s.Command(id)
		t.Calls += c.Calls
		t.Hits += c.Hits
		t.Misses += c.Misses
	}
	return t
}

// Reset is CONFIG RESETSTAT: it sets all counters to zero, except the counters of Waits and of
// requests.
func (s *Stats) Reset() {
	carried := s.network()
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
	s.scripted.reset()
	s.codes.Reset()
	s.connections.Store(0)
	s.rate.reset()
	s.inputRate.reset()
	s.outputRate.reset()
	s.networkBase.Store(&carried)
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
