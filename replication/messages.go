package replication

import (
	"context"
	"errors"
	"net"

	"limitsrv/replication/broadcast"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// Publish sends a message to the other nodes, for their clients: at most once, and in the order of
// the calls. It does not block. Concurrency: any goroutine.
func (n *Node) Publish(channel, message []byte) {
	if s := n.stack.Load(); s != nil && !n.messages.HasPeers() { // a new member learns from the leader which others there are
		n.refreshServers(s.raft)
	}
	n.messages.Send(channel, message)
}

// HandlePublished sets the function that gets the messages that other nodes publish. It must not
// keep the bytes, and must not block. Concurrency: it is called by a goroutine for each other node.
// Until then messages are dropped.
func (n *Node) HandlePublished(deliver func(channel, message []byte)) { n.published.Store(&deliver) }

// receiveMessages serves a link for messages.
func (n *Node) receiveMessages(conn net.Conn) error {
	return broadcast.Receive(conn, func(channel, message []byte) {
		if deliver := n.published.Load(); deliver != nil {
			(*deliver)(channel, message)
		}
	})
}

// errNoMessages refuses a dial of a node that knows no links for messages.
var errNoMessages = errors.New("the node is of a version that gets no messages")

// dialMessages dials a link for messages.
func (n *Node) dialMessages(ctx context.Context, address, node string) (net.Conn, error) {
	if s := n.stack.Load(); s != nil {
		if m := s.FSM.Member(node); m.Level > 0 && m.Level < fsm.PromisesLevel {
			return nil, errNoMessages
		}
	}
	return n.links.DialMessages(ctx, address, node)
}

// setServers tells the peers and the messages which nodes are members.
func (n *Node) setServers(servers []storage.Server) {
	n.peers.setServers(servers, n.mono())
	others := make([]broadcast.Peer, 0, len(servers))
	for _, s := range servers {
		if s.Node != n.identity().Node {
			others = append(others, broadcast.Peer{Node: s.Node, Address: s.Raft})
		}
	}
	n.messages.SetPeers(others)
}

// tellMessages is called by the FSM of a node after an entry with messages. The leader tells the
// members that the entry is committed, so that they apply it now, and not with the next heartbeat.
func (n *Node) tellMessages(index uint64) {
	if lead := n.leadership(); lead.leading {
		lead.stack.transport.TellAll(lead.term, index)
	}
}
