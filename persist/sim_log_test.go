package persist

import (
	"bytes"
	"context"
	"math"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// A simHistory is a History of a node. It applies each entry before the node appends it,
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
	// next are the logs that replaced each other after log had failed. A log counts when its
	// snapshot is complete, and the history learns that at the next start.
	next []simLog
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

// end returns the index after the last entry.
func (l *simLog) end() uint64 { return l.first + uint64(len(l.entries)) }

func (h *simHistory) newEngine() *engine.Engine {
	return engine.New(engine.Options{Shards: 1, Seed: h.seed, Commands: simtest.Commands})
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
		n := len(h.next)
		if n == 0 || h.next[n-1].name != log || h.next[n-1].end() != index {
			h.next = append(h.next, simLog{name: log, first: index})
			n = len(h.next)
		}
		h.next[n-1].entries = append(h.next[n-1].entries, e)
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
	d := Decoder{Commands: simtest.Commands}
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
	d := Decoder{Commands: simtest.Commands}
	for _, entry := range h.entries[:index+1-h.first] {
		_ = d.Decode(entry.data, func(stamp engine.Instant, b *engine.Batch) error { // apply has reported errors
			e.Apply(stamp, b)
			return nil
		})
	}
	return e
}

// rewind removes the entries after an index, which are not in the log. Their calls may lack
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
	h.next = nil
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

// replaceLog continues with the log of a snapshot. It replaces a failed log, perhaps after
// other logs that failed too. Under Always the state of the snapshot is the state after the
// entries of all these logs, each without its last entry if that could not be appended or
// its outcome was unknown. Otherwise decisions were made that are in no log. Requires: Mu is
// held.
func (h *simHistory) replaceLog(info Info, state *engine.Engine) {
	begin := info.Meta.LogIndex + 1
	failed, log := h.next, simLog{name: info.LogDir, first: begin}
	h.next = nil
	if n := len(failed); n > 0 && failed[n-1].name == log.name {
		failed, log = failed[:n-1], failed[n-1]
	}
	if log.first > begin || log.end() < begin {
		h.Fault("%s has the entries from %d to before %d, and its snapshot ends at %d", log.name, log.first, log.end(),
			begin-1)
		return
	}
	covered, rest := log.entries[:begin-log.first], log.entries[begin-log.first:]
	log.entries = covered
	if logs := append(failed, log); h.policy != Always {
		h.overtaken(logs)
	} else if !h.becomes(state, logs) {
		h.Fault("snapshot %d of %s is not the state of %s and what replaced it", info.Generation, info.LogDir, h.log)
	}
	h.log, h.base, h.first, h.entries = info.LogDir, state, begin, nil
	h.Engine = h.stateAt(begin - 1)
	for _, e := range rest {
		h.apply(e)
	}
}

// overtaken notes that logs may lack the calls of entries: their decisions follow from some
// that are in no log. Requires: Mu is held.
func (h *simHistory) overtaken(logs []simLog) {
	n := len(h.Ops)
	for _, log := range logs {
		for _, e := range log.entries {
			h.apply(e)
		}
	}
	for _, c := range h.Rewind(n) {
		c.MayLack = true
	}
}

// becomes applies logs after the entries, and reports whether the result is state. The last
// entry of each log that another log follows may be left out. Requires: Mu is held.
func (h *simHistory) becomes(state *engine.Engine, logs []simLog) bool {
	last := min(h.last(), logs[0].first-1)
	for without := range 1 << len(logs) {
		if last+1 < h.first+uint64(without&1) {
			continue
		}
		h.rewind(last-uint64(without&1), math.MaxInt64)
		for i, log := range logs {
			entries := log.entries
			if i+1 < len(logs) {
				keep := min(log.end(), logs[i+1].first) - log.first
				entries = entries[:max(int(keep)-without>>(i+1)&1, 0)]
			}
			for _, e := range entries {
				h.apply(e)
			}
		}
		if sameState(state, h.Engine) {
			return true
		}
	}
	return false
}

// check returns the faults of a complete history.
func (h *simHistory) check() []string {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.Check()
	return h.Faults
}
