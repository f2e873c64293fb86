package persist

import (
	"bytes"
	"context"
	"math"
	"time"

	"limitsrv/engine"
	"limitsrv/persist/simtest"
)

// A simHistory is a History of one node. It applies each entry before the node appends it,
// and after a start compares the recovered state with its own at the last entry that is
// left.
type simHistory struct {
	simtest.History
	policy Policy
	seed   Seed

	// Guarded by Mu.
	log     string         // directory of the log that a start continues
	base    *engine.Engine // state before entries
	first   uint64         // index of the first of entries
	entries []simEntry
	// next is the log that replaces a failed one when its snapshot is complete.
	next simLog
	lost int // entries
}

type simEntry struct {
	data []byte
	at   time.Duration // since the start, before the append
	ops  int           // length of Ops before it
}

type simLog struct {
	name    string
	first   uint64
	entries []simEntry
}

func (h *simHistory) newEngine() *engine.Engine {
	return engine.New(engine.Options{Shards: 1, Seed: h.seed})
}

// last returns the index of the last entry.
func (h *simHistory) last() uint64 { return h.first + uint64(len(h.entries)) - 1 }

// appending is for Options.beforeAppend.
func (h *simHistory) appending(log string, index uint64, data []byte) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	e := simEntry{data: bytes.Clone(data), at: time.Since(h.Start)}
	switch {
	case log != h.log:
		if log != h.next.name || index != h.next.first+uint64(len(h.next.entries)) {
			h.next = simLog{name: log, first: index}
		}
		h.next.entries = append(h.next.entries, e)
	case index != h.last()+1:
		h.Fault("entry %d is appended to %s after entry %d", index, log, h.last())
	default:
		h.apply(e)
	}
}

// apply applies the next entry. Requires: Mu is held.
func (h *simHistory) apply(e simEntry) {
	e.ops = len(h.Ops)
	h.entries = append(h.entries, e)
	var d Decoder
	err := d.Decode(e.data, func(stamp engine.Instant, b *engine.Batch) error {
		h.Apply(h.last(), stamp, b)
		return nil
	})
	if err != nil {
		h.Fault("entry %d: %v", h.last(), err)
	}
}

// stateAt returns an engine in the state after an entry. Requires: Mu is held.
func (h *simHistory) stateAt(index uint64) *engine.Engine {
	e := h.newEngine()
	view := h.base.Freeze()
	defer view.Close()
	for more := true; more; {
		var block []byte
		if block, _, more = view.Next(0, nil); more {
			if err := e.Load(block); err != nil {
				h.Fault("a block of the state before entry %d: %v", h.first, err)
			}
		}
	}
	e.SetTime(h.base.Now())
	var d Decoder
	for _, entry := range h.entries[:index+1-h.first] {
		_ = d.Decode(entry.data, func(stamp engine.Instant, b *engine.Batch) error { // apply has reported errors
			e.Apply(stamp, b)
			return nil
		})
	}
	return e
}

// rewind removes the entries behind an index, which are not in the log. Their calls may lack
// in it if the entry was appended at mayLose or later. Requires: Mu is held.
func (h *simHistory) rewind(index uint64, mayLose time.Duration) {
	keep := int(index + 1 - h.first)
	if keep == len(h.entries) {
		return
	}
	for i := len(h.entries) - 1; i >= keep; i-- {
		for _, c := range h.Rewind(h.entries[i].ops) {
			c.MayLack = c.MayLack || h.entries[i].at >= mayLose
		}
	}
	h.lost += len(h.entries) - keep
	h.entries = h.entries[:keep]
	h.Engine = h.stateAt(index)
}

// recovered compares the state of a node that has started with its own. mayLose is the
// time since which entries may be lost.
func (h *simHistory) recovered(s *Store, mayLose time.Duration) {
	if h.base == nil {
		h.seed = s.dir.Seed
		h.base, h.log, h.first = h.newEngine(), s.log.Load().Name(), 1
		h.Engine = h.newEngine()
	}
	h.compareSnapshot(s)
	h.Mu.Lock()
	defer h.Mu.Unlock()
	log := s.log.Load()
	h.next = simLog{}
	switch last := log.Last(); {
	case log.Name() != h.log:
		h.Fault("the node has recovered %s, want %s", log.Name(), h.log)
		return
	case last > h.last() || last+1 < h.first:
		h.Fault("the recovered log ends with entry %d, %d to %d were appended", last, h.first, h.last())
		return
	default:
		h.rewind(last, mayLose)
	}
	if !sameState(s.Engine(), h.Engine) {
		h.Fault("the state recovered up to entry %d of %s is another than that of its log", h.last(), h.log)
	}
}

// sameState reports whether two engines would make the same decisions.
func sameState(a, b *engine.Engine) bool {
	now := max(a.Now(), b.Now())
	return a.Digest(now) == b.Digest(now)
}

// compareSnapshot compares the newest snapshot with the state at its entry, and continues
// from it.
func (h *simHistory) compareSnapshot(s *Store) {
	info, ok := s.saver.latest()
	if !ok {
		return
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	index := info.Meta.LogIndex
	if info.LogDir == h.log && index < h.first {
		return // as before
	}
	loaded := h.newEngine()
	if err := s.snapshots.Load(context.Background(), info, loaded, 1, nil); err != nil {
		h.Fault("load of snapshot %d: %v", info.Generation, err)
		return
	}
	loaded.SetTime(info.Meta.Now)
	if info.LogDir != h.log {
		h.replaceLog(info, loaded)
		return
	}
	if index > h.last() {
		h.Fault("snapshot %d is at entry %d, the last is %d", info.Generation, index, h.last())
		return
	}
	if !sameState(loaded, h.stateAt(index)) {
		h.Fault("snapshot %d is not the state after entry %d", info.Generation, index)
	}
	h.entries = h.entries[index+1-h.first:]
	h.base, h.first = loaded, index+1
}

// replaceLog continues with the log of a snapshot that replaces a failed one. Under Always
// its state is that of the failed log, without its last entry if that could not be appended
// or its outcome was unknown. Otherwise decisions were made that are in no log. Requires:
// Mu is held.
func (h *simHistory) replaceLog(info Info, state *engine.Engine) {
	if h.policy == Always {
		last := min(h.last(), info.Meta.LogIndex)
		h.rewind(last, math.MaxInt64)
		if !sameState(state, h.Engine) && last >= h.first {
			last--
			h.rewind(last, math.MaxInt64)
		}
		if !sameState(state, h.Engine) {
			h.Fault("snapshot %d of %s is not the state after entry %d of %s, nor after the one behind it", info.Generation, info.LogDir, last, h.log)
		}
	}
	h.log, h.base, h.first, h.entries = info.LogDir, state, info.Meta.LogIndex+1, nil
	h.Engine = h.stateAt(h.first - 1)
	next := h.next
	h.next = simLog{}
	if len(next.entries) == 0 {
		return
	}
	if next.name != h.log || next.first != h.first {
		h.Fault("%s begins with entry %d, and the snapshot of %s ends at %d", next.name, next.first, h.log, h.first-1)
		return
	}
	for _, e := range next.entries {
		h.apply(e)
	}
}

// check returns the faults of a complete history.
func (h *simHistory) check() []string {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.Check()
	return h.Faults
}
