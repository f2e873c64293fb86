package commands

import (
	"slices"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/internal/status"
)

var (
	errMeet = resp.NewError("ERR",
		"CLUSTER MEET is not supported: start the node with --join and the --raft address of a member")
	errForgetSelf = resp.NewError("ERR", "I tried hard but I can't forget myself... use CLUSTER LEAVE to remove this node")
	errLeads      = resp.NewError("ERR", "the node is the leader already")
	errTakeover   = resp.NewError("ERR", "TAKEOVER is not supported: a leader needs the votes of a majority")
)

// membershipFlags are the flags of commands that change the members or the leader, and
// reply when the change has ended.
const membershipFlags = spec.Admin | spec.NoMulti

// change begins a Change and replies at its end.
func change(s *session.Session, c backend.Change) {
	s.Defer(func(done func(error)) (func(), error) {
		return nil, resp.Expose(s.Handler().Config().Cluster.Change(c, func(err error) { done(resp.Expose(err)) }))
	}, (*resp.Writer).OK)
}

// changeNode begins a Change of a node, named by its id or by its Raft address.
func changeNode(s *session.Session, w *resp.Writer, kind backend.ChangeKind, nodes []status.Node, name []byte) {
	i := slices.IndexFunc(nodes,
		func(n status.Node) bool { return n.ID == string(name) || n.Raft != "" && n.Raft == string(name) })
	switch {
	case i < 0:
		w.Error(unknownNode(name))
	case i == 0 && kind == backend.Forget:
		w.Error(errForgetSelf)
	case nodes[i].Leader && kind == backend.Transfer:
		w.Error(errLeads)
	default:
		change(s, backend.Change{Kind: kind, ID: nodes[i].ID, Raft: nodes[i].Raft})
	}
}

func runForget(s *session.Session, w *resp.Writer, nodes []status.Node, args [][]byte) {
	changeNode(s, w, backend.Forget, nodes, args[2])
}

func runLeave(s *session.Session, _ *resp.Writer, nodes []status.Node, _ [][]byte) {
	change(s, backend.Change{Kind: backend.Leave, ID: nodes[0].ID, Raft: nodes[0].Raft})
}

// runFailover without a node, or with FORCE, transfers leadership to this node if it is a
// replica, as in Redis, and to any other node if it is the leader.
func runFailover(s *session.Session, w *resp.Writer, nodes []status.Node, args [][]byte) {
	switch {
	case len(args) == 3 && word.Is(args[2], "TAKEOVER"):
		w.Error(errTakeover)
	case len(args) == 3 && !word.Is(args[2], "FORCE"):
		changeNode(s, w, backend.Transfer, nodes, args[2])
	case nodes[0].Leader:
		change(s, backend.Change{Kind: backend.Transfer})
	default:
		change(s, backend.Change{Kind: backend.Transfer, ID: nodes[0].ID, Raft: nodes[0].Raft})
	}
}
