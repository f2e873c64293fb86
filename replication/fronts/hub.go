package fronts

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
)

const (
	// maxQueued bounds the bytes of the messages that wait for a front. Further messages are dropped.
	// In a reply, in base64, that many fit.
	maxQueued = 16 << 20
	// messageBytes is the memory of a message beside its channel and its text.
	messageBytes = 64
	// maxGrown bounds the lists that wait for a front. With more, any list may have grown.
	maxGrown = 1000
	// forgetAfter is the time after which a front that does not call is forgotten.
	forgetAfter = 5 * time.Second
	// countsEvery is the least time between two answers with Counts.
	countsEvery = 500 * time.Millisecond
)

// A Hub has the fronts that watch this node, and their news. Concurrency: any goroutine.
type Hub struct {
	o       Options
	active  atomic.Int64  // fronts
	changes atomic.Uint64 // engine.TextChanges when fronts were last woken

	mu     sync.Mutex
	fronts map[string]*front
}

// Options configure a Hub. All fields are required, but for Notices.
type Options struct {
	Engine  func() *engine.Engine
	Notices *engine.Notices
	Hold    time.Duration // the longest time until a Watch is answered
}

// A front is the state of a front at this node. The mutex of the hub guards it.
type front struct {
	wake    chan struct{}
	calls   int       // Watch calls in progress
	since   time.Time // when calls became 0
	lists   bool
	changes uint64 // engine.TextChanges that it knows
	counted time.Time

	messages []Message
	bytes    int
	grown    []engine.Growth
	missed   bool
}

// New returns a [Hub] without fronts. If o.Notices is set, the Hub becomes its Relay.
func New(o Options) *Hub {
	h := &Hub{o: o, fronts: make(map[string]*front)}
	if o.Notices != nil {
		o.Notices.HandleRelay(&engine.Relay{
			Message: func(channel, message []byte) { h.Publish("", channel, message) }, Grown: h.grew, Applied: h.applied,
		})
	}
	return h
}

// Watch waits until there are news for a front, or Options.Hold has passed. It returns the messages,
// the lists, and the Counts if they are due. Its error is the error of ctx.
func (h *Hub) Watch(ctx context.Context, node string, q WatchRequest) (w Watched, err error) {
	f := h.begin(node, &q)
	defer h.end(f)
	hold := time.NewTimer(h.o.Hold)
	defer hold.Stop()
	for over := q.First; ; {
		if h.take(f, over, &w) {
			break
		}
		select {
		case <-f.wake:
		case <-hold.C:
			over = true
		case <-ctx.Done():
			return w, ctx.Err()
		}
	}
	e := h.o.Engine()
	for set := range w.Marks {
		w.Marks[set] = e.TextMark(engine.TextSet(set))
	}
	return w, nil
}

// begin registers a call of a front.
func (h *Hub) begin(node string, q *WatchRequest) *front {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.fronts[node]
	if f == nil {
		f = &front{wake: make(chan struct{}, 1)}
		h.fronts[node] = f
		h.active.Add(1)
		q.First = true
	}
	f.calls++
	if q.Lists != f.lists {
		f.setLists(h.o.Notices, q.Lists)
	}
	f.missed = f.missed || q.First
	return f
}

// setLists sets whether the front gets the lists that grow. Growth before the call is lost, so any
// list may have grown.
func (f *front) setLists(n *engine.Notices, wanted bool) {
	f.lists, f.missed, f.grown = wanted, wanted, nil
	if wanted {
		n.Watch(1)
	} else {
		n.Watch(-1)
	}
}

// end ends a call.
func (h *Hub) end(f *front) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.calls--
	f.since = time.Now()
}

// take moves the news of a front into w, and reports whether there are news. over: the call must be
// answered in any case.
func (h *Hub) take(f *front, over bool, w *Watched) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	changes := h.o.Engine().TextChanges()
	if !over && changes == f.changes && len(f.messages) == 0 && len(f.grown) == 0 && !f.missed {
		return false
	}
	f.changes = changes
	w.Messages, w.Grown, w.Missed = f.messages, f.grown, f.missed
	f.messages, f.bytes, f.grown, f.missed = nil, 0, nil, false
	if now := time.Now(); now.Sub(f.counted) >= countsEvery {
		f.counted, w.Counts = now, CountsOf(h.o.Engine())
	}
	return true
}

// CountsOf returns the numbers of an engine.
func CountsOf(e *engine.Engine) *Counts {
	c := &Counts{Len: e.Len(), Stats: e.Stats(), Shards: e.ShardStats(nil), Sources: e.SourceStats(MostSources)}
	c.Keys, c.Lasting = e.KeysIn()
	return c
}

// Publish queues a message for all fronts but the front that it came from, if it came from a front.
func (h *Hub) Publish(from string, channel, message []byte) {
	if h.active.Load() == 0 {
		return
	}
	size := len(channel) + len(message) + messageBytes
	h.mu.Lock()
	defer h.mu.Unlock()
	for node, f := range h.fronts {
		if node == from || f.bytes+size > maxQueued {
			continue
		}
		f.messages = append(f.messages, Message{append([]byte(nil), channel...), append([]byte(nil), message...)})
		f.bytes += size
		f.signal()
	}
}

// grew queues lists for the fronts that want them.
func (h *Hub) grew(lists []engine.Growth) {
	if h.active.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.fronts {
		switch {
		case !f.lists:
			continue
		case len(lists) == 0 || len(f.grown)+len(lists) > maxGrown:
			f.grown, f.missed = nil, true
		case !f.missed:
			f.grown = append(f.grown, lists...)
		}
		f.signal()
	}
}

// applied wakes the fronts if texts have changed.
func (h *Hub) applied() {
	if h.active.Load() == 0 {
		return
	}
	if changes := h.o.Engine().TextChanges(); h.changes.Swap(changes) == changes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.fronts {
		f.signal()
	}
}

func (f *front) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Forget forgets the fronts that do not call any more. It must be called periodically.
func (h *Hub) Forget(now time.Time) {
	if h.active.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for node, f := range h.fronts {
		if f.calls > 0 || now.Sub(f.since) < forgetAfter {
			continue
		}
		if f.lists {
			f.setLists(h.o.Notices, false)
		}
		delete(h.fronts, node)
		h.active.Add(-1)
	}
}

// Count returns the number of fronts.
func (h *Hub) Count() int64 { return h.active.Load() }
