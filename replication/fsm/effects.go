package fsm

import (
	"errors"
	"fmt"
	"slices"

	"limitsrv/persist"
)

// effects are the effects of the calls that an FSM has applied: after each of the last
// entries with calls. The leader states the newest it knows in its next entry, and all
// nodes compare them with theirs: so if a call did something else on a node than on the
// leader, the node finds that at the second entry after the call.
type effects struct {
	now    persist.Effects // with the entry that is being applied
	recent [recentEffects]persist.Effects
	next   int
	agreed uint64 // the last entry with the leader's effects
}

// recentEffects is greater than the number of entries with calls between an entry and its
// statement.
const recentEffects = 16

// add adds the effects of a batch of an entry.
func (x *effects) add(index, sum uint64) { x.now.Add(index, sum) }

// end must be called after each entry with calls.
func (x *effects) end() {
	x.recent[x.next] = x.now
	x.next = (x.next + 1) % recentEffects
}

// A DivergedError says that this node's state differs from the leader's.
type DivergedError struct {
	Agreed uint64 // the last entry with effects that are known to agree
	Index  uint64 // an entry with effects that do not agree
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("the effects of the commands up to entry %d of the log are not those that the leader had (up to "+
		"entry %d they were): this node's state is wrong, or the leader's", e.Index, e.Agreed)
}

// check compares a statement of the leader. An entry that is no longer known is not
// compared.
func (x *effects) check(stated persist.Effects) error {
	for _, own := range x.recent {
		if own.Index != stated.Index {
			continue
		}
		if own.Sum != stated.Sum {
			return &DivergedError{Agreed: x.agreed, Index: stated.Index}
		}
		x.agreed = stated.Index
	}
	return nil
}

// Effects returns the effects of the calls up to the last entry that is applied.
func (f *FSM) Effects() persist.Effects {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.applied
}

// endEffects publishes the effects of an entry. Requires: applying is held.
func (f *FSM) endEffects() {
	if f.effects.now.Index <= f.index.Load() {
		return // it has no calls
	}
	f.effects.end()
	f.mu.Lock()
	f.applied = f.effects.now
	f.mu.Unlock()
}

// Diverged reports whether the state differs from the leader's, so that the FSM applies no
// more entries.
func (f *FSM) Diverged() bool { return f.diverged.Load() }

// errDiverged: the state must not be kept.
var errDiverged = errors.New("the state differs from the leader's")

// setEffects continues from effects.
func (f *FSM) setEffects(x persist.Effects) {
	f.effects = effects{now: x, agreed: x.Index}
	f.effects.end()
	f.mu.Lock()
	f.applied = x
	f.mu.Unlock()
	f.diverged.Store(false)
}

// Skipped entries: an operator skips an entry that no node can apply, on each node while no node
// runs. From then on the log of that node has a ControlEntry in its place, also for other nodes. A
// node without the skip may have applied the entry, and then its state differs. Two checks find
// that: the effects of a skipped entry are skippedEffects, and the leader reports its skipped
// entries.

// skippedEffects are the effects of a skipped entry. Calls have the same effects only by chance.
const skippedEffects = 0x5ca1ab1e0ddba11

// skipped counts the effects of a skipped entry, and reports it. Requires: applying is held.
func (f *FSM) skipped(index uint64) {
	f.effects.add(index, skippedEffects)
	if f.o.Skipped != nil {
		f.o.Skipped(index)
	}
}

// A Skips lists the skipped entries of a state.
type Skips struct {
	UpTo    uint64   `json:"up_to"` // index of the last entry of the state; 0: unknown
	Entries []uint64 `json:"entries,omitempty"`
}

// Skips returns the skipped entries of the state up to the last applied entry.
func (f *FSM) Skips() Skips {
	// Read the index first, so that the list is complete up to it.
	index := f.Index()
	f.mu.Lock()
	defer f.mu.Unlock()
	return Skips{index, slices.Clone(f.cluster.Skipped)}
}

// Compare compares the skipped entries of the leader with those of this state. If an entry is
// skipped in only one of the states, this state has diverged.
func (f *FSM) Compare(leader Skips) {
	own := f.Skips()
	for _, pair := range [][2]Skips{{own, leader}, {leader, own}} {
		for _, index := range pair[0].Entries {
			if index <= pair[1].UpTo && !slices.Contains(pair[1].Entries, index) {
				f.diverge(&DivergedError{Agreed: index - 1, Index: index})
				return
			}
		}
	}
}

// diverge stops the application of entries. Only the first call has an effect.
func (f *FSM) diverge(why *DivergedError) {
	if !f.diverged.Swap(true) && f.o.Diverged != nil {
		f.o.Diverged(why)
	}
}
