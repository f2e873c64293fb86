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
)

// A machine is the state that all nodes have in common: the engine, and who the
// members are. It is raft's FSM: what is committed comes to Apply, in the order of
// the log, from one goroutine.
//
// The engine's bound is not set, as what a bound drops depends on the memory of a
// node. The leader says in the log what is dropped and that no key may be added.
// Nobody else may have the engine see a time that no entry has: a look uses
// Engine.Look, and a sweep the last stamp.
type fsm struct {
	cluster clusterID
	seed    persist.Seed
	shards  int
	mono    func() time.Duration // Options.Monotonic
	maxLevel   int                  // the newest feature of the log that it knows

	applying sync.Mutex // held while an entry is applied, and to freeze what is between two
	term     uint64     // of the last entry; 0: not known. Guarded by applying

	engine atomic.Pointer[engine.Engine]
	stamp  atomic.Int64 // of the last entry: no later one is applied before it
	stampedAt   atomic.Int64 // when that was, by mono
	index  atomic.Uint64

	// flight is the entry of this node that is on its way, and landed is told when it
	// has been carried out.
	proposal  atomic.Pointer[proposal]
	onApplied  func(*proposal)
	applied func(index uint64, stamp engine.Instant, b *engine.Batch) // for tests; nil: none

	counts       fsmCounts
	snapshotSize atomic.Int64 // of the last that was written, in bytes
	stopping       atomic.Bool  // a snapshot that is being written is given up
	decoder      persist.Decoder

	mu   sync.Mutex
	state clusterState
}

// A crew is what the log says about the members.
type clusterState struct {
	Members map[string]Member `json:"members"`
	// Level is up to which features the log may use: all members know them.
	Level int `json:"level"`
}

// A Member is what a node tells about itself.
type Member struct {
	Node    string `json:"node"`
	Raft    string `json:"raft"`
	Client  string `json:"client"` // the address for clients
	Version string `json:"version"`
	Level   int    `json:"level"` // the newest feature that it knows
}

// machineCounts are totals since the start.
type fsmCounts struct {
	entries, bytes, ops atomic.Int64
	installed           atomic.Int64 // snapshots restored since the start, that of the start included
	snapshotBytes       atomic.Int64 // of the log since the last snapshot
}

func newFSM(m *membership, mono func() time.Duration) *fsm {
	f := &fsm{cluster: m.Cluster, seed: m.Seed, mono: mono, maxLevel: knownLevel, state: clusterState{Members: make(map[string]Member), Level: 1}}
	f.engine.Store(f.emptyEngine())
	return f
}

func (f *fsm) emptyEngine() *engine.Engine {
	return engine.New(engine.Options{Seed: f.seed, Shards: f.shards})
}

// controlMark begins an entry that is about the cluster; an entry of decisions
// begins with the version of its format.
const controlMark = 0xc1

// Apply carries out an entry. What it can't read, a newer node wrote, or the log is
// damaged: to go on would be to disagree with others, so it panics.
func (f *fsm) Apply(l *raft.Log) any {
	if err := f.applyLog(l); err != nil {
		panic(err)
	}
	return nil
}

// carryOut applies an entry of decisions, or about the cluster.
func (f *fsm) applyLog(l *raft.Log) error {
	answered, err := f.applyEntry(l)
	if err != nil {
		return fmt.Errorf("entry %d of the cluster's log can't be carried out: %w", l.Index, err)
	}
	if answered != nil {
		close(answered.applied)
		f.onApplied(answered) // last: an answered client finds the entry counted
	}
	return nil
}

// applyEntry applies an entry and counts it. It returns this node's flight if the entry
// is of that.
func (f *fsm) applyEntry(l *raft.Log) (answered *proposal, err error) {
	f.applying.Lock()
	defer f.applying.Unlock()
	switch own := f.proposal.Load(); {
	case len(l.Data) > 0 && l.Data[0] == controlMark:
		err = f.applyControl(l.Data[1:])
	case own != nil && own.owns(l.Data) && own.state.CompareAndSwap(proposalPending, proposalClaimed):
		answered = own
		close(own.applying)
		for i := range own.parts {
			f.applyBatch(l.Index, own.stamp, own.parts[i].batch)
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

// apply carries out a batch at its stamp, or at that of the last if it is later.
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

// now is the time by this node, for looks: the last stamp and what has passed since.
func (f *fsm) now() engine.Instant {
	passed := int64(f.mono()) - f.stampedAt.Load()
	return engine.Instant(f.stamp.Load() + max(passed, 0))
}

// A controlEntry is about the cluster. One of its fields is set.
type controlEntry struct {
	Member *Member `json:"member,omitempty"` // a node tells about itself
	Gone   string  `json:"gone,omitempty"`   // a node that is no member any more
	Level  int     `json:"level,omitempty"`  // features up to this may be used from here on
}

// knownLevel is the newest feature of the log that this program knows: a node
// whose program knows less must not take part once the log has a higher one.
//
//	1: the first
const knownLevel = 1

// decodable says what is wrong with an entry, without carrying it out.
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

// checkLevel refuses what a newer program decides by than one that knows that level.
func checkLevel(level, known int) error {
	if level > known {
		return &persist.NewerError{What: "the cluster's log", Format: level, Known: known}
	}
	return nil
}

// members are a copy.
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

// is says whether data is the flight's entry itself, and not one that reads the same.
func (f *proposal) owns(data []byte) bool {
	return len(data) > 0 && len(data) == len(f.data) && &data[0] == &f.data[0]
}
