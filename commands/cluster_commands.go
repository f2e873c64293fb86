package commands

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine/slots"
	"limitsrv/internal/status"
)

var (
	errNoCluster = resp.NewError("ERR", "This instance has cluster support disabled")
	errSlot      = resp.NewError("ERR", "Invalid slot")
	errSlotKeys  = resp.NewError("ERR", "Invalid slot or number of keys")
	errClusterDB = resp.NewError("ERR", "SELECT is not allowed in cluster mode")
	errNotMaster = resp.NewError("ERR", "The specified node is not a master")
)

var cluster = spec.Command{
	Name: "CLUSTER", Summary: "Commands about the cluster; rejected without a cluster.",
	Complexity: "See its subcommands", Since: "3.0.0", Group: "cluster",
	Body: &spec.Container{Sub: []spec.Command{
		asked(fresh(clusterSub("COUNTKEYSINSLOT", "slot", "Counts the keys of a slot; visits all keys.", spec.AllKeys,
			runCountKeysInSlot))),
		asked(clusterSub("DIGEST", "", "Returns the index of the last applied entry and a hash of the state, for tests: "+
			"equal on all nodes with the same index. Visits all keys.", spec.Admin, runDigest)),
		clusterSub("FAILOVER", "[FORCE|TAKEOVER|node-id]", "Transfers leadership to the given node; without one, to this "+
			"node if it is a replica, or from this node to any other.", membershipFlags, runFailover),
		clusterSub("FORGET", "node-id", "Removes a node, given by its id or its --raft address, from the cluster.",
			membershipFlags, runForget),
		asked(fresh(clusterSub("GETKEYSINSLOT", "slot count", "Lists keys of a slot; visits all keys.", spec.AllKeys,
			runGetKeysInSlot))),
		clusterSub("INFO", "", "Describes the state of the cluster.", 0, runClusterInfo),
		clusterSub("KEYSLOT", "key-name", "Returns the slot of a key.", 0,
			func(_ *session.Session, w *resp.Writer, _ []status.Node, args [][]byte) {
				w.Int(int64(slots.Of(args[2])))
			}),
		clusterSub("LEAVE", "", "Removes this node from the cluster.", membershipFlags, runLeave),
		clusterSub("LINKS", "", "Describes the links to other nodes.", 0, runClusterLinks),
		clusterSub("MEET", "ip port [cluster-bus-port]", "Rejected: a node joins when it is started.", spec.Admin,
			func(_ *session.Session, w *resp.Writer, _ []status.Node, _ [][]byte) { w.Error(errMeet) }),
		clusterSub("MYID", "", "Returns the id of this node.", 0,
			func(_ *session.Session, w *resp.Writer, nodes []status.Node, _ [][]byte) { w.BulkString(nodes[0].ID) }),
		clusterSub("NODES", "", "Describes the nodes, one line each.", 0, runClusterNodes),
		clusterSub("REPLICAS", "node-id", "Describes the replicas of the leader.", spec.Admin, runClusterReplicas),
		clusterSub("SHARDS", "", "Describes the nodes and their slots.", 0, runClusterShards),
		clusterSub("SLAVES", "node-id", "Describes the replicas of the leader.", spec.Admin, runClusterReplicas),
		clusterSub("SLOTS", "", "Describes the slots of each node.", 0, runClusterSlots),
	}},
}

// clusterSub makes a subcommand of CLUSTER, which is rejected without a cluster.
func clusterSub(name, args, summary string, flags spec.Flags,
	run func(*session.Session, *resp.Writer, []status.Node, [][]byte)) spec.Command {
	return spec.Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(1)", Since: "3.0.0", Group: "cluster",
		Flags: flags | spec.Stale,
		Body: session.Run(func(s *session.Session, w *resp.Writer, args [][]byte) {
			nodes := nodesOf(s)
			if nodes == nil {
				w.Error(errNoCluster)
				return
			}
			run(s, w, nodes, args)
		}),
	}
}

var (
	asking   = inCluster("ASKING", "Accepted in a cluster: slots do not migrate.", 0, func(*session.Session) {})
	readOnly = inCluster("READONLY", "Lets a replica, which may lag, answer read-only commands of this connection.",
		spec.Loading|spec.Stale,
		func(s *session.Session) { s.SetStale(true) })
	readWrite = inCluster("READWRITE", "Undoes READONLY.", spec.Loading|spec.Stale,
		func(s *session.Session) { s.SetStale(false) })
)

// inCluster makes a command that cluster clients send and that is rejected without a
// cluster.
func inCluster(name, summary string, flags spec.Flags, run func(*session.Session)) spec.Command {
	return spec.Command{
		Name: name, Summary: summary, Complexity: "O(1)", Since: "3.0.0", Group: "cluster", Flags: spec.Fast | flags,
		Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
			if nodesOf(s) == nil {
				w.Error(errNoCluster)
				return
			}
			run(s)
			w.OK()
		}),
	}
}

// nodesOf returns the nodes of the cluster as the client sees them.
func nodesOf(s *session.Session) []status.Node {
	return s.Handler().Config().Cluster.Nodes(s.LocalAddr())
}

// groupsOf returns the groups of the cluster as the client sees them, the node's own first.
func groupsOf(s *session.Session) []backend.Group {
	return s.Handler().Config().Cluster.Groups(s.LocalAddr())
}

// leaderOf returns the leader; ok is false if no leader is known.
func leaderOf(nodes []status.Node) (leader status.Node, ok bool) {
	i := slices.IndexFunc(nodes, func(n status.Node) bool { return n.Leader })
	if i < 0 {
		return status.Node{}, false
	}
	return nodes[i], true
}

// replicasOf returns the nodes other than the leader.
func replicasOf(nodes []status.Node) []status.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n status.Node) bool { return n.Leader })
}

// membersOf returns the nodes without a front, which is no member.
func membersOf(nodes []status.Node) []status.Node {
	if len(nodes) > 0 && nodes[0].Front {
		return nodes[1:]
	}
	return nodes
}

// withClientAddress returns the nodes with a known address for clients: a node of a
// cluster that has just formed may not have published its own yet.
func withClientAddress(nodes []status.Node) []status.Node {
	return slices.DeleteFunc(slices.Clone(membersOf(nodes)),
		func(n status.Node) bool { return n.Raft != "" && n.Port == 0 })
}

func runClusterInfo(s *session.Session, w *resp.Writer, _ []status.Node, _ [][]byte) {
	var (
		text     lines
		r        = s.Handler().Replication()
		state    = "ok"
		groups   = groupsOf(s)
		assigned = 0
		failed   = 0
		known    = 0
		size     = 0
	)
	for i, g := range groups {
		assigned, known = assigned+g.Slots.Len(), known+len(membersOf(g.Nodes))
		if _, leads := leaderOf(g.Nodes); leads {
			size++
		}
		if down := !slices.ContainsFunc(g.Nodes, func(n status.Node) bool { return n.Online }); i > 0 && down {
			failed += g.Slots.Len()
		}
	}
	if r.Role != "" && !r.HasQuorum {
		failed += groups[0].Slots.Len()
	}
	if failed > 0 || assigned < slots.Count {
		state = "fail"
	}
	for _, f := range []struct {
		name  string
		value any
	}{
		{"cluster_state", state},
		{"cluster_slots_assigned", assigned},
		{"cluster_slots_ok", assigned - failed},
		{"cluster_slots_pfail", 0},
		{"cluster_slots_fail", failed},
		{"cluster_known_nodes", known},
		{"cluster_size", size},
		{"cluster_current_epoch", r.Term},
		{"cluster_my_epoch", r.Term},
		{"cluster_stats_messages_sent", 0},
		{"cluster_stats_messages_received", 0},
		{"total_cluster_links_buffer_limit_exceeded", 0},
	} {
		text.add(f.name, f.value)
	}
	w.Verbatim(text.String())
}

// clusterBus is the offset of Redis' port between nodes from the port for clients.
const clusterBus = 10_000

// busPort returns the port for other nodes.
func busPort(n status.Node) string {
	if _, port, err := net.SplitHostPort(n.Raft); err == nil {
		return port
	}
	return strconv.Itoa(n.Port + clusterBus)
}

// nodeLines returns a CLUSTER NODES line for each node of a group. If the group is the own group of this
// node, the first line is of this node.
//
// Source: Redis documentation, "CLUSTER NODES", serialization format.
func nodeLines(h *session.Handler, g backend.Group, own bool) []string {
	var (
		now           = time.Duration(h.Now())
		leader, known = leaderOf(g.Nodes)
		all           []string
	)
	for i, n := range g.Nodes {
		flags, master, link, has := "slave", "-", "connected", ""
		switch {
		case n.Leader:
			flags, has = "master", " "+g.Slots.Join(" ")
		case known:
			master = leader.ID
		}
		heard, myself := int64(0), own && i == 0
		switch {
		case myself:
			flags = "myself," + flags
		case !n.Online:
			flags, link = flags+",fail", "disconnected"
		}
		if !myself && n.LastContact >= 0 {
			heard = (now - n.LastContact).Milliseconds()
		}
		all = append(all, fmt.Sprintf("%s %s:%d@%s %s %s 0 %d %d %s%s", n.ID, n.Host, n.Port, busPort(n), flags, master,
			heard, g.Term, link, has))
	}
	return all
}

func runClusterNodes(s *session.Session, w *resp.Writer, _ []status.Node, _ [][]byte) {
	var all []string
	for i, g := range groupsOf(s) {
		all = append(all, nodeLines(s.Handler(), g, i == 0)...)
	}
	w.Verbatim(strings.Join(all, "\n") + "\n")
}

// keepsClients reports whether this is a front without --cluster-mode on. Clients that ask for the slots at
// first, and then send their commands to the nodes, must stay at the front.
func keepsClients(s *session.Session) bool {
	return s.Handler().AtFront() && !s.Handler().Config().Cluster.Enabled()
}

// runClusterSlots answers each run of slots with the leader of its group and the online replicas. Groups
// without a known leader are left out. If the own group has none it returns an error: then a client keeps
// its slot map or asks another node, while after an empty reply no known client asks again soon.
func runClusterSlots(s *session.Session, w *resp.Writer, _ []status.Node, _ [][]byte) {
	if keepsClients(s) {
		w.Error(errNoCluster)
		return
	}
	type served struct {
		run   slots.Run
		nodes []status.Node
	}
	var all []served
	for i, g := range groupsOf(s) {
		nodes := withClientAddress(g.Nodes)
		leader, ok := leaderOf(nodes)
		switch {
		case ok:
		case i == 0:
			w.Error(session.ErrDown)
			return
		default:
			continue
		}
		have := append([]status.Node{leader}, replicasOf(nodes)...)
		have = slices.DeleteFunc(have, func(n status.Node) bool { return !n.Leader && !n.Online })
		for _, run := range g.Slots {
			all = append(all, served{run, have})
		}
	}
	w.Array(len(all))
	for _, x := range all {
		w.Array(2 + len(x.nodes))
		w.Int(int64(x.run.First))
		w.Int(int64(x.run.Last))
		for _, n := range x.nodes {
			w.Array(4)
			w.BulkString(n.Host)
			w.Int(int64(n.Port))
			w.BulkString(n.ID)
			w.Map(0) // other names of the host
		}
	}
}

// runClusterShards answers a shard for each group, without slots if no leader is known.
func runClusterShards(s *session.Session, w *resp.Writer, _ []status.Node, _ [][]byte) {
	if keepsClients(s) {
		w.Error(errNoCluster)
		return
	}
	groups := groupsOf(s)
	w.Array(len(groups))
	for _, g := range groups {
		writeShard(w, g.Slots, withClientAddress(g.Nodes))
	}
}

// writeShard answers a shard of CLUSTER SHARDS.
func writeShard(w *resp.Writer, owned slots.Set, nodes []status.Node) {
	w.Map(2)
	w.BulkString("slots")
	if _, ok := leaderOf(nodes); !ok {
		owned = nil
	}
	w.Array(2 * len(owned))
	for _, run := range owned {
		w.Int(int64(run.First))
		w.Int(int64(run.Last))
	}
	w.BulkString("nodes")
	w.Array(len(nodes))
	for _, n := range nodes {
		role, health := "replica", "fail"
		if n.Leader {
			role = "master"
		}
		if n.Online {
			health = "online"
		}
		w.Map(7)
		w.Pair("id", n.ID)
		w.BulkString("port")
		w.Int(int64(n.Port))
		w.Pair("ip", n.Host)
		w.Pair("endpoint", n.Host)
		w.Pair("role", role)
		w.BulkString("replication-offset")
		w.Int(int64(n.Index))
		w.Pair("health", health)
	}
}

// runClusterLinks answers a link to each online node. Its creation time is not known, and
// it has no buffer of its own.
func runClusterLinks(_ *session.Session, w *resp.Writer, nodes []status.Node, _ [][]byte) {
	linked := slices.DeleteFunc(slices.Clone(nodes[1:]), func(n status.Node) bool { return !n.Online })
	w.Array(len(linked))
	for _, n := range linked {
		w.Map(6)
		w.Pair("direction", "to")
		w.Pair("node", n.ID)
		w.BulkString("create-time")
		w.Int(0)
		w.Pair("events", "rw")
		w.BulkString("send-buffer-allocated")
		w.Int(0)
		w.BulkString("send-buffer-used")
		w.Int(0)
	}
}

func runClusterReplicas(s *session.Session, w *resp.Writer, nodes []status.Node, args [][]byte) {
	i := slices.IndexFunc(nodes, func(n status.Node) bool { return n.ID == string(args[2]) })
	switch {
	case i < 0:
		w.Error(unknownNode(args[2]))
		return
	case !nodes[i].Leader:
		w.Error(errNotMaster)
		return
	}
	own := groupsOf(s)[0]
	own.Nodes = nodes // its lines must be as many
	w.Array(len(nodes) - 1)
	for j, line := range nodeLines(s.Handler(), own, true) {
		if j != i {
			w.BulkString(line)
		}
	}
}

func unknownNode(name []byte) *resp.Error {
	return resp.NewError("ERR", "Unknown node "+word.CString(name))
}

// runDigest answers the hash in hexadecimal.
func runDigest(s *session.Session, w *resp.Writer, _ []status.Node, _ [][]byte) {
	c := s.Handler().Config().Cluster
	if c.Replication().Role == "" {
		w.Error(backend.ErrSingleNode)
		return
	}
	index, digest := c.Digest()
	w.Array(2)
	w.Int(int64(index))
	w.BulkString(fmt.Sprintf("%016x", digest))
}
