package commands

import (
	"slices"

	"limitsrv/commands/resp"
	"limitsrv/status"
)

var (
	errSingleNode = resp.NewError("ERR", "the server is not a member of a cluster")
	errMeet       = resp.NewError("ERR", "CLUSTER MEET is not supported: start the node with --join and the --raft address of a member")
	errForgetSelf = resp.NewError("ERR", "I tried hard but I can't forget myself... use CLUSTER LEAVE to remove this node")
	errLeads      = resp.NewError("ERR", "the node is the leader already")
	errTakeover   = resp.NewError("ERR", "TAKEOVER is not supported: a leader needs the votes of a majority")
)

// membershipFlags are the flags of commands that change the members or the leader, and
// reply when the change has ended.
const membershipFlags = Admin | NoMulti

// change begins a Change and replies at its end.
func (s *Session) change(c Change) {
	s.deferReply(func(done func(error)) error {
		return resp.Expose(s.h.config.Cluster.Change(c, func(err error) { done(resp.Expose(err)) }))
	}, (*resp.Writer).OK)
}

// changeNode begins a Change of a node, named by its id or by its Raft address.
func (s *Session) changeNode(kind ChangeKind, nodes []status.Node, name []byte) {
	i := slices.IndexFunc(nodes, func(n status.Node) bool { return n.ID == string(name) || n.Raft != "" && n.Raft == string(name) })
	switch {
	case i < 0:
		s.w.Error(unknownNode(name))
	case i == 0 && kind == Forget:
		s.w.Error(errForgetSelf)
	case nodes[i].Leader && kind == Transfer:
		s.w.Error(errLeads)
	default:
		s.change(Change{Kind: kind, ID: nodes[i].ID, Raft: nodes[i].Raft})
	}
}

func runForget(s *Session, nodes []status.Node, args [][]byte) { s.changeNode(Forget, nodes, args[2]) }

func runLeave(s *Session, nodes []status.Node, _ [][]byte) {
	s.change(Change{Kind: Leave, ID: nodes[0].ID, Raft: nodes[0].Raft})
}

// runFailover without a node, or with FORCE, transfers leadership to this node if it is a
// replica, as in Redis, and to any other node if it is the leader.
func runFailover(s *Session, nodes []status.Node, args [][]byte) {
	switch {
	case len(args) == 3 && isWord(args[2], "TAKEOVER"):
		s.w.Error(errTakeover)
	case len(args) == 3 && !isWord(args[2], "FORCE"):
		s.changeNode(Transfer, nodes, args[2])
	case nodes[0].Leader:
		s.change(Change{Kind: Transfer})
	default:
		s.change(Change{Kind: Transfer, ID: nodes[0].ID, Raft: nodes[0].Raft})
	}
}
