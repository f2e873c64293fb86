package options

import (
	"errors"
	"fmt"

	"limitsrv/persist"
	"limitsrv/replication/link"
	"limitsrv/server"
)

// checkFront checks the options of a front.
func (o *Options) checkFront() (all []error) {
	for _, address := range o.Front {
		all = append(all, link.CheckAddress("--front", address))
	}
	for _, c := range []struct {
		given bool
		name  string
	}{
		{o.Raft != "", "--raft"}, {o.RaftBind != "", "--raft-bind"}, {len(o.Peers) > 0, "--peers"},
		{len(o.Join) > 0, "--join"}, {o.Slots != "", "--slots"}, {len(o.GroupOf) > 0, "--group-of"},
		{o.Data != "", "--data"}, {o.MaxMemory > 0, "--max-memory"},
		{o.OnFull != "refuse", "--on-full"}, {o.Rules != "", "--rules"}, {o.RulesFileWins, "--rules-file-wins"},
		{o.SnapshotLogBytes != persist.DefaultSnapshotLogBytes, "--snapshot-log-bytes"}, {o.TestClock, "--test-clock"},
	} {
		if c.given {
			all = append(all, fmt.Errorf("%s is for a node with state, and --front makes this node a front, which has none: "+
				"give it to the nodes of the cluster", c.name))
		}
	}
	tls := len(o.raftTLSFiles())
	for _, c := range []struct {
		wrong bool
		text  string
	}{
		{o.NoQuorum == "local", "--no-quorum local: a front has no state to decide by; it can be error, allow or deny"},
		{o.ClusterMode == "emulated", "--cluster-mode emulated is for a single server; with --front it is on or off"},
		{tls != 0 && tls != 3, "--raft-tls-cert, --raft-tls-key and --raft-tls-ca go together"},
		{!o.hasSecret() && tls == 0 && !o.Unprotected && (o.isProtected() || !o.frontsLoopback()),
			"--front needs " + raftProtection + ": it has the power of a node of the cluster"},
		{o.ClusterSecret != "" && o.ClusterSecretFile != "", "--cluster-secret and --cluster-secret-file exclude each other"},
	} {
		if c.wrong {
			all = append(all, errors.New(c.text))
		}
	}
	_, err := o.Advertised()
	return append(all, o.checkSecret(), err)
}

// frontsLoopback reports whether all nodes of --front are on this machine.
func (o *Options) frontsLoopback() bool {
	for _, address := range o.Front {
		if server.RequireProtection("--front", address, false, "") != nil {
			return false
		}
	}
	return true
}
