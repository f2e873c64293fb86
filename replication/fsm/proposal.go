package fsm

import (
	"slices"

	"limitsrv/engine"
	"limitsrv/internal/invariants"
	"limitsrv/persist"
)

// A Proposal is an entry that this node puts into the log. The FSM applies its batches
// instead of decoding the entry, so that the decisions are in them. Either Apply claims it
// or the node abandons it; that side answers the requests.
type Proposal struct {
	stamp    engine.Instant
	group    Group
	data     []byte
	applying chan struct{} // closed when the FSM begins to apply it
	applied  chan struct{} // closed when the FSM has applied it
	done     func()
}

// A Group is the requests of a proposal.
type Group interface {
	// Claim reports whether the group is the FSM's to apply.
	Claim() bool
	// Batches yields the batches of the entry, in order.
	Batches(yield func(*engine.Batch) bool)
}

// NewProposal returns a proposal of a group with its stamp and its entry, which must not
// change. done is called by the [FSM]'s goroutine when the group is applied and counted; it
// may reuse the group.
func NewProposal(stamp engine.Instant, group Group, entry []byte, done func()) *Proposal {
	return &Proposal{stamp: stamp, group: group, data: entry, applying: make(chan struct{}), applied: make(chan struct{}),
		done: done}
}

// Entry returns the bytes to put into the log: this memory, because the [FSM] recognizes
// the proposal by it.
func (p *Proposal) Entry() []byte { return p.data }

// Applying is closed when the [FSM] begins to apply the proposal.
func (p *Proposal) Applying() <-chan struct{} { return p.applying }

// Applied is closed when the [FSM] has applied the proposal.
func (p *Proposal) Applied() <-chan struct{} { return p.applied }

// owns reports whether data is the memory of this proposal's entry. Equal bytes elsewhere
// do not count.
func (p *Proposal) owns(data []byte) bool {
	return len(data) > 0 && len(data) == len(p.data) && &data[0] == &p.data[0]
}

// checkEntry checks that other nodes decode the batches of the group, at its stamp, from the entry.
func (p *Proposal) checkEntry(commands engine.Commands) {
	var batches, decoded []int // numbers of ops
	p.group.Batches(func(b *engine.Batch) bool {
		batches = append(batches, len(b.Ops))
		return true
	})
	d := persist.Decoder{Commands: commands}
	err := d.Decode(p.data, func(stamp engine.Instant, b *engine.Batch) error {
		if stamp != p.stamp {
			invariants.Violated("the entry of a proposal at %d has a batch at %d", p.stamp, stamp)
		}
		decoded = append(decoded, len(b.Ops))
		return nil
	})
	if err != nil || !slices.Equal(batches, decoded) {
		invariants.Violated("the entry of a proposal has batches of %d ops, want %d (error: %v)", decoded, batches, err)
	}
}
