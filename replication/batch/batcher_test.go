package batch

import (
	"context"
	"errors"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/persist/commit"
	"limitsrv/replication/forward"
	"limitsrv/replication/storage"
)

var (
	errStopped = errors.New("stopped")
	errQuorum  = errors.New("no quorum")
	errOther   = errors.New("another")
)

// A fakeNode has the role that a test sets, and a clock that the test moves.
type fakeNode struct {
	role     Role
	clock    time.Duration
	accepts  int               // requests that Forward accepts at a time
	sent     []forward.Request // to the leader
	builder  commit.Builder[Request]
	proposed error // of Propose
	groups   []*commit.Group[Request]
}

func (n *fakeNode) Role() Role { return n.role }

func (n *fakeNode) Forward(_ storage.Server, all []forward.Request) int {
	accepted := min(n.accepts, len(all))
	n.sent = append(n.sent, all[:accepted]...)
	return accepted
}

func (n *fakeNode) WithoutQuorum(r forward.Request) { r.Done(errQuorum) }

// Propose makes a group of at most two requests.
func (n *fakeNode) Propose(all []Request) (*commit.Group[Request], error) {
	n.builder.Fingerprint = func(engine.Instant, uint8, []byte) int64 { return 1 }
	n.builder.Encode = func(engine.Instant, *engine.Batch) int { return 0 }
	group := n.builder.Build(1, all[:min(2, len(all))], engine.Room{})
	n.groups = append(n.groups, group)
	if !group.Logged() {
		group.Answer(nil)
	}
	return group, n.proposed
}

// A testBatcher is a Batcher of a fakeNode, with the answers to its requests, by their numbers.
type testBatcher struct {
	*Batcher
	node    *fakeNode
	answers map[int][]error
}

// maxHold is the Options.MaxHold of tests.
const maxHold = time.Second

var (
	leads      = func(n *fakeNode) Role { return Role{Elected: true, Leader: n} }
	elected    = func(*fakeNode) Role { return Role{Elected: true} }
	follows    = func(*fakeNode) Role { return Role{Elsewhere: storage.Server{Node: "b", Raft: "b:1"}} }
	leaderless = func(*fakeNode) Role { return Role{} }
)

func newTestBatcher(role func(*fakeNode) Role) *testBatcher {
	n := &fakeNode{clock: time.Hour, accepts: 100}
	n.role = role(n)
	o := Options{Node: n, Mono: func() time.Duration { return n.clock }, MaxHold: maxHold, Stopped: errStopped}
	return &testBatcher{New(o), n, map[int][]error{}}
}

// add adds a request with a number. With expects its batch has an Expect that does not hold.
func (b *testBatcher) add(number int, remote, expects bool) {
	batch := &engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("k")}}}
	if expects {
		batch = &engine.Batch{Atomic: true, Ops: []engine.Op{{Kind: engine.Expect, Key: []byte("k"), N: 7}}}
	}
	b.Add(Request{Remote: remote, Request: forward.Request{Batch: batch, Done: func(err error) {
		b.answers[number] = append(b.answers[number], err)
	}}})
}

// steps sends requests on as long as it can.
func (b *testBatcher) steps() {
	for b.step() {
	}
}

// want checks the answers to the requests from 0 on. A request without an error waits.
func (b *testBatcher) want(t *testing.T, where string, errs ...error) {
	t.Helper()
	for i, want := range errs {
		got := b.answers[i]
		if want == nil && len(got) == 0 {
			continue
		}
		if len(got) != 1 || !errors.Is(got[0], want) {
			t.Errorf("%s: request %d is answered %v, want %v", where, i, got, want)
		}
	}
}

// TestLeading: a leader's requests become groups. Those of a failed group are answered, or tried again
// if they are in no log.
func TestLeading(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		groups  int
		waiting int
		answer  error
	}{
		{"in the log", nil, 2, 0, nil},
		{"in no log", forward.ErrNotAccepted, 1, 3, nil},
		{"perhaps in the log", errOther, 2, 0, persist.ErrUncertain},
	} {
		b := newTestBatcher(leads)
		b.node.proposed = tt.err
		for i := range 3 {
			b.add(i, i == 1, false)
		}
		b.steps()
		if len(b.node.groups) != tt.groups || b.waiting.Len() != tt.waiting {
			t.Errorf("%s: %d groups, %d wait, want %d and %d", tt.name, len(b.node.groups), b.waiting.Len(), tt.groups,
				tt.waiting)
		}
		b.want(t, tt.name, tt.answer, tt.answer, tt.answer)
		if _, uncertain := b.Counts(); uncertain > 0 != (tt.answer != nil) {
			t.Errorf("%s: %d uncertain", tt.name, uncertain)
		}
	}
	b := newTestBatcher(leads)
	b.add(0, false, true)
	b.add(1, false, false)
	b.steps()
	if b.answers[0] == nil || len(b.node.groups) != 2 {
		t.Errorf("an Expect that does not hold is answered %v, and %d groups follow", b.answers[0], len(b.node.groups))
	}
}

// TestFollowing: a follower forwards the requests of its clients. It refuses the requests of other
// nodes, and these nodes try again. It counts the answers, and forwards a request again if the
// leader did not accept it.
func TestFollowing(t *testing.T) {
	b := newTestBatcher(follows)
	b.node.accepts = 4
	for i := range 6 {
		b.add(i, i == 0, false)
	}
	b.steps()
	b.want(t, "forwarded", forward.ErrNotAccepted, nil)
	if len(b.node.sent) != 4 || b.waiting.Len() != 1 {
		t.Fatalf("%d are forwarded, %d wait, want 4 and 1", len(b.node.sent), b.waiting.Len())
	}
	for i, err := range []error{errOther, persist.ErrUncertain, forward.ErrNotAccepted} {
		b.node.sent[i].Done(err)
	}
	b.node.sent[3].Done(nil)
	b.want(t, "answered", forward.ErrNotAccepted, errOther, persist.ErrUncertain, nil)
	if forwarded, uncertain := b.Counts(); forwarded != 1 || uncertain != 1 || len(b.answers[4]) != 1 {
		t.Errorf("%d forwarded and %d uncertain, want 1 and 1; the accepted one has %d answers", forwarded, uncertain,
			len(b.answers[4]))
	}
	b.node.sent, b.node.accepts = nil, 0
	for range 3 {
		b.node.clock += maxHold - 1 // a full link does not count against the time
		b.steps()
	}
	b.want(t, "with a full link", forward.ErrNotAccepted, errOther, persist.ErrUncertain, nil)
	if b.node.accepts = 4; b.step() || len(b.node.sent) != 2 || len(b.answers) != 4 {
		t.Errorf("%d are forwarded again, %d answered, want 2 and 4", len(b.node.sent), len(b.answers))
	}
}

// TestHolding: without a leader the requests of this node's clients wait for MaxHold, and are then
// decided without a quorum. From then on none waits. Those of other nodes are refused at once, unless
// this node was elected.
func TestHolding(t *testing.T) {
	for name, role := range map[string]func(*fakeNode) Role{"elected": elected, "leaderless": leaderless} {
		b := newTestBatcher(role)
		b.add(0, false, false)
		b.add(3, true, false)
		b.steps()
		if refused := len(b.answers[3]) == 1; refused != (name == "leaderless") || len(b.answers[0]) > 0 {
			t.Errorf("%s: another node's request is refused at once: %v; this node's is answered %v", name, refused,
				b.answers[0])
		}
		b.node.clock += maxHold / 2
		b.steps()
		b.want(t, name+", then", nil)
		b.node.clock += maxHold / 2
		b.add(1, true, false)
		b.add(2, false, false)
		b.steps()
		if name == "elected" {
			b.want(t, name, errQuorum, nil, nil, forward.ErrNotAccepted)
			if b.Leaderless() != 0 || b.waiting.Len() != 2 {
				t.Errorf("%s: %v without a leader, %d wait, want 0 and 2", name, b.Leaderless(), b.waiting.Len())
			}
			continue
		}
		b.want(t, name, errQuorum, forward.ErrNotAccepted, errQuorum, forward.ErrNotAccepted)
		if b.Leaderless() != maxHold {
			t.Errorf("%s: %v without a leader, want %v", name, b.Leaderless(), maxHold)
		}
	}
}

// TestStopped: at the end the requests that wait are refused, and so are all later ones.
func TestStopped(t *testing.T) {
	b := newTestBatcher(leaderless)
	b.add(0, false, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.Run(ctx)
	b.add(1, true, false)
	b.want(t, "after Run", errStopped, errStopped)
	if len(b.answers) != 2 {
		t.Errorf("%d requests are answered, want 2", len(b.answers))
	}
}
