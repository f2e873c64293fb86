package replication

import (
	"context"
	"errors"
	"net"

	"limitsrv/replication/broadcast"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// Publish sends a message to the clients of the other nodes. Each node gets it at most once, in the
// order of the calls. It does not block. Concurrency: any goroutine.
func (n *Node) Publish(channel, message []byte) {
	// A new member gets the list of the other nodes from the leader.
	if s := n.stack.Load(); s != nil && !n.messages.HasPeers() {
		n.refreshServers(s.raft)
	}
	n.messages.Send(channel, message)
	n.fronts.Publish("", channel, message)
}

// HandlePublished sets the function that receives the messages of other nodes. deliver must not
// keep the bytes and must not block. Until it is set, messages are dropped. Concurrency: one
// goroutine for each other node calls deliver.
func (n *Node) HandlePublished(deliver func(channel, message []byte)) { n.published.Store(&deliver) }

// receiveMessages serves a link for messages.
func (n *Node) receiveMessages(conn net.Conn, from link.Peer) error {
	return broadcast.Receive(conn, func(channel, message []byte) {
		n.fronts.Publish(from.Node, channel, message)
		if deliver := n.published.Load(); deliver != nil {
			(*deliver)(channel, message)
		}
	})
}

// errNoMessages is the error of a dial to a node of a version without links for messages.
var errNoMessages = errors.New("the node is of a version that gets no messages")

// dialMessages dials a link for messages. It returns errNoMessages for a node of an earlier
// version.
func (n *Node) dialMessages(ctx context.Context, address, node string) (net.Conn, error) {
	if s := n.stack.Load(); s != nil {
		if m := s.FSM.Member(node); m.Level > 0 && m.Level < fsm.PromisesLevel {
			return nil, errNoMessages
		}
	}
	return n.links.DialMessages(ctx, address, node)
}

// setServers passes the list of the members on to n.peers and n.messages.
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

// tellMessages is called by the FSM after an entry with messages. On the leader it tells the
// members at once that the entry is committed, so that they apply it before the next heartbeat.
func (n *Node) tellMessages(index uint64) {
	if lead := n.leadership(); lead.leading {
		lead.stack.transport.TellAll(lead.term, index)
	}
}
