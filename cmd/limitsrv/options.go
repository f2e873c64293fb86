package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"limitsrv/persist"
	"limitsrv/server"
)

// options are the command line. Each is also an environment variable: LIMITSRV_
// and its name in capitals, with _ for -; and but for --config a line of the file.
// A secret is never told.
type options struct {
	configOptions `embed:""`

	Listen     string `group:"Where it listens" default:"127.0.0.1:6379" help:"TCP address. Empty: none."`
	Unixsocket string `group:"Where it listens" placeholder:"PATH" help:"Unix socket, besides or instead of TCP."`
	tlsOptions `embed:""`

	securityOptions `embed:""`

	Data             string         `group:"State" placeholder:"DIR" help:"Directory that the state is kept in, so that it outlives a restart. Without it all is in memory."`
	Fsync            persist.Policy `group:"State" default:"everysec" help:"When what was decided is synced to disk: always (before it is answered), everysec (a power cut costs at most the last second) or no (when the system does). A crash of limitsrv itself costs nothing in any of them."`
	SnapshotLogBytes size           `group:"State" default:"${snapshotLogBytes}" help:"Take a snapshot when the log has grown so far, or to half the size of the last snapshot if that is more."`

	LockWait time.Duration `group:"State" default:"30s" help:"How long a start waits while another process has --data: one that was killed may take seconds to end. 0: not at all."`

	MaxMemory size   `group:"State" default:"0" help:"Memory for keys, such as 256mb. 0: no bound."`
	OnFull    string `group:"State" default:"refuse" enum:"refuse,evict" help:"What happens when that is full and no key is as good as new: refuse new keys with OOM, or evict the key that would have been so soonest: refuse, evict."`
	TestClock bool   `group:"State" help:"The clock stands still but for DEBUG ADVANCE-TIME. For tests."`

	Raft            string        `group:"Cluster" placeholder:"HOST:PORT" help:"Be one of several nodes that decide as one, and have the others reach this one there. Needs --data, and --peers or --join when it is new."`
	RaftBind        string        `group:"Cluster" placeholder:"HOST:PORT" help:"Where it listens for them, if other than --raft."`
	Peers           []string      `group:"Cluster" placeholder:"A,B,C" help:"--raft of all founding nodes, this one among them, the same on each. They found the cluster when all are up."`
	Join            []string      `group:"Cluster" placeholder:"A,B" help:"--raft of nodes of a cluster that this one is to become a member of."`
	Advertise       string        `group:"Cluster" placeholder:"HOST:PORT" help:"Where clients reach this node, as others tell them. Empty: --listen, with the host of --raft if that listens everywhere."`
	Ack             string        `group:"Cluster" default:"disk" enum:"disk,memory" help:"A decision is answered when a majority of nodes has it on disk (disk), or in the hands of the operating system, which syncs as --fsync says (memory)."`
	NoQuorum        string        `group:"Cluster" default:"error" enum:"error,allow,deny,local" help:"What is answered when no majority can be reached: error (CLUSTERDOWN), allow, deny, or local (decide by what this node knows)."`
	ElectionTimeout time.Duration `group:"Cluster" default:"1s" help:"How long a leader may be stopped, or get no processor, and go on to lead: another one is elected when it has been silent for 1.4 of it, or at once when its process has ended. Clients wait for a leader for two and a half of it at most. Ten times what a message between the nodes takes or more."`
	DeadAfter       time.Duration `group:"Cluster" default:"24h" help:"After how long a silent node is removed, if three that vote are well without it. 0: never."`
	RaftTLSCert     string        `group:"Cluster" name:"raft-tls-cert" placeholder:"FILE" help:"Certificate of this node for the others, as PEM. With it, nodes take only others that have one."`
	RaftTLSKey      string        `group:"Cluster" name:"raft-tls-key" placeholder:"FILE" help:"Its key."`
	RaftTLSCA       string        `group:"Cluster" name:"raft-tls-ca" placeholder:"FILE" help:"What signs the certificates of all nodes. The three are read again when they change."`
	ClusterMode     string        `group:"Cluster" default:"off" enum:"off,emulated,on" help:"What clients of Redis clusters are told. emulated: there is one node that has all slots. on, with --raft: the leader has them, and the others answer MOVED. off: there is no such cluster."`

	linkOptions `embed:""`

	MaxClients     int           `group:"Limits" default:"10000" help:"Connections at once."`
	IdleTimeout    time.Duration `group:"Limits" default:"0" help:"After which a connection that sends nothing is closed. 0: never."`
	WriteTimeout   time.Duration `group:"Limits" default:"10s" help:"After which a connection that takes no replies is closed."`
	Drain          time.Duration `group:"Limits" default:"10s" help:"How long a stop may take in all. Clients are answered until a fifth of it (2s at most) is left, and then the files have at least 2s. Whatever hangs then is left behind."`
	IOThreads      int           `group:"Limits" name:"io-threads" default:"0" help:"Event loops that serve the connections. 0: half as many as there are CPUs. -1: a goroutine for each connection."`
	MaxArgs        int           `group:"Limits" default:"${maxArgs}" help:"Arguments of one command."`
	MaxArgBytes    size          `group:"Limits" default:"${maxArgBytes}" help:"Bytes of one argument."`
	MaxQueryBytes  size          `group:"Limits" default:"${maxQueryBytes}" help:"Bytes of one command on the wire."`
	MaxOutputBytes size          `group:"Limits" default:"${maxOutputBytes}" help:"Bytes of replies that wait for a client to take them."`

	adminOptions `embed:""`

	LogLevel  slog.Level `group:"Log" default:"info" help:"Least level that is logged: debug, info, warn or error."`
	LogFormat string     `group:"Log" default:"text" enum:"text,json" help:"text or json. The log goes to standard error."`

	HelpCommands bool `env:"-" help:"Show the commands that clients may send."`
	Version      bool `env:"-" short:"v" help:"Show the version."`
}

// defaults are those that other packages have.
func defaults() kong.Vars {
	limits := server.DefaultLimits
	return kong.Vars{
		"maxArgs":        strconv.Itoa(limits.Args),
		"maxArgBytes":    size(limits.ArgBytes).String(),
		"maxQueryBytes":  size(limits.QueryBytes).String(),
		"maxOutputBytes": size(limits.OutputBytes).String(),

		"snapshotLogBytes": size(persist.DefaultSnapshotLogBytes).String(),
	}
}

// check holds the options against each other and their ranges, and is all that is
// wrong, with nil among it.
func (o *options) check() []error {
	all := o.checkCluster()
	if o.Listen == "" && o.Unixsocket == "" && o.TLSListen == "" {
		all = append(all, errors.New("--listen is empty and there is no --unixsocket or --tls-listen: nobody could connect"))
	}
	if o.TestClock && o.Data != "" {
		all = append(all, errors.New("--test-clock and --data exclude each other: what is kept must not come from a clock that stands still"))
	}
	all = append(all, o.checkTLS()...)
	all = append(all, o.checkRanges()...)
	all = append(all, o.checkAdmin()...)
	return append(all, o.requireProtection()...)
}

// checkRanges holds numbers and times against their bounds.
func (o *options) checkRanges() (all []error) {
	for _, r := range []struct {
		name         string
		value, least int64
		most         int64
	}{
		{"snapshot-log-bytes", int64(o.SnapshotLogBytes), minSnapshotLogBytes, math.MaxInt64},
		{"max-clients", int64(o.MaxClients), 1, maxClients},
		{"io-threads", int64(o.IOThreads), -1, maxIOThreads},
		{"max-args", int64(o.MaxArgs), 1, math.MaxInt32},
		{"max-arg-bytes", int64(o.MaxArgBytes), 1, math.MaxInt32},
		{"max-query-bytes", int64(o.MaxQueryBytes), 1, math.MaxInt32},
		{"max-output-bytes", int64(o.MaxOutputBytes), 1, math.MaxInt32},
	} {
		if r.value < r.least || r.value > r.most {
			all = append(all, fmt.Errorf("--%s must be %d to %d, got %d", r.name, r.least, r.most, r.value))
		}
	}
	for _, r := range []struct {
		name         string
		value, least time.Duration
	}{
		{"idle-timeout", o.IdleTimeout, 0},
		{"write-timeout", o.WriteTimeout, time.Millisecond},
		{"drain", o.Drain, 0},
		{"lock-wait", o.LockWait, 0},
		{"election-timeout", o.ElectionTimeout, 20 * time.Millisecond},
		{"dead-after", o.DeadAfter, 0},
	} {
		if r.value < r.least {
			all = append(all, fmt.Errorf("--%s must be %v or more, got %v", r.name, r.least, r.value))
		}
	}
	return all
}

// requireProtection wants clients and nodes that can connect from elsewhere to prove
// themselves.
func (o *options) requireProtection() []error {
	clients := o.isProtected() || o.Unprotected
	nodes := o.hasSecret() || o.RaftTLSCert != "" || o.Unprotected
	return []error{
		server.RequireProtection("--listen", o.Listen, clients, remedy("--password or --users")),
		server.RequireProtection("--tls-listen", o.TLSListen, clients || o.TLSClientCA != "", remedy("--password, --users or --tls-client-ca")),
		server.RequireProtection("--raft", o.Raft, nodes, remedy(raftProtection)),
		server.RequireProtection("--raft-bind", o.RaftBind, nodes, remedy(raftProtection)),
	}
}

// remedy says how a listener is protected that --unprotected may leave open.
func remedy(how string) string {
	return "give " + how + ", or listen on 127.0.0.1, or say --unprotected if that is meant"
}

// minSnapshotLogBytes keeps snapshots from following on each other all the time.
const minSnapshotLogBytes = 1 << 20

// More than any machine wants.
const (
	maxClients   = 1_000_000
	maxIOThreads = 256
)

// limits are the sizes that a client is held to.
func (o *options) limits() server.Limits {
	return server.Limits{
		Args:        o.MaxArgs,
		ArgBytes:    int(o.MaxArgBytes),
		QueryBytes:  int(o.MaxQueryBytes),
		OutputBytes: int(o.MaxOutputBytes),
	}
}
