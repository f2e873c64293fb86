package fronts

import (
	"context"
	"errors"
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
	// maxChanged bounds the bytes of the changed keys that wait for a front. With more, any key may have
	// changed.
	maxChanged = 1 << 20
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
	tracks  bool
	turn    uint64 // of the last Watch; earlier calls get no news
	changes uint64 // engine.TextChanges that it knows
	counted time.Time

	messages []Message
	bytes    int
	grown    []engine.Growth
	missed   bool
	changed  Keys
	outdated bool // any key may have changed
	told     uint64
}

// New returns a [Hub] without fronts. If o.Notices is set, the Hub becomes its Relay.
func New(o Options) *Hub {
	h := &Hub{o: o, fronts: make(map[string]*front)}
	if o.Notices != nil {
		o.Notices.HandleRelay(&engine.Relay{
			Message: func(channel, message []byte) { h.Publish("", channel, message) }, Grown: h.grew,
			Changed: h.changed, Applied: h.applied,
		})
	}
	return h
}

var errSuperseded = errors.New("the front has made another call")

// Watch waits until there are news for a front, or Options.Hold has passed. It returns the messages,
// the lists, the keys, and the Counts if they are due. It returns the error of ctx, or errSuperseded if
// the front has called Watch again.
func (h *Hub) Watch(ctx context.Context, node string, q WatchRequest) (w Watched, err error) {
	f, turn := h.begin(node, &q)
	defer h.end(f)
	hold := time.NewTimer(h.o.Hold)
	defer hold.Stop()
	for over := q.First; ; {
		news, err := h.take(f, turn, over, &w)
		if err != nil {
			return w, err
		}
		if news {
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
func (h *Hub) begin(node string, q *WatchRequest) (f *front, turn uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f = h.fronts[node]
	if f == nil {
		f = &front{wake: make(chan struct{}, 1), told: uint64(time.Now().UnixNano())}
		h.fronts[node] = f
		h.active.Add(1)
		q.First = true
	}
	f.calls++
	if q.Lists != f.lists {
		f.setLists(h.o.Notices, q.Lists)
	}
	if q.Tracks != f.tracks {
		f.setTracks(h.o.Notices, q.Tracks)
	}
	if q.First {
		f.missed, f.outdated, f.changed = true, true, nil
	}
	f.turn++
	f.signal() // ends an earlier call
	return f, f.turn
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

// setTracks sets whether the front gets the keys that change. Any key may have changed before.
func (f *front) setTracks(n *engine.Notices, wanted bool) {
	f.tracks, f.outdated, f.changed = wanted, wanted, nil
	if wanted {
		n.Track(1)
	} else {
		n.Track(-1)
	}
}

// end ends a call, and wakes a later call: the ended call may have taken its wake-up.
func (h *Hub) end(f *front) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.calls--
	f.since = time.Now()
	f.signal()
}

// take moves the news of a front into w, and reports whether there are news. over: the call must be
// answered in any case. The error is errSuperseded.
func (h *Hub) take(f *front, turn uint64, over bool, w *Watched) (news bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.turn != turn {
		return false, errSuperseded
	}
	changes := h.o.Engine().TextChanges()
	outdated := f.tracks && (f.outdated || len(f.changed) > 0)
	if !over && changes == f.changes && len(f.messages) == 0 && len(f.grown) == 0 && !f.missed && !outdated {
		return false, nil
	}
	f.changes = changes
	w.Messages, w.Grown, w.Missed = f.messages, f.grown, f.missed
	w.Tracked, w.Changed, w.Told = f.tracks && !f.outdated, f.changed, f.told
	f.messages, f.bytes, f.grown, f.missed, f.changed, f.outdated = nil, 0, nil, false, nil, false
	if now := time.Now(); now.Sub(f.counted) >= countsEvery {
		f.counted, w.Counts = now, CountsOf(h.o.Engine())
	}
	return true, nil
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

// changed queues keys for the fronts that want them.
func (h *Hub) changed(changes []engine.Change) {
	if h.active.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.fronts {
		if !f.tracks {
			continue
		}
		f.told++
		for i := range changes {
			if f.outdated = f.outdated || changes[i].All || len(f.changed)+len(changes[i].Key) > maxChanged; f.outdated {
				f.changed = nil
				break
			}
			f.changed = f.changed.Append(changes[i].Key)
		}
		f.signal()
	}
}

// toldOf returns Watched.Told of all changes so far, or 0 if the front wants no changes.
func (h *Hub) toldOf(node string) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.fronts[node]; f != nil && f.tracks {
		return f.told
	}
	return 0
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
		if f.tracks {
			f.setTracks(h.o.Notices, false)
		}
		delete(h.fronts, node)
		h.active.Add(-1)
	}
}

// Count returns the number of fronts.
func (h *Hub) Count() int64 { return h.active.Load() }
