package replication

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// An fsm is the replicated state: the engine and the published data of the members. It
// implements raft.FSM: raft calls Apply with the committed entries in log order, from one
// goroutine.
//
// The engine's memory bound is not set, because evictions at a bound depend on the memory
// of one node. Instead the leader logs the evicted keys and a flag that forbids new keys.
// Only entries may advance the engine's time: reads use Engine.Look, and sweeps the last
// stamp.
type fsm struct {
	cluster  link.ClusterID
	seed     persist.Seed
	shards   int
	mono     func() time.Duration // Options.Monotonic
	maxLevel int                  // the newest feature level of the log that it can apply
	commands engine.Commands      // Options.Commands

	applying sync.Mutex // held while an entry is applied, and to freeze the state between two
	term     uint64     // of the last entry; 0: unknown. Guarded by applying

	engine    atomic.Pointer[engine.Engine]
	stamp     atomic.Int64 // of the last entry; no earlier stamp is applied after it
	stampedAt atomic.Int64 // when stamp was applied, by mono
	index     atomic.Uint64

	// proposal is this node's entry in flight. onApplied is called after it was applied.
	proposal  atomic.Pointer[proposal]
	onApplied func(*proposal)
	applied   func(index uint64, stamp engine.Instant, b *engine.Batch) // for tests; nil: none

	counts       fsmCounts
	snapshotSize atomic.Int64 // of the last snapshot written, in bytes
	stopping     atomic.Bool  // snapshots being written are abandoned
	decoder      persist.Decoder

	mu    sync.Mutex
	state clusterState
}

// A clusterState is the part of the state that describes the members.
type clusterState struct {
	Members map[string]Member `json:"members"`
	// Level is the highest feature level that the log may use: all members support it.
	Level int `json:"level"`
}

// A Member is the data that a node publishes about itself.
type Member struct {
	Node    string `json:"node"`
	Raft    string `json:"raft"`
	Client  string `json:"client"` // the address for clients
	Version string `json:"version"`
	Level   int    `json:"level"` // the newest feature level it supports
}

// fsmCounts are totals since the start.
type fsmCounts struct {
	entries, bytes, ops atomic.Int64
	installed           atomic.Int64 // snapshots restored, including the one at the start
	snapshotBytes       atomic.Int64 // log bytes applied since the last snapshot
}

func newFSM(m *membership, mono func() time.Duration, commands engine.Commands) *fsm {
	f := &fsm{cluster: m.Cluster, seed: m.Seed, mono: mono, maxLevel: knownLevel, commands: commands, state: clusterState{Members: make(map[string]Member), Level: 1}}
	f.decoder.Commands = commands
	f.engine.Store(f.emptyEngine())
	return f
}

func (f *fsm) emptyEngine() *engine.Engine {
	return engine.New(engine.Options{Seed: f.seed, Shards: f.shards, Commands: f.commands})
}

// controlMark is the first byte of an entry about the cluster; an entry of decisions
// begins with the version of its format.
const controlMark = 0xc1

// Apply applies an entry. It panics if it can not read the entry, because a newer node
// wrote it or the log is damaged: continuing would make this node diverge.
func (f *fsm) Apply(l *raft.Log) any {
	if err := f.applyLog(l); err != nil {
		panic(err)
	}
	return nil
}

// applyLog applies an entry and completes this node's proposal, if the entry is one.
func (f *fsm) applyLog(l *raft.Log) error {
	answered, err := f.applyEntry(l)
	if err != nil {
		return fmt.Errorf("entry %d of the cluster's log can't be applied: %w", l.Index, err)
	}
	if answered != nil {
		close(answered.applied)
		f.onApplied(answered) // last, so that an answered client finds the entry counted
	}
	return nil
}

// applyEntry applies an entry and counts it. It returns this node's proposal if the entry
// is that proposal, else nil.
func (f *fsm) applyEntry(l *raft.Log) (answered *proposal, err error) {
	f.applying.Lock()
	defer f.applying.Unlock()
	switch own := f.proposal.Load(); {
	case len(l.Data) > 0 && l.Data[0] == controlMark:
		err = f.applyControl(l.Data[1:])
	case own != nil && own.owns(l.Data) && own.Claim():
		answered = own
		f.proposal.CompareAndSwap(own, nil) // its group will be reused
		close(own.applying)
		for b := range own.Batches {
			f.applyBatch(l.Index, own.Stamp, b)
		}
	default:
		err = f.decoder.Decode(l.Data, func(stamp engine.Instant, b *engine.Batch) error {
			f.applyBatch(l.Index, stamp, b)
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	f.index.Store(l.Index)
	f.term = l.Term
	f.counts.entries.Add(1)
	f.counts.bytes.Add(int64(len(l.Data)))
	f.counts.snapshotBytes.Add(int64(len(l.Data)))
	return answered, nil
}

// applyBatch applies a batch at its stamp, or at the last stamp if that is later.
func (f *fsm) applyBatch(index uint64, stamp engine.Instant, b *engine.Batch) {
	stamp = max(stamp, engine.Instant(f.stamp.Load()))
	f.engine.Load().Apply(stamp, b)
	f.stamp.Store(int64(stamp))
	f.stampedAt.Store(int64(f.mono()))
	f.counts.ops.Add(int64(len(b.Ops)))
	if f.applied != nil {
		f.applied(index, stamp, b)
	}
}

// now returns this node's estimate of the time, for reads: the last stamp plus the time
// since.
func (f *fsm) now() engine.Instant {
	passed := int64(f.mono()) - f.stampedAt.Load()
	return engine.Instant(f.stamp.Load() + max(passed, 0))
}

// A controlEntry changes the cluster's state. Exactly one of its fields is set.
type controlEntry struct {
	Member *Member `json:"member,omitempty"` // data published by a node
	Gone   string  `json:"gone,omitempty"`   // the id of a node that was removed
	Level  int     `json:"level,omitempty"`  // features up to this level may be used from here on
}

// knownLevel is the newest feature level of the log that this program supports. A node
// that supports less must not take part once the log uses a higher one.
//
//	1: the first
const knownLevel = 1

// decodable returns an error if an entry can not be decoded. It does not apply it.
func decodable(d *persist.Decoder, l *raft.Log) (err error) {
	switch {
	case l.Type != raft.LogCommand:
		return nil
	case len(l.Data) > 0 && l.Data[0] == controlMark:
		var c controlEntry
		if err = strictJSON(l.Data[1:], &c); err == nil {
			err = checkLevel(c.Level, knownLevel)
		}
	default:
		err = d.Decode(l.Data, func(engine.Instant, *engine.Batch) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("entry %d: %w", l.Index, err)
	}
	return nil
}

func (f *fsm) applyControl(data []byte) error {
	var c controlEntry
	if err := strictJSON(data, &c); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case c.Member != nil:
		f.state.Members[c.Member.Node] = *c.Member
	case c.Gone != "":
		delete(f.state.Members, c.Gone)
	case c.Level > 0:
		f.state.Level = max(f.state.Level, c.Level)
	}
	return checkLevel(f.state.Level, f.maxLevel)
}

// checkLevel returns a NewerError if the log uses a level above known.
func checkLevel(level, known int) error {
	if level > known {
		return &persist.NewerError{What: "the cluster's log", Format: level, Known: known}
	}
	return nil
}

// members returns a copy of the published data by node id.
func (f *fsm) members() map[string]Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.state.Members)
}

func (f *fsm) level() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.Level
}
