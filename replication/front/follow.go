package front

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"limitsrv/replication/broadcast"
	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// findAgain is the pause between two searches for the leader.
const findAgain = 20 * time.Millisecond

// Leader returns the leader; the zero value: it is unknown.
func (n *Front) Leader() storage.Server {
	leader, _ := n.leading()
	return leader
}

// leading returns the leader, as Leader does, and a context that ends when it is the leader no more.
func (n *Front) leading() (storage.Server, context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leader, n.leads
}

// suspect has the leader looked for.
func (n *Front) suspect() {
	select {
	case n.suspected <- struct{}{}:
	default:
	}
}

// follow finds the leader, and watches it until it is silent or leads no more. It runs in a goroutine
// until the front stops.
func (n *Front) follow() {
	watched := make(chan error, 1)
	for n.stopping.Err() == nil {
		leader, found := n.find()
		for found {
			n.setLeader(leader)
			ctx, cancel := context.WithCancel(n.stopping)
			self := leader.Self
			go func() { watched <- n.watch(ctx, self) }()
			leader, found = n.await(leader, watched, cancel)
			cancel()
			n.dropLeader()
		}
		n.sleep(findAgain)
	}
}

// await returns when the watch of a leader has ended. It ends the watch if another node leads in a
// later term, and returns that node. The caller must not search again: a former leader that does not
// know the new term may answer faster.
func (n *Front) await(leader fronts.Found, watched <-chan error,
	end context.CancelFunc) (next fronts.Found, found bool) {
	for {
		select {
		case err := <-watched:
			n.log.Debug("the leader is watched no more", "node", leader.Self.Node, "error", err)
			return next, false
		case <-n.suspected:
			other, found := n.find()
			switch {
			case found && other.Self == leader.Self:
				leader.Term = max(leader.Term, other.Term)
			case found && other.Term > leader.Term:
				end()
				<-watched
				return other, true
			}
			n.sleep(findAgain)
		}
	}
}

// sleep waits for a time, or until the front stops.
func (n *Front) sleep(d time.Duration) {
	select {
	case <-n.stopping.Done():
	case <-time.After(d):
	}
}

// setLeader makes a node the leader. Requires: the leader is unknown.
func (n *Front) setLeader(f fronts.Found) {
	n.mu.Lock()
	n.leads, n.deposed = context.WithCancel(n.stopping)
	n.leader, n.found, n.cluster = f.Self, true, f.Cluster
	n.mu.Unlock()
	n.leaders.Add(1)
	n.log.Info("a leader was found", "node", f.Self.Node, "address", f.Self.Raft)
	n.setNodes(f.Servers)
	n.forwarder.LeaderIs(f.Self.Node)
	n.batcher.Kick()
}

// dropLeader makes the leader unknown, and tells the clients that any key may have changed.
func (n *Front) dropLeader() {
	n.mu.Lock()
	n.deposed()
	n.leader, n.lost = storage.Server{}, n.mono()
	n.mu.Unlock()
	n.changes.lose(n.o.Notices)
}

// isLost reports whether no leader has been known for as long as a request waits.
func (n *Front) isLost() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leader.Raft == "" && n.mono()-n.lost >= n.hold()
}

// setNodes notes the nodes of the group.
func (n *Front) setNodes(all []storage.Server) {
	if len(all) == 0 {
		return
	}
	peers := make([]broadcast.Peer, 0, len(all))
	known := slices.Clone(n.o.Nodes)
	for _, s := range all {
		peers = append(peers, broadcast.Peer{Node: s.Node, Address: s.Raft})
		if !slices.Contains(known, s.Raft) {
			known = append(known, s.Raft)
		}
	}
	n.messages.SetPeers(peers)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = known
}

// learnNodes adds nodes that a node has named to those that are asked for the leader.
func (n *Front) learnNodes(all []storage.Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range all {
		if !slices.Contains(n.known, s.Raft) {
			n.known = append(slices.Clone(n.known), s.Raft)
		}
	}
}

// find asks all known nodes, and returns the node that leads; if several do, the one of the latest
// term.
func (n *Front) find() (leader fronts.Found, found bool) {
	n.mu.Lock()
	known, cluster, before := n.known, n.cluster, n.found
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(n.stopping, n.timeout())
	defer cancel()
	var (
		mu    sync.Mutex
		wait  sync.WaitGroup
		older string // the address of a node of an older version
	)
	for _, address := range known {
		wait.Go(func() {
			var f fronts.Found
			err := n.links.Call(ctx, address, fronts.CallFind, struct{}{}, &f)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				if isUnsupported(err) {
					older = address
				} else if ctx.Err() == nil {
					n.logUnreachable(address, err)
				}
			case !cluster.IsZero() && f.Cluster != cluster:
				n.logUnreachable(address,
					fmt.Errorf("it is in cluster %v, and this front is before cluster %v", f.Cluster, cluster))
			case !f.Leads:
				n.learnNodes(f.Servers)
			case f.Level < n.o.Level:
				n.logUnreachable(address, fmt.Errorf("the log of its group has feature level %d, and a front needs level %d, "+
					"which the log gets when all its nodes run this version", f.Level, n.o.Level))
			case !found || f.Term > leader.Term:
				leader, found = f, true
				// A node that does not answer at all must not delay the rest.
				time.AfterFunc(findAgain, cancel)
			}
		})
	}
	wait.Wait()
	if !found && older != "" && !before {
		n.fatal(fmt.Errorf("the nodes of %s run an older limitsrv: upgrade them first", older))
	}
	return leader, found
}

// logUnreachable logs why a node can't be asked.
func (n *Front) logUnreachable(address string, why error) {
	if n.logOnce.Allow(address + why.Error()) {
		n.log.Warn("a node does not answer this front", "address", address, "error", why)
	}
}

// isUnsupported reports whether a node does not know a call.
func isUnsupported(err error) bool {
	return !errors.Is(err, link.ErrUnanswered) &&
		strings.Contains(err.Error(), "which this version of limitsrv does not support")
}

// errRewatch ends a call that must be made again because the front wants other news.
var errRewatch = errors.New("the front wants other news")

// watch takes the news of the leader until a call fails, and returns the reason. The news of a call
// without a reply are lost, so the next call is a first.
func (n *Front) watch(ctx context.Context, leader storage.Server) error {
	caller := n.links.NewCaller()
	caller.Once = true
	defer caller.Close()
	for first := true; ; {
		q := n.wants()
		q.First = first
		var w fronts.Watched
		asked := n.clock.mono()
		err := n.watchOnce(ctx, caller, leader, q, &w)
		switch {
		case err == nil:
			first = false
			n.note(&w, asked)
			n.changes.note(n.o.Notices, q, &w)
		case ctx.Err() == nil && errors.Is(err, errRewatch):
			first = true
		default:
			return err
		}
	}
}

// wants returns the news that the front wants. A front that wants keys also wants lists. So the wants
// change less often: each change ends a call, and then clients drop all values.
func (n *Front) wants() fronts.WatchRequest {
	tracks := n.o.Notices.Tracks()
	return fronts.WatchRequest{Lists: tracks || n.o.Notices.Watchers() > 0, Tracks: tracks}
}

// watchOnce makes a call. It returns errRewatch if stopWatch ended it.
func (n *Front) watchOnce(ctx context.Context, caller *link.Caller, leader storage.Server, q fronts.WatchRequest,
	w *fronts.Watched) error {
	over, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bounded, end := context.WithTimeout(over, n.timeout()+n.o.ElectionTimeout/2)
	defer end()
	n.mu.Lock()
	n.rewatch = func() {
		if !n.isWanted(q) {
			cancel(errRewatch)
		}
	}
	n.mu.Unlock()
	if !n.isWanted(q) {
		return errRewatch
	}
	err := caller.Call(bounded, leader.Raft, fronts.CallWatch, q, w)
	if err != nil && context.Cause(over) == errRewatch {
		return errRewatch
	}
	return err
}

// isWanted reports whether a call asks for the news that the front wants.
func (n *Front) isWanted(q fronts.WatchRequest) bool {
	w := n.wants()
	w.First = q.First
	return w == q
}

// stopWatch ends the call in flight if the front wants other news.
func (n *Front) stopWatch() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rewatch != nil {
		n.rewatch()
	}
}

// note takes the news of the leader, for which the front asked at a time of [clock.mono].
func (n *Front) note(w *fronts.Watched, asked time.Duration) {
	n.clock.heard(w.Now, asked+w.Waited)
	n.mu.Lock()
	n.heard = n.mono()
	if w.Counts != nil {
		n.counts = *w.Counts
	}
	messages, grown, missed := w.Messages, w.Grown, w.Missed
	n.news = *w
	n.news.Messages, n.news.Grown, n.news.Counts, n.news.Changed = nil, nil, nil, nil
	n.mu.Unlock()
	var servers []storage.Server
	for _, node := range w.Nodes {
		servers = append(servers, storage.Server{Node: node.ID, Raft: node.Raft})
	}
	n.setNodes(servers)
	n.wantTexts()
	if deliver := n.published.Load(); deliver != nil {
		for _, m := range messages {
			(*deliver)(m.Channel, m.Text)
		}
	}
	switch {
	case missed:
		n.o.Notices.Grew(nil)
	case len(grown) > 0:
		n.o.Notices.Grew(grown)
	}
}

// Publish sends a message to the clients of the nodes, and of the other fronts. It does not block.
func (n *Front) Publish(channel, message []byte) { n.messages.Send(channel, message) }

// HandlePublished sets the function that gets the messages for clients: of the nodes, of other
// fronts, and of scripts. deliver must not keep the bytes and must not block.
func (n *Front) HandlePublished(deliver func(channel, message []byte)) { n.published.Store(&deliver) }
