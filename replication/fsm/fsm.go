package fsm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/internal/invariants"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// Options configure an FSM.
type Options struct {
	Cluster   link.ClusterID
	Seed      persist.Seed
	Commands  engine.Commands      // carries out calls; nil: there are no calls
	Monotonic func() time.Duration // a clock that is never set
	Level     int                  // the newest feature level of the log that it can apply; 0 means KnownLevel
	// Division is the division of the group until the log tells it; nil: the group may own all slots.
	Division *Division
	// Applied is called after each batch; nil: nothing is. For tests.
	Applied func(f *FSM, index uint64, stamp engine.Instant, b *engine.Batch)
	// Notices, unless nil, get and send the messages of entries from SetCurrent on.
	Notices *engine.Notices
	// Published, unless nil, is called after an entry with such messages was applied. It must not
	// block.
	Published func(index uint64)
	// Diverged is called when the state turns out to differ from the leader's. From then on
	// entries are not applied. nil: Apply panics.
	Diverged func(*DivergedError)
	// Mark, unless nil, records the entry that is being applied, see persist.Applying.
	Mark *persist.Applying
	// Skipped, unless nil, is called with the index of an entry that is skipped.
	Skipped func(index uint64)
}

// An FSM is the replicated state: the engine and the published data of the members. It
// implements raft.FSM: raft calls Apply with the committed entries in log order, from one
// goroutine. Concurrency: the other methods may be called from any goroutine.
//
// The engine's memory bound is not set, because evictions at a bound depend on the memory
// of one node. Instead the leader logs the evicted keys and a flag that forbids new keys.
// Only entries may advance the engine's time: reads use Engine.Look, and sweeps the last
// stamp.
type FSM struct {
	o Options

	applying sync.Mutex // held while an entry is applied, and to freeze the state between two
	term     uint64     // of the last entry; 0: unknown. Guarded by applying
	effects  effects    // guarded by applying

	ownProposals invariants.Sample // that are checked; guarded by applying

	engine    atomic.Pointer[engine.Engine]
	stamp     atomic.Int64 // of the last entry; no earlier stamp is applied after it
	stampedAt atomic.Int64 // when stamp was applied, by Options.Monotonic
	index     atomic.Uint64
	awaited   atomic.Pointer[awaited]  // nil: no goroutine waits
	noted     atomic.Pointer[noted]    // nil: NotBefore was not called
	proposal  atomic.Pointer[Proposal] // in flight
	division  atomic.Pointer[Division] // nil: the group owns all slots
	decoder   persist.Decoder

	entries, bytes, ops atomic.Int64
	installed           atomic.Int64
	sinceSnapshot       atomic.Int64
	snapshotBytes       atomic.Int64
	stopping            atomic.Bool // snapshots being written are abandoned
	diverged            atomic.Bool
	current             atomic.Uint64 // the first entry with messages that are sent; 0: no entry yet
	founded             atomic.Bool   // the messages of all entries are sent

	mu      sync.Mutex
	cluster clusterState
	applied persist.Effects // of the last entry
}

// Counts are totals since the start.
type Counts struct {
	Entries, Bytes, Ops int64 // that were applied; Bytes are of the entries
	Installed           int64 // snapshots restored, including the snapshot at the start
}

// New returns an [FSM] without keys and members.
func New(o Options) *FSM {
	if o.Level == 0 {
		o.Level = KnownLevel
	}
	f := &FSM{o: o, decoder: persist.Decoder{Commands: o.Commands},
		cluster: clusterState{Members: make(map[string]Member), Level: 1}}
	f.decoder.Stated = f.effects.check
	f.engine.Store(f.NewEngine())
	f.setDivision(nil)
	return f
}

// NewEngine returns an engine without keys that can load blocks of this FSM's engine.
func (f *FSM) NewEngine() *engine.Engine {
	return engine.New(engine.Options{Seed: f.o.Seed, Commands: f.o.Commands, Effects: true})
}

// Engine returns the engine. A snapshot from the leader replaces it.
func (f *FSM) Engine() *engine.Engine { return f.engine.Load() }

// Stamp returns the stamp of the last entry; 0: no decision was ever made.
func (f *FSM) Stamp() engine.Instant { return engine.Instant(f.stamp.Load()) }

// Index returns the index of the last entry; 0: no entry was applied.
func (f *FSM) Index() uint64 { return f.index.Load() }

// Digest returns the index of the last entry, and a hash of the state after it. No entry is applied
// during the call. Cost: linear in the keys.
func (f *FSM) Digest() (index, digest uint64) {
	f.applying.Lock()
	defer f.applying.Unlock()
	return f.Index(), f.Engine().Digest(f.Stamp()) ^ f.LoggedDivision().hash()
}

// Seed returns the seed of the engine.
func (f *FSM) Seed() persist.Seed { return f.o.Seed }

// Counts returns the totals since the start.
func (f *FSM) Counts() Counts {
	return Counts{Entries: f.entries.Load(), Bytes: f.bytes.Load(), Ops: f.ops.Load(), Installed: f.installed.Load()}
}

// Now returns this node's estimate of the time, for reads. It is the later of two estimates: the
// last stamp plus the time since it was applied, and the time of NotBefore plus the time since that
// call.
func (f *FSM) Now() engine.Instant {
	mono := f.o.Monotonic()
	now := engine.Instant(f.stamp.Load() + max(int64(mono)-f.stampedAt.Load(), 0))
	if at := f.noted.Load(); at != nil {
		now = max(now, at.now+engine.Instant(max(mono-at.mono, 0)))
	}
	return now
}

// Stop makes snapshots that are being written fail.
func (f *FSM) Stop() { f.stopping.Store(true) }

// Stopping reports whether Stop was called.
func (f *FSM) Stopping() bool { return f.stopping.Load() }

// SetCurrent tells that with the entry at an index this node has caught up with the cluster.
// The messages of entries up to there are dropped: they were published before its clients
// could subscribe. Messages of later entries are sent. Only the first call has an effect.
func (f *FSM) SetCurrent(index uint64) {
	if f.current.CompareAndSwap(0, index+1) {
		f.o.Notices.Replaced()
	}
}

// SetFounded tells the FSM that the log began in this process. It then sends the messages of all
// entries.
func (f *FSM) SetFounded() { f.founded.Store(true) }

// IsCurrent reports whether SetCurrent was called.
func (f *FSM) IsCurrent() bool { return f.current.Load() > 0 }

// Propose records the proposal in flight. It must precede the append of its entry.
func (f *FSM) Propose(p *Proposal) { f.proposal.Store(p) }

// Apply applies an entry. It panics if it can not read the entry, because a newer node
// wrote it or the log is damaged: continuing would make this node diverge.
func (f *FSM) Apply(l *raft.Log) any {
	if f.Diverged() {
		return nil
	}
	err := f.ApplyEntry(l)
	if diverged := (*DivergedError)(nil); errors.As(err, &diverged) && f.o.Diverged != nil {
		f.diverge(diverged)
		return nil
	}
	if err != nil {
		panic(f.o.Mark.Remedy(l.Index, err))
	}
	return nil
}

// ApplyEntry applies an entry and completes this node's proposal, if the entry is its
// proposal. An error means that it can not be read.
func (f *FSM) ApplyEntry(l *raft.Log) error {
	answered, err := f.apply(l)
	if err != nil {
		return fmt.Errorf("entry %d of the cluster's log can't be applied: %w", l.Index, err)
	}
	if answered != nil {
		close(answered.applied)
		answered.done() // last, so that an answered client finds the entry counted
	}
	return nil
}

// apply applies an entry and counts it. It returns this node's proposal if the entry is
// that proposal, else nil.
func (f *FSM) apply(l *raft.Log) (answered *Proposal, err error) {
	f.applying.Lock()
	defer f.applying.Unlock()
	if invariants.Enabled && (l.Index <= f.Index() || l.Term < f.term) {
		invariants.Violated("entry %d of term %d is applied after entry %d of term %d", l.Index, l.Term, f.Index(), f.term)
	}
	suspect := f.o.Mark.Begin(l.Index)
	if suspect {
		f.o.Mark.Again(l.Index, func() string { return f.describe(l.Data) })
	}
	switch own := f.proposal.Load(); {
	case IsControl(l.Data):
		err = f.applyControl(l.Index, l.Data)
	case own != nil && own.owns(l.Data) && own.group.Claim():
		answered = own
		f.proposal.CompareAndSwap(own, nil) // its group will be reused
		close(own.applying)
		if invariants.Enabled && f.ownProposals.Next() {
			own.checkEntry(f.o.Commands)
		}
		own.group.Batches(func(b *engine.Batch) bool {
			f.applyBatch(l.Index, own.stamp, b)
			return true
		})
	default:
		err = f.decoder.Decode(l.Data, func(stamp engine.Instant, b *engine.Batch) error {
			// No client waits for the answers here. b.Effects includes them.
			b.AnswerBytes = 1
			f.applyBatch(l.Index, stamp, b)
			return nil
		})
	}
	// Not deferred: after a panic the mark must remain.
	f.o.Mark.End()
	if err != nil {
		return nil, err
	}
	if suspect {
		f.o.Mark.Survived(l.Index)
	}
	f.endEffects()
	published := f.o.Notices.HasMessages()
	f.o.Notices.Send()
	f.reach(l.Index)
	if published && f.o.Published != nil {
		f.o.Published(l.Index)
	}
	f.term = l.Term
	f.entries.Add(1)
	f.bytes.Add(int64(len(l.Data)))
	f.sinceSnapshot.Add(int64(len(l.Data)))
	return answered, nil
}

// describe returns a description of an entry for an operator.
func (f *FSM) describe(data []byte) string {
	if IsControl(data) {
		return "an entry about the cluster: " + string(data[1:])
	}
	return persist.DescribeIn(f.Engine(), data)
}

// applyBatch applies a batch at its stamp, or at the last stamp if that is later.
func (f *FSM) applyBatch(index uint64, stamp engine.Instant, b *engine.Batch) {
	stamp = max(stamp, f.Stamp())
	e := f.engine.Load()
	b.Effects, b.Notices = 0, nil
	if from := f.current.Load(); from > 0 && index >= from || f.founded.Load() {
		b.Notices = f.o.Notices
	}
	if !f.refuse(b) {
		e.Apply(stamp, b)
	}
	if len(b.Calls) > 0 {
		f.effects.add(index, b.Effects)
	}
	f.stamp.Store(int64(stamp))
	f.stampedAt.Store(int64(f.o.Monotonic()))
	f.ops.Add(int64(len(b.Ops)))
	if f.o.Applied != nil {
		f.o.Applied(f, index, stamp, b)
	}
}

// CheckEntry returns an error if an entry can not be decoded. It does not apply it.
func CheckEntry(d *persist.Decoder, l *raft.Log) (err error) {
	switch {
	case l.Type != raft.LogCommand:
		return nil
	case IsControl(l.Data):
		var c ControlEntry
		if c, err = decodeControl(l.Data); err == nil {
			err = checkLevel(c.Level, KnownLevel)
		}
	default:
		err = d.Decode(l.Data, func(engine.Instant, *engine.Batch) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("entry %d: %w", l.Index, err)
	}
	return nil
}

// An awaited is an entry that a goroutine waits for in Await.
type awaited struct {
	index   uint64
	reached chan struct{} // closed when this entry or a later entry was applied
}

// A noted is a time of the leader, and the reading of the monotonic clock when it was noted.
type noted struct {
	now  engine.Instant
	mono time.Duration
}

// Await blocks until the entry at index or a later entry was applied, and returns true. It returns
// false if ctx ends first. Concurrency: not safe for concurrent use.
func (f *FSM) Await(ctx context.Context, index uint64) bool {
	w := &awaited{index, make(chan struct{})}
	f.awaited.Store(w)
	defer f.awaited.Store(nil)
	if f.Index() >= index {
		return true
	}
	select {
	case <-w.reached:
		return true
	case <-ctx.Done():
		return f.Index() >= index
	}
}

// reach sets the index of the last applied entry, and ends an Await for it. Requires: applying is
// held.
func (f *FSM) reach(index uint64) {
	f.index.Store(index)
	if w := f.awaited.Load(); w != nil && index >= w.index && f.awaited.CompareAndSwap(w, nil) {
		close(w.reached)
	}
}

// NotBefore notes a time of the leader: from then on Now returns no earlier time.
func (f *FSM) NotBefore(now engine.Instant) { f.noted.Store(&noted{now, f.o.Monotonic()}) }
