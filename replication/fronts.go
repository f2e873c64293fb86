package replication

import (
	"context"
	"encoding/json"
	"fmt"

	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
)

// FrontLevel is the least feature level of a group with fronts.
const FrontLevel = 4

// watchShare is the part of an election timeout after which the leader answers a front that watches
// it, so that the front misses a silent leader soon.
const watchShare = 4

func newFronts(n *Node) *fronts.Hub {
	return fronts.New(fronts.Options{Engine: n.Engine, Notices: n.o.Notices, Hold: n.o.ElectionTimeout / watchShare})
}

// HandleAsked sets the function that answers command lines for fronts. It may block until ctx ends.
func (n *Node) HandleAsked(answer func(ctx context.Context, q fronts.Asked) ([][]byte, error)) {
	n.asked.Store(&answer)
}

// answerFront answers a call of a front.
func (n *Node) answerFront(ctx context.Context, from link.Peer, name string, body json.RawMessage) (any, error) {
	switch name {
	case fronts.CallFind:
		return n.found(), nil
	case fronts.CallWatch:
		return answer(body, func(q fronts.WatchRequest) (any, error) { return n.watched(ctx, from.Node, q) })
	case fronts.CallTexts:
		return answer(body, func(q fronts.TextsRequest) (any, error) {
			return ifLeading(n, func() (fronts.Texts, error) { return n.fronts.Texts(q) })
		})
	case fronts.CallRead:
		return answer(body, func(q fronts.ReadRequest) (any, error) {
			return ifLeading(n, func() (fronts.Read, error) {
				if _, err := n.answeredIndex(ctx, n.leadership()); err != nil {
					return fronts.Read{}, err
				}
				return n.fronts.Read(q, n.clock.now())
			})
		})
	case fronts.CallAsk:
		return answer(body, func(q fronts.Asked) (any, error) {
			by := n.asked.Load()
			if by == nil {
				return nil, errNoMember
			}
			replies, err := (*by)(ctx, q)
			return fronts.Answered{Replies: replies}, err
		})
	}
	return nil, fmt.Errorf("node %s calls %q, which this version of limitsrv does not support", from.Node, name)
}

// ifLeading returns the result of read if this node leads before and after it.
func ifLeading[R any](n *Node, read func() (R, error)) (r R, err error) {
	before := n.leadership()
	if !before.leading {
		return r, errNotLeader
	}
	if r, err = read(); err == nil && !before.stillLeads() {
		err = errNotLeader
	}
	return r, err
}

// found describes this node for a front.
func (n *Node) found() fronts.Found {
	lead := n.leadership()
	f := fronts.Found{Self: n.self(), Cluster: n.identity().Cluster, Leads: lead.leading, Term: lead.term, Leader: lead.leader}
	if s := lead.stack; s != nil {
		f.Level, f.Settling = s.FSM.Level(), lead.elected && n.isSettling(s)
		f.Servers = serversOf(s.raft)
	}
	return f
}

// watched waits for news for a front. Requires: this node leads.
func (n *Node) watched(ctx context.Context, front string, q fronts.WatchRequest) (fronts.Watched, error) {
	return ifLeading(n, func() (fronts.Watched, error) {
		w, err := n.fronts.Watch(ctx, front, q)
		lead := n.leadership()
		if err != nil || !lead.leading {
			return w, err
		}
		w.Now, w.Level, w.Term, w.Nodes = n.clock.now(), lead.fsm.Level(), lead.term, n.Nodes("")
		if n.isSettling(lead.stack) {
			w.Pending = "the leader has not logged its rules or the features of all nodes yet"
		}
		return w, nil
	})
}
