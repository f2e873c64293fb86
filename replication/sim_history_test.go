package replication

import (
	"bytes"
	"hash/maphash"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/persist"
	"limitsrv/replication/fsm"
)

// A simHistory is a History of a cluster. It detects at once when nodes differ from each
// other or from its own engine.
type simHistory struct {
	simtest.History

	// Guarded by Mu.
	entries map[uint64]*simEntry // by index
	last    uint64               // the newest
	stamp   engine.Instant       // of the last applied batch
	seed    maphash.Seed
	byClock []time.Duration // since the start: when time continued from clocks alone
}

func newSimHistory() *simHistory {
	return &simHistory{
		History: simtest.NewHistory(engineOf(persist.Seed{})), entries: map[uint64]*simEntry{}, seed: maphash.MakeSeed(),
	}
}

func engineOf(seed persist.Seed) *engine.Engine {
	return engine.New(engine.Options{Shards: 1, Seed: seed, Commands: simtest.Commands})
}

// setSeed makes the history choose at random what the nodes choose: by the cluster's seed, which
// is not known before the cluster is.
func (h *simHistory) setSeed(seed persist.Seed) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if len(h.Ops) > 0 {
		h.Fault("%d ops were applied before the seed was known", len(h.Ops))
	}
	h.Engine = engineOf(seed)
}

// check returns the faults of a complete history, including those found while it was made.
func (h *simHistory) check() []string {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.Check()
	h.checkPace()
	h.checkWindows()
	return h.Faults
}

// A simEntry is the batches that an entry of the log made the nodes apply.
type simEntry struct{ parts []uint64 } // their sums

// A simReplay is a process's position in the log. It may restart at an earlier entry, with
// the state at that entry.
type simReplay struct {
	history *simHistory
	node    string
	level   int // of the log that the process supports; 0: not checked
	index   uint64
	parts   int // of that entry

	fsm       *fsm.FSM
	installed int64 // snapshots, by fsm
}

// restored tells the number of snapshots that the process's FSM has restored. If the process has
// another FSM, or the FSM has restored another snapshot, the next batch is the first batch of its
// entry, even if the process has applied that entry before.
func (r *simReplay) restored(f *fsm.FSM, installed int64) {
	if f != r.fsm || installed != r.installed {
		r.fsm, r.installed, r.index, r.parts = f, installed, 0, 0
	}
}

// applied is for Options.applied.
func (r *simReplay) applied(index uint64, stamp engine.Instant, b *engine.Batch) {
	h := r.history
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if r.level > 0 && fsm.LevelOf(b) > r.level {
		h.Fault("%s supports level %d of the log, and applied in entry %d: %s", r.node, r.level, index,
			simtest.Text(b.Ops, b.Calls))
	}
	if index != r.index {
		if e := h.entries[r.index]; e != nil && r.parts != len(e.parts) {
			h.Fault("%s applied %d batches of entry %d, others %d", r.node, r.parts, r.index, len(e.parts))
		}
		r.index, r.parts = index, 0
	}
	sum := h.sum(stamp, b)
	e := h.entries[index]
	switch {
	case e != nil && r.parts < len(e.parts):
		if sum != e.parts[r.parts] {
			h.Fault("%s applied another batch %d of entry %d, at %d: %v", r.node, r.parts, index, stamp,
				simtest.Text(b.Ops, b.Calls))
		}
	case index < h.last:
		h.Fault("%s applied batch %d of entry %d, which no other node did: %v", r.node, r.parts, index,
			simtest.Text(b.Ops, b.Calls))
	default:
		if e == nil {
			e = &simEntry{}
			h.entries[index] = e
		}
		e.parts = append(e.parts, sum)
		h.last = index
		h.apply(r.node, index, stamp, b)
	}
	r.parts++
}

// sum returns a hash of a batch, its time and its answers.
func (h *simHistory) sum(stamp engine.Instant, b *engine.Batch) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	maphash.WriteComparable(&m, stamp)
	maphash.WriteComparable(&m, [2]bool{b.Atomic, b.Full})
	if len(b.Calls) > 0 {
		maphash.WriteComparable(&m, [2]any{b.Tight, b.Level})
	}
	for i := range b.Ops {
		op := b.Ops[i]
		m.Write(op.Key)
		m.WriteByte(0)
		m.Write(op.ID)
		maphash.WriteComparable(&m, [4]any{op.Kind, op.Mode, op.Group, op.DB})
		maphash.WriteComparable(&m, op.Params)
		maphash.WriteComparable(&m, op.N)
		maphash.WriteComparable(&m, comparable(op, b.Decisions[i]))
	}
	for i := range b.Calls {
		c := &b.Calls[i]
		maphash.WriteComparable(&m, c.Command)
		for _, arg := range c.Args {
			m.Write(arg)
			m.WriteByte(0)
		}
		m.Write(c.Answer)
	}
	return m.Sum64()
}

// comparable returns a decision without the fields that may differ between nodes: the
// value read by a Watch.
func comparable(op engine.Op, d engine.Decision) engine.Decision {
	if op.Kind == engine.Watch {
		return engine.Decision{}
	}
	return d
}

// apply applies a new batch of the log.
func (h *simHistory) apply(node string, index uint64, stamp engine.Instant, b *engine.Batch) {
	if stamp < h.stamp {
		h.Fault("entry %d of %s is at %d, the entry before it at %d", index, node, stamp, h.stamp)
	}
	h.stamp = stamp
	own := h.Apply(index, stamp, b)
	for i := range b.Ops {
		if got, want := comparable(b.Ops[i], b.Decisions[i]), comparable(b.Ops[i], own.Decisions[i]); got != want {
			h.Fault("entry %d, %s: %s decided\n got %+v\nwant %+v", index, node, simtest.Text(b.Ops[i:i+1], b.Calls), got, want)
		}
	}
	for i := range b.Calls {
		if got, want := b.Calls[i].Answer, own.Calls[i].Answer; !bytes.Equal(got, want) {
			h.Fault("entry %d, %s: call %d of %s answered\n got %q\nwant %q", index, node, i, simtest.Text(b.Ops, b.Calls), got,
				want)
		}
	}
}
