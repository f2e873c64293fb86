package admin

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/beat"
	"limitsrv/internal/histogram"
)

// The history has a sample of each second of the last hour.
const (
	sampleEvery = time.Second
	maxSamples  = 3600
)

// A sample holds the requests and events of about a second, and the state at its end.
type sample struct {
	at              time.Time
	allowed, denied int64 // per second, as are the next three
	shadow          int64 // of the allowed requests, denied in shadow
	evicted         int64 // live keys dropped to make room
	rejected        int64 // decisions rejected because memory was full
	p50, p99        int64 // microseconds; -1: no decisions
	keys, memory    int64
	connections     int64
}

// A reading holds the counters and the state at the same time. The percentiles of its sample
// are not set.
type reading struct {
	sample
	waits histogram.Distribution
}

// newSampler returns the function that reads the counters of the history.
func newSampler(cfg Config) func() reading {
	return func() reading {
		stats := cfg.Handler.Engine().Stats()
		r := reading{waits: cfg.Handler.Stats().Waits(), sample: sample{
			at: time.Now(), evicted: stats.Evicted, rejected: stats.Refused,
			keys: stats.Keys, memory: stats.MemoryBytes, connections: cfg.Traffic().Clients,
		}}
		n := cfg.Handler.Requests()
		r.allowed = n[session.WasAllowed] + n[session.WasShadowDenied] + n[session.WasNoQuorumAllowed]
		r.denied, r.shadow = n[session.WasDenied], n[session.WasShadowDenied]
		return r
	}
}

// difference returns the sample between two readings. Counters that restarted, because
// the state was replaced, count as no events.
func difference(prev, cur reading) sample {
	seconds := cur.at.Sub(prev.at).Seconds()
	rate := func(from, to int64) int64 { return int64(float64(max(0, to-from))/seconds + 0.5) }
	// rounds up, to show a single event
	rateUp := func(from, to int64) int64 { return int64(math.Ceil(float64(max(0, to-from)) / seconds)) }
	s := cur.sample
	s.allowed, s.denied, s.shadow = rate(prev.allowed, cur.allowed), rate(prev.denied, cur.denied),
		rate(prev.shadow, cur.shadow)
	s.evicted, s.rejected = rateUp(prev.evicted, cur.evicted), rateUp(prev.rejected, cur.rejected)
	s.p50, s.p99 = -1, -1
	if waits := cur.waits.Since(prev.waits); waits.Total() > 0 {
		s.p50, s.p99 = ceilMicros(waits.Percentile(500)), ceilMicros(waits.Percentile(990))
	}
	return s
}

// ceilMicros rounds up.
func ceilMicros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

// A history keeps the last samples. Concurrency: any goroutine may use it.
type history struct {
	read func() reading

	mu   sync.Mutex
	ring []sample // once full, the oldest is at next
	next int
}

func newHistory(read func() reading) *history { return &history{read: read} }

// start records samples until the returned function is called, which blocks until
// sampling has ended.
func (h *history) start() (stop func()) {
	return beat.Start(func(ctx context.Context) {
		last := h.read()
		beat.Every(ctx, sampleEvery, func() {
			now := h.read()
			if now.at.After(last.at) {
				h.add(difference(last, now))
				last = now
			}
		})
	})
}

func (h *history) add(s sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ring) < maxSamples {
		h.ring = append(h.ring, s)
		return
	}
	h.ring[h.next] = s
	h.next = (h.next + 1) % maxSamples
}

// since returns the samples after a time, oldest first.
func (h *history) since(millis int64) (all []sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.ring {
		s := h.ring[(h.next+i)%len(h.ring)]
		if s.at.UnixMilli() > millis {
			all = append(all, s)
		}
	}
	return all
}

// columns is the reply to GET /api/history. Its slices are never nil, so that no slice
// becomes null.
type columns struct {
	Time        []int64          `json:"time_ms"`
	Allowed     []int64          `json:"allowed"`
	Denied      []int64          `json:"denied"`
	Shadow      []int64          `json:"shadow_denied"`
	Evicted     []int64          `json:"evicted"`
	Rejected    []int64          `json:"refused_for_memory"`
	P50         []nullableMicros `json:"p50_us"`
	P99         []nullableMicros `json:"p99_us"`
	Keys        []int64          `json:"keys"`
	Memory      []int64          `json:"memory_bytes"`
	Connections []int64          `json:"connections"`
}

// nullableMicros is in microseconds; below 0: null.
type nullableMicros int64

// MarshalJSON writes a number or null.
func (m nullableMicros) MarshalJSON() ([]byte, error) {
	if m < 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(m), 10), nil
}

// serve serves GET /api/history.
func (h *history) serve(w http.ResponseWriter, r *http.Request, _ identity) {
	since := int64(-1)
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = strconv.ParseInt(text, 10, 64); err != nil {
			replyError(w, http.StatusBadRequest, "since must be milliseconds since 1970, got "+strconv.Quote(text))
			return
		}
	}
	samples := h.since(since)
	n := len(samples)
	c := columns{
		make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n),
		make([]nullableMicros, n), make([]nullableMicros, n), make([]int64, n), make([]int64, n), make([]int64, n),
	}
	for i, one := range samples {
		c.Time[i], c.Allowed[i], c.Denied[i] = one.at.UnixMilli(), one.allowed, one.denied
		c.Shadow[i], c.Evicted[i], c.Rejected[i] = one.shadow, one.evicted, one.rejected
		c.P50[i], c.P99[i] = nullableMicros(one.p50), nullableMicros(one.p99)
		c.Keys[i], c.Memory[i], c.Connections[i] = one.keys, one.memory, one.connections
	}
	reply(w, c)
}
