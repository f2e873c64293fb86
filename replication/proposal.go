package replication

import (
	"bytes"

	"limitsrv/persist/commit"
)

// A proposal is a group of requests that goes through the log as one entry. Either
// fsm.Apply claims it or Node.propose abandons it; that side answers the requests.
type proposal struct {
	*commit.Group[waitingRequest]
	data     []byte
	applying chan struct{} // closed when the FSM begins to apply it
	applied  chan struct{} // closed when the FSM has applied it
}

// newProposal returns a proposal of a group with a copy of its entry.
func newProposal(group *commit.Group[waitingRequest], entry []byte) *proposal {
	return &proposal{Group: group, data: bytes.Clone(entry), applying: make(chan struct{}), applied: make(chan struct{})}
}

// owns reports whether data is the memory of this proposal's entry. Equal bytes elsewhere
// do not count.
func (f *proposal) owns(data []byte) bool {
	return len(data) > 0 && len(data) == len(f.data) && &data[0] == &f.data[0]
}
