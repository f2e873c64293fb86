package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"limitsrv/engine"
)

var (
	errNoCluster   = &Error{"ERR", "This instance has cluster support disabled"}
	errSlot        = &Error{"ERR", "Invalid slot"}
	errSlotKeys    = &Error{"ERR", "Invalid slot or number of keys"}
	errClusterDB   = &Error{"ERR", "SELECT is not allowed in cluster mode"}
	errClusterOnce = &Error{"ERR", "the cluster is this one node, and stays so"}
)

var cluster = Command{
	Name: "CLUSTER", Summary: "Container for commands about the cluster; refused where there is none.",
	Complexity: "Depends on the subcommand", Since: "3.0.0", Group: "cluster",
	Sub: []Command{
		clusterSub("COUNTKEYSINSLOT", "slot", "Answers how many keys a slot has; looks at all keys.", runCountKeysInSlot),
		clusterSub("FAILOVER", "[FORCE|TAKEOVER]", "Refused: there is no other node.", func(s *Session, _ []Node, _ [][]byte) { s.w.Error(errClusterOnce) }),
		clusterSub("GETKEYSINSLOT", "slot count", "Answers keys of a slot; looks at all keys.", runGetKeysInSlot),
		clusterSub("INFO", "", "Tells how the cluster is.", runClusterInfo),
		clusterSub("KEYSLOT", "key-name", "Answers the slot of a key.", func(s *Session, _ []Node, args [][]byte) { s.w.Int(int64(keySlot(args[2]))) }),
		clusterSub("LINKS", "", "Answers no links: there is no other node.", func(s *Session, _ []Node, _ [][]byte) { s.w.Array(0) }),
		clusterSub("MYID", "", "Answers the id of this node.", func(s *Session, nodes []Node, _ [][]byte) { s.w.BulkString(nodes[0].ID) }),
		clusterSub("NODES", "", "Describes the nodes, a line for each.", runClusterNodes),
		clusterSub("REPLICAS", "node-id", "Answers the replicas of a node: none.", runClusterReplicas),
		clusterSub("SHARDS", "", "Describes the nodes and their slots.", runClusterShards),
		clusterSub("SLAVES", "node-id", "Answers the replicas of a node: none.", runClusterReplicas),
		clusterSub("SLOTS", "", "Describes which node has which slots.", runClusterSlots),
	},
}

// clusterSub is a line of CLUSTER's subcommands, which are all refused where there
// is no cluster.
func clusterSub(name, args, summary string, run func(*Session, []Node, [][]byte)) Command {
	flags := Stale
	if slices.Contains([]string{"FAILOVER", "REPLICAS", "SLAVES"}, name) {
		flags |= Admin
	}
	return Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(1)", Since: "3.0.0", Group: "cluster", Flags: flags,
		Run: func(s *Session, args [][]byte) {
			nodes := s.nodes()
			if nodes == nil {
				s.w.Error(errNoCluster)
				return
			}
			run(s, nodes, args)
		},
	}
}

var (
	asking    = inCluster("ASKING", "Accepted in a cluster: no slot is ever on its way.", 0)
	readOnly  = inCluster("READONLY", "Accepted in a cluster: there are no replicas to read from.", Loading|Stale)
	readWrite = inCluster("READWRITE", "Accepted in a cluster: there are no replicas to read from.", Loading|Stale)
)

// inCluster is a command that cluster clients send, and that is refused to others.
func inCluster(name, summary string, flags Flags) Command {
	return Command{
		Name: name, Summary: summary, Complexity: "O(1)", Since: "3.0.0", Group: "cluster", Flags: Fast | flags,
		Run: func(s *Session, _ [][]byte) {
			if !s.h.clustered() {
				s.w.Error(errNoCluster)
				return
			}
			s.w.OK()
		},
	}
}

func runClusterInfo(s *Session, nodes []Node, _ [][]byte) {
	var text lines
	for _, f := range []struct {
		name  string
		value any
	}{
		{"cluster_state", "ok"},
		{"cluster_slots_assigned", slots},
		{"cluster_slots_ok", slots},
		{"cluster_slots_pfail", 0},
		{"cluster_slots_fail", 0},
		{"cluster_known_nodes", len(nodes)},
		{"cluster_size", len(nodes)},
		{"cluster_current_epoch", 0},
		{"cluster_my_epoch", 0},
		{"cluster_stats_messages_sent", 0},
		{"cluster_stats_messages_received", 0},
		{"total_cluster_links_buffer_limit_exceeded", 0},
	} {
		text.add(f.name, f.value)
	}
	s.w.Verbatim(text.String())
}

// clusterBus is how far Redis' port between nodes is from that for clients.
const clusterBus = 10_000

func runClusterNodes(s *Session, nodes []Node, _ [][]byte) {
	var text strings.Builder
	for i, n := range nodes {
		flags := "master"
		if i == 0 {
			flags = "myself,master"
		}
		fmt.Fprintf(&text, "%s %s:%d@%d %s - 0 0 0 connected %d-%d\n", n.ID, n.Host, n.Port, n.Port+clusterBus, flags, n.First, n.Last)
	}
	s.w.Verbatim(text.String())
}

func runClusterSlots(s *Session, nodes []Node, _ [][]byte) {
	w := &s.w
	w.Array(len(nodes))
	for _, n := range nodes {
		w.Array(3)
		w.Int(int64(n.First))
		w.Int(int64(n.Last))
		w.Array(4)
		w.BulkString(n.Host)
		w.Int(int64(n.Port))
		w.BulkString(n.ID)
		w.Map(0) // other names of the host
	}
}

func runClusterShards(s *Session, nodes []Node, _ [][]byte) {
	w := &s.w
	w.Array(len(nodes))
	for _, n := range nodes {
		w.Map(2)
		w.BulkString("slots")
		w.Array(2)
		w.Int(int64(n.First))
		w.Int(int64(n.Last))
		w.BulkString("nodes")
		w.Array(1)
		w.Map(7)
		w.pair("id", n.ID)
		w.BulkString("port")
		w.Int(int64(n.Port))
		w.pair("ip", n.Host)
		w.pair("endpoint", n.Host)
		w.pair("role", "master")
		w.BulkString("replication-offset")
		w.Int(0)
		w.pair("health", "online")
	}
}

func runClusterReplicas(s *Session, nodes []Node, args [][]byte) {
	for _, n := range nodes {
		if n.ID == string(args[2]) {
			s.w.Array(0)
			return
		}
	}
	s.w.Error(&Error{"ERR", "Unknown node " + cString(args[2])})
}

func runCountKeysInSlot(s *Session, _ []Node, args [][]byte) {
	slot, err := strconv.ParseInt(string(args[2]), 10, 64)
	switch {
	case err != nil:
		s.w.Error(errNotInt)
		return
	case slot < 0 || slot >= slots:
		s.w.Error(errSlot)
		return
	}
	n := int64(0)
	s.eachInSlot(int(slot), func([]byte) bool {
		n++
		return true
	})
	s.w.Int(n)
}

func runGetKeysInSlot(s *Session, _ []Node, args [][]byte) {
	slot, err := strconv.ParseInt(string(args[2]), 10, 64)
	count, err2 := strconv.ParseInt(string(args[3]), 10, 64)
	switch {
	case err != nil || err2 != nil:
		s.w.Error(errNotInt)
		return
	case slot < 0 || slot >= slots || count < 0:
		s.w.Error(errSlotKeys)
		return
	}
	var found keyList
	count = min(count, maxKeys)
	s.eachInSlot(int(slot), func(key []byte) bool {
		if int64(len(found.ends)) < count {
			found.add(key)
		}
		return int64(len(found.ends)) < count
	})
	found.reply(&s.w)
}

// eachInSlot calls visit for the keys of a slot until it answers false, and for
// some after that.
func (s *Session) eachInSlot(slot int, visit func(key []byte) bool) {
	var (
		now    = s.h.now()
		cursor uint64
		more   = true
	)
	for more {
		cursor = s.h.config.Engine().Scan(now, cursor, maxScan, func(key []byte, _ engine.Alg) {
			if keySlot(key) == slot {
				more = visit(key) && more
			}
		})
		more = more && cursor != 0
	}
}
