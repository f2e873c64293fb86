package front

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"limitsrv/internal/status"
	"limitsrv/replication/link"
)

// Replication returns the status of the front, as far as it has any.
func (n *Front) Replication() status.Replication {
	n.mu.Lock()
	leader, news, heard, copied, cluster := n.leader, n.news, n.heard, n.copied, n.cluster
	n.mu.Unlock()
	forwarded, uncertain := n.batcher.Counts()
	sent, dropped := n.messages.Counts()
	r := status.Replication{
		Role: status.Front, ClusterID: cluster.String(), HasQuorum: leader.Raft != "", Term: news.Term,
		FeatureLevel: uint64(news.Level), LastContact: -1,
		Held: n.batcher.Held(), NoQuorum: string(n.o.NoQuorum), Links: n.links.Authentication(),
		Totals: status.Totals{
			Forwarded: forwarded, Uncertain: uncertain,
			NoQuorum: n.undecided.Answered(), Refused: n.undecided.Refused.Load(),
			LeaderChanges: n.leaders.Load(), MessagesSent: sent, MessagesDropped: dropped,
		},
	}
	switch {
	case !r.HasQuorum:
		r.Trouble = errNoLeader.Error()
	case !copied:
		r.Pending = "this front has not copied the rules and scripts of its group yet"
	default:
		r.Pending = news.Pending
	}
	if news.Level > 0 {
		r.LastContact = n.mono() - heard
	}
	return r
}

// FeatureLevel returns the feature level of the group's log, as far as the front knows it.
func (n *Front) FeatureLevel() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return max(n.news.Level, n.o.Level)
}

// Nodes returns the front, and then the nodes of the group as the leader knows them.
func (n *Front) Nodes(local string) []status.Node {
	n.mu.Lock()
	leader, news := n.leader, n.news
	n.mu.Unlock()
	self := status.Node{ID: n.id, Front: true, Online: true, Version: n.o.Version}
	if host, port, err := net.SplitHostPort(n.o.Client); err == nil {
		self.Host = host
		self.Port, _ = strconv.Atoi(port)
	}
	all := []status.Node{self}
	for _, m := range news.Nodes {
		m.Leader = m.ID == leader.Node
		all = append(all, m)
	}
	return all
}

// A ChangeRequest is a change of the members, in the form of the nodes' calls.
type ChangeRequest struct {
	Kind string `json:"kind"`
	Node string `json:"node"`
}

// changeTimeout bounds a change of the members.
const changeTimeout = 5 * time.Second

var (
	errNoState    = link.NewError("ERR", "a front keeps no state: send it to a node")
	errChangeLost = link.NewError("UNCERTAIN",
		"the change of the cluster may or may not have been made: CLUSTER NODES shows it")
)

// NoState returns the error of commands that only a node carries out.
func NoState() error { return errNoState }

// Change has the leader change the members. It calls done once, from another goroutine. A front can't
// lead: a change that makes it the leader makes any other node the leader.
func (n *Front) Change(c ChangeRequest, done func(error)) {
	if c.Node == n.id {
		c.Node = ""
	}
	go func() {
		ctx, cancel := context.WithTimeout(n.stopping, changeTimeout)
		defer cancel()
		err := n.leaderCall(ctx, false, "change", c, nil)
		if errors.Is(err, link.ErrUnanswered) {
			err = errChangeLost
		}
		done(err)
	}()
}
