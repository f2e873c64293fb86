package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"limitsrv/commands/resp"
	"limitsrv/persist"
	"limitsrv/server"
)

// options are the flags of the command line. Each flag is also an environment variable,
// LIMITSRV_ and its name in capitals with _ for -, and, except for --config, a key of
// the configuration file. Secrets are never printed.
type options struct {
	configOptions `embed:""`

	Listen     string `group:"Listeners" default:"127.0.0.1:6379" help:"TCP address. Empty: no TCP listener."`
	Unixsocket string `group:"Listeners" placeholder:"PATH" help:"Unix socket, in addition to or instead of TCP."`
	tlsOptions `embed:""`

	securityOptions `embed:""`

	Data             string         `group:"State" placeholder:"DIR" help:"Directory of the persistent state. Without it the state is in memory only."`
	Fsync            persist.Policy `group:"State" default:"everysec" help:"When decisions are synced to disk: always (before the reply), everysec (a power cut loses at most the last second) or no (when the operating system does). A crash of limitsrv itself loses nothing in any of them."`
	SnapshotLogBytes size           `group:"State" default:"${snapshotLogBytes}" help:"Take a snapshot when the log has grown to this size, or to half the size of the last snapshot if that is more."`

	LockWait time.Duration `group:"State" default:"30s" help:"How long a start waits while another process holds --data: a killed process may take seconds to end. 0: do not wait."`

	MaxMemory size   `group:"State" default:"0" help:"Memory for keys, for example 256mb. 0: no bound."`
	OnFull    string `group:"State" default:"refuse" enum:"refuse,evict" help:"Policy when --max-memory is reached and no key is fully reset: refuse (reject new keys with OOM) or evict (drop the key that is fully reset soonest)."`
	TestClock bool   `group:"State" help:"Use a clock that only DEBUG ADVANCE-TIME moves. For tests."`

	Raft            string        `group:"Cluster" placeholder:"HOST:PORT" help:"Address of this node for the other nodes of its cluster. Needs --data, and on a new node --peers or --join."`
	RaftBind        string        `group:"Cluster" placeholder:"HOST:PORT" help:"Address to listen on for other nodes, if different from --raft."`
	Peers           []string      `group:"Cluster" placeholder:"A,B,C" help:"--raft of all initial nodes of a new cluster, including this one, the same list on each. They bootstrap the cluster when all of them are up."`
	Join            []string      `group:"Cluster" placeholder:"A,B" help:"--raft of members of the cluster that this node is to join."`
	Advertise       string        `group:"Cluster" placeholder:"HOST:PORT" help:"Address of this node for clients, as other nodes report it. Empty: --listen, with the host of --raft if --listen is a wildcard address."`
	Ack             string        `group:"Cluster" default:"disk" enum:"disk,memory" help:"A decision is answered when a majority of nodes has synced it to disk (disk), or has written it to the operating system, which syncs according to --fsync (memory)."`
	NoQuorum        string        `group:"Cluster" default:"error" enum:"error,allow,deny,local" help:"Reply when no majority can be reached: error (CLUSTERDOWN), allow, deny, or local (decide on this node's state)."`
	ElectionTimeout time.Duration `group:"Cluster" default:"1s" help:"How long a leader may stall and keep its leadership. Another leader is elected after 1.4 times this without a message from it, or at once if its process has ended. Clients wait for a leader for at most 2.5 times this. At least ten times the latency of a message between nodes."`
	DeadAfter       time.Duration `group:"Cluster" default:"24h" help:"Time after which an unreachable node is removed, if three healthy voters remain. 0: never."`
	RaftTLSCert     string        `group:"Cluster" name:"raft-tls-cert" placeholder:"FILE" help:"Certificate of this node for other nodes, as PEM. With it, other nodes must have a certificate too."`
	RaftTLSKey      string        `group:"Cluster" name:"raft-tls-key" placeholder:"FILE" help:"Private key of --raft-tls-cert."`
	RaftTLSCA       string        `group:"Cluster" name:"raft-tls-ca" placeholder:"FILE" help:"CA of the certificates of all nodes. All three files are reloaded when they change."`
	ClusterMode     string        `group:"Cluster" default:"off" enum:"off,emulated,on" help:"Redis Cluster protocol. emulated: one node with all slots. on, with --raft: the leader has all slots, and the other nodes reply MOVED. off: no cluster."`

	linkOptions `embed:""`

	MaxClients     int           `group:"Limits" default:"${maxClients}" help:"Maximum number of connections."`
	IdleTimeout    time.Duration `group:"Limits" default:"0" help:"Time after which a connection that sends nothing is closed. 0: never."`
	WriteTimeout   time.Duration `group:"Limits" default:"${writeTimeout}" help:"Time after which a connection that does not read its replies is closed."`
	Drain          time.Duration `group:"Limits" default:"10s" help:"Time limit of a shutdown. Clients are answered until a fifth of it (at most 2s) is left; closing the files then has at least 2s, after which the process ends."`
	IOThreads      int           `group:"Limits" name:"io-threads" default:"0" help:"Event loops that serve the connections. 0: half the number of CPUs. -1: a goroutine for each connection."`
	MaxArgs        int           `group:"Limits" default:"${maxArgs}" help:"Maximum number of arguments of a command."`
	MaxArgBytes    size          `group:"Limits" default:"${maxArgBytes}" help:"Maximum bytes of an argument."`
	MaxQueryBytes  size          `group:"Limits" default:"${maxQueryBytes}" help:"Maximum bytes of a command on the wire."`
	MaxOutputBytes size          `group:"Limits" default:"${maxOutputBytes}" help:"Maximum bytes of replies that a client has not read yet."`

	adminOptions `embed:""`

	LogLevel  slog.Level `group:"Log" default:"info" help:"Minimum level of log messages: debug, info, warn or error."`
	LogFormat string     `group:"Log" default:"text" enum:"text,json" help:"Format of the log, which is written to standard error: text or json."`

	HelpCommands bool `env:"-" help:"Show the commands for clients."`
	Version      bool `env:"-" short:"v" help:"Show the version."`
}

// defaults are the default values that other packages define.
func defaults() kong.Vars {
	limits := server.DefaultLimits
	return kong.Vars{
		"maxClients":     strconv.Itoa(server.DefaultMaxClients),
		"writeTimeout":   server.DefaultWriteTimeout.String(),
		"maxArgs":        strconv.Itoa(limits.Args),
		"maxArgBytes":    size(limits.ArgBytes).String(),
		"maxQueryBytes":  size(limits.QueryBytes).String(),
		"maxOutputBytes": size(limits.OutputBytes).String(),

		"snapshotLogBytes": size(persist.DefaultSnapshotLogBytes).String(),
	}
}

// check returns all violations of ranges and of dependencies between options. Elements
// may be nil.
func (o *options) check() []error {
	all := o.checkCluster()
	if o.Listen == "" && o.Unixsocket == "" && o.TLSListen == "" {
		all = append(all, errors.New("--listen is empty and there is no --unixsocket or --tls-listen: no client could connect"))
	}
	if o.TestClock && o.Data != "" {
		all = append(all, errors.New("--test-clock and --data exclude each other: stored state must not have timestamps of a test clock"))
	}
	all = append(all, o.checkTLS()...)
	all = append(all, o.checkRanges()...)
	all = append(all, o.checkAdmin()...)
	return append(all, o.requireProtection()...)
}

// checkRanges checks numbers and durations against their bounds.
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

// requireProtection returns errors for listeners that other machines can reach without
// authentication.
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

// remedy describes how to protect a listener, or to confirm with --unprotected that it
// is open.
func remedy(how string) string {
	return "give " + how + ", or listen on 127.0.0.1, or confirm with --unprotected"
}

// minSnapshotLogBytes prevents back-to-back snapshots.
const minSnapshotLogBytes = 1 << 20

// Bounds beyond the needs of any machine.
const (
	maxClients   = 1_000_000
	maxIOThreads = 256
)

// limits returns the limits of a client's requests and replies.
func (o *options) limits() server.Limits {
	return server.Limits{
		Limits:      resp.Limits{Args: o.MaxArgs, ArgBytes: int(o.MaxArgBytes), QueryBytes: int(o.MaxQueryBytes)},
		OutputBytes: int(o.MaxOutputBytes),
	}
}
