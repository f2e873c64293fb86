package front

import (
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// TestEarlierTerm: a front does not return to a leader of an earlier term that does not know of the
// next leader yet, and answers searches faster.
func TestEarlierTerm(t *testing.T) {
	a, b := newFakeNode(t, "1"), newFakeNode(t, "2")
	a.leads(false, 1, 1, 4)
	b.found.Store(&fronts.Found{Self: storage.Server{Node: strings.Repeat("8", 40), Raft: b.address}, Leads: true,
		Cluster: link.ClusterID{1}, Term: 2, Level: 4})
	f, _ := openFront(t, a, b)
	testwait.Until(t, wait, "the leader is found", func() bool { return f.Leader().Raft == b.address })
	b.late.Store(true)
	a.leads(true, 1, 1, 4)
	before := a.finds.Load()
	testwait.Until(t, wait, "the front searches again", func() bool {
		f.suspect()
		return a.finds.Load() >= before+3
	})
	if at := f.Leader().Raft; at != b.address {
		t.Errorf("the leader is %s, want %s", at, b.address)
	}
}
