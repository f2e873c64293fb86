package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
	"limitsrv/replication/undecided"
)

const wait = 10 * time.Second

// A fakeNode answers the calls of a front as found says, with the texts of an engine.
type fakeNode struct {
	address string
	found   atomic.Pointer[fronts.Found] // nil: it knows no calls of fronts
	hub     *fronts.Hub
	notices *engine.Notices
	engine  *engine.Engine
	reads   atomic.Int64 // answered
	noReads bool
	asks    atomic.Int64 // questions that wait
	// watch, unless nil, sees each call of a watch. The call has no reply if it returns false.
	watch atomic.Pointer[func(fronts.WatchRequest) bool]
	finds atomic.Int64 // searches for the leader that it answered
	late  atomic.Bool  // it answers them later than a search waits after the first answer
}

// newFakeNode starts a node with an id made of a digit.
func newFakeNode(t *testing.T, digit string) *fakeNode {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNode{address: listener.Addr().String(), engine: engine.New(engine.Options{}),
		notices: new(engine.Notices)}
	n.hub = fronts.New(fronts.Options{Engine: func() *engine.Engine { return n.engine }, Notices: n.notices,
		Hold: 50 * time.Millisecond})
	id := strings.Repeat(digit, 40)
	l, err := link.New(link.Options{
		Listener: listener, Address: n.address, Identity: func() link.Identity { return link.Identity{Node: id} },
		Log: slog.New(slog.DiscardHandler), Timeout: time.Second, Call: n.answer,
	})
	if err != nil {
		t.Fatal(err)
	}
	go l.Serve()
	t.Cleanup(func() { l.Close() })
	return n
}

// leads makes the node the leader of a cluster, or a node that is not.
func (n *fakeNode) leads(leads bool, cluster byte, term uint64, level int) {
	n.found.Store(&fronts.Found{Self: storage.Server{Node: strings.Repeat("9", 40), Raft: n.address}, Leads: leads,
		Cluster: link.ClusterID{cluster}, Term: term, Level: level})
}

func (n *fakeNode) answer(ctx context.Context, from link.Peer, name string, body json.RawMessage) (any, error) {
	found := n.found.Load()
	if found == nil {
		return nil, fmt.Errorf("node %s calls %q, which this version of limitsrv does not support", from.Node, name)
	}
	switch name {
	case fronts.CallFind:
		if n.late.Load() {
			<-ctx.Done()
		}
		n.finds.Add(1)
		return found, nil
	case fronts.CallWatch:
		var q fronts.WatchRequest
		_ = json.Unmarshal(body, &q)
		if watch := n.watch.Load(); watch != nil && !(*watch)(q) {
			return make(chan int), nil // no JSON: the link breaks
		}
		w, err := n.hub.Watch(ctx, from.Node, q)
		w.Now, w.Level, w.Term = 1e18, found.Level, found.Term
		return w, err
	case fronts.CallTexts:
		var q fronts.TextsRequest
		_ = json.Unmarshal(body, &q)
		return n.hub.Texts(q)
	case fronts.CallRead:
		var q fronts.ReadRequest
		if _ = json.Unmarshal(body, &q); n.noReads {
			break
		}
		defer n.reads.Add(1)
		return n.hub.Read(from.Node, q, 1e18)
	case fronts.CallAsk: // as WAIT does
		n.asks.Add(1)
		defer n.asks.Add(-1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, link.NewError("CLUSTERDOWN", "it answers nothing else")
}

// openFront starts a front before nodes.
func openFront(t *testing.T, nodes ...*fakeNode) (f *Front, failed chan error) {
	t.Helper()
	return openSlowFront(t, 300*time.Millisecond, nodes...)
}

// openSlowFront starts a front with an election timeout.
func openSlowFront(t *testing.T, election time.Duration, nodes ...*fakeNode) (f *Front, failed chan error) {
	t.Helper()
	failed = make(chan error, 1)
	o := Options{Client: "127.0.0.1:6379", NoQuorum: undecided.Error, ElectionTimeout: election, Level: 4,
		Notices: new(engine.Notices), Logger: slog.New(slog.DiscardHandler), Fatal: func(err error) { failed <- err }}
	for _, n := range nodes {
		o.Nodes = append(o.Nodes, n.address)
	}
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f, failed
}

// TestOlderNodes: a front ends before nodes of an older version. It waits for the leader if only some
// node is older, or as long as the log has an older level.
func TestOlderNodes(t *testing.T) {
	n := newFakeNode(t, "1")
	_, failed := openFront(t, n)
	want := "the nodes of " + n.address + " run an older limitsrv: upgrade them first"
	if err := <-failed; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	older, leader := newFakeNode(t, "1"), newFakeNode(t, "2")
	leader.leads(true, 1, 1, 3)
	f, failed := openFront(t, leader)
	time.Sleep(3 * findAgain)
	if len(failed) > 0 || f.Leader().Raft != "" {
		t.Errorf("under a log of level 3 the leader is %+v, and %d errors end the front", f.Leader(), len(failed))
	}
	leader.leads(true, 1, 1, 4)
	testwait.Until(t, wait, "the leader is found", func() bool { return f.Leader().Raft == leader.address })
	f, _ = openFront(t, older, leader)
	testwait.Until(t, wait, "the leader is found", func() bool { return f.Leader().Raft == leader.address })
}

// TestLeaderFound: the front follows the leader of the latest term, and no node of another cluster.
func TestLeaderFound(t *testing.T) {
	a, b, other := newFakeNode(t, "1"), newFakeNode(t, "2"), newFakeNode(t, "3")
	a.leads(true, 1, 7, 4)
	b.leads(false, 1, 7, 4)
	b.found.Load().Servers = []storage.Server{{Node: strings.Repeat("1", 40), Raft: a.address}}
	other.leads(false, 2, 99, 4)
	f, _ := openFront(t, b, other) // b names a
	testwait.Until(t, wait, "the leader is found", func() bool { return f.Leader().Raft == a.address })
	if r := f.Replication(); r.Role != status.Front || !r.HasQuorum {
		t.Errorf("with a leader it is %+v", r)
	}
	other.leads(true, 2, 99, 4)
	b.leads(true, 1, 8, 4)
	testwait.Until(t, wait, "the next leader is found", func() bool {
		f.suspect()
		return f.Leader().Raft == b.address
	})
	testwait.Until(t, wait, "the next leader is watched, though the former leader still answers",
		func() bool { return f.Replication().Term == 8 })
}

// TestTextsInParts: a front copies texts that take many answers, and then those that have changed.
func TestTextsInParts(t *testing.T) {
	n := newFakeNode(t, "1")
	n.leads(true, 1, 1, 4)
	var b engine.Batch
	for i := range 9 {
		b.AddLearn(fmt.Appendf(nil, "\xff%0*d", 1<<19, i))
	}
	n.engine.Apply(1e18, &b)
	f, _ := openFront(t, n)
	same := func() bool { return f.Engine().TextMark(engine.SourceTexts) == n.engine.TextMark(engine.SourceTexts) }
	testwait.Until(t, wait, "all texts are copied", func() bool { return same() && f.Replication().Pending == "" })
	var flush engine.Batch
	flush.AddFlush()
	flush.AddLearn([]byte("another"))
	n.engine.Apply(1e18, &flush)
	testwait.Until(t, wait, "the changes are copied", same)
	if known, _ := f.Engine().Sources(); known != 10 {
		t.Errorf("%d sources, want 10", known)
	}
}

// TestAsksEnd: a question to the leader ends when its client has gone, and when there is another leader,
// which is then asked. The questions in flight are bounded.
func TestAsksEnd(t *testing.T) {
	a, b := newFakeNode(t, "1"), newFakeNode(t, "2")
	a.leads(true, 1, 1, 4)
	b.leads(false, 1, 1, 4)
	f, _ := openSlowFront(t, 5*time.Second, a, b) // hundreds of links are dialed at once
	testwait.Until(t, wait, "the leader is found", func() bool { return f.Leader().Raft == a.address })
	gone := errors.New("the client has gone")
	clients, hangUp := context.WithCancelCause(context.Background())
	const many = mostAsks + 9
	answers := make(chan error, many)
	for range many {
		f.Ask(clients, fronts.Asked{}, func(_ [][]byte, err error) { answers <- err })
	}
	testwait.Until(t, wait, "the leader is asked", func() bool { return a.asks.Load() >= mostAsks })
	b.found.Store(&fronts.Found{Self: storage.Server{Node: strings.Repeat("8", 40), Raft: b.address}, Leads: true,
		Cluster: link.ClusterID{1}, Term: 2, Level: 4})
	a.leads(false, 1, 1, 4) // on a busy machine the front would find it again and again
	testwait.Until(t, wait, "the next leader is asked instead", func() bool {
		f.suspect()
		return a.asks.Load() == 0 && b.asks.Load() == mostAsks
	})
	hangUp(gone)
	for range many {
		if err := <-answers; err != gone {
			t.Errorf("the answer is %v, want %v", err, gone)
		}
	}
	testwait.Until(t, wait, "no question is left", func() bool { return b.asks.Load() == 0 })
}

// TestLostNews: the news of a watch without a reply may be lost, so the next watch of the front asks for
// all news.
func TestLostNews(t *testing.T) {
	for _, lose := range []string{"the front wants other news", "the link breaks"} {
		n := newFakeNode(t, "1")
		calls, replies, over := make(chan bool), make(chan bool), make(chan struct{})
		watch := func(q fronts.WatchRequest) bool {
			select {
			case calls <- q.First:
			case <-over:
				return true
			}
			select {
			case has := <-replies:
				return has
			case <-over:
				return true
			}
		}
		n.watch.Store(&watch)
		n.leads(true, 1, 1, 4)
		f, _ := openSlowFront(t, time.Minute, n)
		first := <-calls
		replies <- true
		later := <-calls
		if lose == "the link breaks" {
			replies <- false
		} else {
			f.o.Notices.Watch(1)
		}
		again := <-calls
		close(over)
		if !first || later || !again {
			t.Errorf("%s: of three calls %v, %v, %v are first", lose, first, later, again)
		}
	}
}

// TestLeaderLostForLong: a read does not wait if no leader has been known for as long as a request waits.
func TestLeaderLostForLong(t *testing.T) {
	n := newFakeNode(t, "1")
	n.leads(false, 1, 1, 4)
	f, _ := openSlowFront(t, 10*time.Second, n)
	f.mu.Lock()
	f.lost = -f.hold()
	f.mu.Unlock()
	began, failed := time.Now(), make(chan error)
	f.Fresh(func(err error) { failed <- err })
	if err := <-failed; err != errNoLeader || time.Since(began) > f.hold()/2 {
		t.Errorf("without a leader for long, a read is answered %v after %v", err, time.Since(began))
	}
}

// TestScanWithoutAnswer: a scan that the leader does not answer is an error, and no end of the keys.
func TestScanWithoutAnswer(t *testing.T) {
	n := newFakeNode(t, "1")
	n.noReads = true
	n.leads(true, 1, 1, 4)
	f, _ := openFront(t, n)
	if cursor, err := (State{f}).Scan(1e18, 0, 0, 1, nil); err == nil {
		t.Errorf("the scan ends with the cursor %d", cursor)
	}
}
