package events

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/status"
)

const (
	// maxListed bounds the list limitsrv:events, in which events wait for their delivery.
	maxListed = 10_000
	// maxMarks bounds the marks of told events, which take some 6 MB then.
	maxMarks = 100_000
	// maxQueued bounds the events of this node that wait for the list.
	maxQueued = 4096
	// maxBatch bounds the events of a batch, into the list and out of it.
	maxBatch = 100
	// retryTold is the time until a dropped event may be told again.
	retryTold = time.Second
	// rememberTold is the longest time for which a node ignores a told event by itself. After it, the
	// mark in the state decides again, which FLUSHALL may have removed.
	rememberTold = time.Minute
	// leastPause and mostPause bound the time until an event that did not reach the list is tried
	// again.
	leastPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// A Config has the parts of a node that an Outbox needs.
type Config struct {
	Executor func() *backend.Executor
	Engine   func() *engine.Engine
	Clock    backend.Clock
	Features func() uint8 // as of backend.Cluster
	Log      *slog.Logger
}

// An Outbox notes events and keeps them until they are sent. Concurrency: any goroutine may use it.
type Outbox struct {
	config  Config
	told    toldTable
	queue   chan noted
	changed chan struct{}
	listed  [checks.EventKinds]atomic.Int64
	dropped [status.EventDrops]atomic.Int64
	waiting atomic.Int64
	sent    atomic.Int64
	failed  atomic.Int64
	failure atomic.Pointer[string] // of the last delivery; nil: it did not fail
}

// New returns an empty Outbox of 2 MB.
func New(c Config) *Outbox {
	return &Outbox{config: c, queue: make(chan noted, maxQueued), changed: make(chan struct{}, 1)}
}

// Note notes the events of a request. The function request returns the attributes. It does not block. An event
// that was told is ignored until its limit is fully reset, or its box opens. If the queue is full,
// the event is dropped and counted, and a later request beyond the threshold tells it.
func (o *Outbox) Note(all []checks.Event, request func() *rules.Request) {
	now := o.config.Clock.Now()
	for i := range all {
		e := &all[i]
		hash := hashOf(e)
		if !o.told.claim(hash, now, min(untilOf(e, now), now+engine.Instant(rememberTold))) {
			continue
		}
		select {
		case o.queue <- note(e, hash, request(), now):
		default:
			o.drop(hash, now, status.EventQueueFull)
		}
	}
}

// drop counts an event that was dropped at an instant.
func (o *Outbox) drop(hash uint64, now engine.Instant, reason int) {
	o.dropped[reason].Add(1)
	o.told.set(hash, now+engine.Instant(retryTold))
}

// Run moves events from the queue into the list until ctx ends. Then it moves the events that are
// left, until last ends.
func (o *Outbox) Run(ctx, last context.Context) {
	for {
		batch := o.gather(ctx)
		if len(batch) == 0 {
			return
		}
		warned := false
		for pause := leastPause; ; pause = min(2*pause, mostPause) {
			err := o.list(last, batch)
			if err == nil {
				break
			}
			if !warned {
				warned = true
				o.config.Log.Warn("events can't be listed yet", "events", len(batch), "error", err)
			}
			if !sleep(last, pause) {
				return
			}
		}
	}
}

// sleep waits. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// gather waits for an event, and returns it with those that follow at once. After the end of ctx it
// does not wait.
func (o *Outbox) gather(ctx context.Context) (batch []noted) {
	select {
	case n := <-o.queue:
		batch = append(batch, n)
	case <-ctx.Done():
	}
	for len(batch) < maxBatch {
		select {
		case n := <-o.queue:
			batch = append(batch, n)
		default:
			return batch
		}
	}
	return batch
}

// list appends events to the list, unless they are told. After an error it may be called again.
func (o *Outbox) list(ctx context.Context, batch []noted) error {
	args := [][]byte{strconv.AppendInt(nil, maxListed, 10), strconv.AppendInt(nil, maxMarks, 10)}
	for i := range batch {
		n := &batch[i]
		args = append(args, n.mark, strconv.AppendInt(nil, n.until.Millis(), 10), n.text)
	}
	reply, err := o.run(ctx, noteScript, [][]byte{[]byte(List), []byte(marks)}, args)
	if err != nil {
		return err
	}
	v, rest, _ := answer.Next(reply)
	if v.Len != len(batch) {
		return errAnswer
	}
	now := o.config.Clock.Now()
	for i := range batch {
		var result int64
		result, rest, _ = answer.TakeInt(rest)
		switch result {
		case isListed:
			o.listed[batch[i].kind].Add(1)
		case listFull:
			o.drop(batch[i].hash, now, status.EventListFull)
		case hadNoMemory:
			o.drop(batch[i].hash, now, status.EventNoMemory)
		default: // another node told it, or this node before its start
			left := min(time.Duration(result-wasTold)*time.Millisecond, rememberTold)
			o.told.set(batch[i].hash, now+engine.Instant(left))
		}
	}
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return nil
}

// Changed receives a value after this node added events to the list.
func (o *Outbox) Changed() <-chan struct{} { return o.changed }

// Read returns the first events of the list, at most 100, as JSON.
func (o *Outbox) Read(ctx context.Context) (all [][]byte, err error) {
	reply, err := o.run(ctx, readScript, [][]byte{[]byte(List)}, [][]byte{strconv.AppendInt(nil, maxBatch, 10)})
	if err != nil {
		return nil, err
	}
	pair, rest, _ := answer.Next(reply)
	length, rest, ok := answer.TakeInt(rest)
	list, rest, listed := answer.Next(rest)
	if pair.Len != 2 || !ok || !listed {
		return nil, errAnswer
	}
	o.waiting.Store(length)
	for range list.Len {
		var event answer.Value
		if event, rest, ok = answer.Next(rest); !ok {
			return nil, errAnswer
		}
		all = append(all, event.Bytes)
	}
	return all, nil
}

// Remove removes events, as Read returned them, from the start of the list after they were sent.
func (o *Outbox) Remove(ctx context.Context, all [][]byte) error {
	o.sent.Add(int64(len(all)))
	o.failure.Store(nil)
	var ids [][]byte
	for _, event := range all {
		ids = append(ids, idOf(event))
	}
	reply, err := o.run(ctx, removeScript, [][]byte{[]byte(List)}, ids)
	if err != nil {
		return err
	}
	length, _, _ := answer.TakeInt(reply)
	o.waiting.Store(length)
	return nil
}

// Failed counts a delivery that failed. It reports whether the delivery before did not.
func (o *Outbox) Failed(err error) (first bool) {
	text := err.Error()
	o.failed.Add(1)
	return o.failure.Swap(&text) == nil
}

// Idle tells that another node sends the events of the list.
func (o *Outbox) Idle() {
	o.waiting.Store(0)
	o.failure.Store(nil)
}

// Keys returns the keys of the list and of the marks.
func (o *Outbox) Keys() [][]byte { return [][]byte{[]byte(List), []byte(marks)} }

// Status returns the counts of this node.
func (o *Outbox) Status() (s status.Events) {
	s.On, s.Waiting, s.Sent, s.Failed = true, o.waiting.Load(), o.sent.Load(), o.failed.Load()
	for k := range o.listed {
		s.Listed = append(s.Listed, status.EventCount{Label: checks.EventKind(k).String(), N: o.listed[k].Load()})
	}
	for reason := range o.dropped {
		s.Dropped[reason] = o.dropped[reason].Load()
	}
	if text := o.failure.Load(); text != nil {
		s.Failing = *text
	}
	return s
}
