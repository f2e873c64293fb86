// Package options reads the options of the server: from the command line, the
// environment and a configuration file. It checks them, and opens the files that they
// name.
package options

import (
	"log/slog"
	"time"

	"limitsrv/persist"
)

// Options are the flags of the command line. Each flag is also an environment variable,
// LIMITSRV_ and its name in capitals with _ for -, and, except for --config, a key of
// the configuration file. Secrets are never printed.
type Options struct {
	Config string `group:"Configuration" placeholder:"FILE" help:"YAML file of options, with lines such as max-memory: 256mb. The command line takes precedence over the environment, and both over the file. SIGHUP reloads it."`

	Listen      string `group:"Listeners" default:"127.0.0.1:6379" help:"TCP address for Redis clients. Empty: no TCP listener; --unixsocket, --tls-listen, --rls or --rls-http must then be given."`
	Unixsocket  string `group:"Listeners" placeholder:"PATH" help:"Unix socket, in addition to or instead of TCP."`
	TLSListen   string `group:"Listeners" name:"tls-listen" placeholder:"HOST:PORT" help:"TCP address for TLS, in addition to or instead of --listen."`
	TLSCert     string `group:"Listeners" name:"tls-cert" placeholder:"FILE" help:"Certificate of --tls-listen, as PEM, followed by intermediate certificates if clients need them."`
	TLSKey      string `group:"Listeners" name:"tls-key" placeholder:"FILE" help:"Private key of --tls-cert."`
	TLSClientCA string `group:"Listeners" name:"tls-client-ca" placeholder:"FILE" help:"CA of client certificates; with it clients must have one. All three files are reloaded when they change."`

	Password    string `group:"Access" secret:"" help:"Password of the default user. Prefer the environment, which other users can't list."`
	Users       string `group:"Access" placeholder:"FILE" help:"YAML file of users with their password hashes, groups (decide, peek, rules, admin, and categories of Redis, as string) and key patterns. Without --password clients must log in as one of them. Reloaded when it changes, by SIGHUP and by ACL LOAD."`
	Unprotected bool   `group:"Access" help:"Allow listening beyond loopback without a password, or for nodes without a cluster secret."`
	LimitsOnly  bool   `group:"Access" help:"Reject scripts and the commands on plain values, such as GET, SET and INCR: for a server that is open to clients."`

	Rules            string         `group:"State" placeholder:"FILE|DIR" help:"YAML file of rules, or directory of *.yaml and *.yml. Loaded at the start and when it changes; an earlier version of the rules is not loaded again, unless it was changed back here. In a cluster that of the leader is loaded. See RL.RULES."`
	Data             string         `group:"State" placeholder:"DIR" help:"Directory of the persistent state. Without it the state is in memory only."`
	Fsync            persist.Policy `group:"State" default:"everysec" help:"When decisions are synced to disk: always (before the reply), everysec (a power cut loses at most the last second) or no (when the operating system does). A crash of limitsrv itself loses nothing in any of them."`
	SnapshotLogBytes Size           `group:"State" default:"${snapshotLogBytes}" help:"Take a snapshot when the log has grown to this size, or to half the size of the last snapshot if that is more."`

	LockWait time.Duration `group:"State" default:"30s" help:"How long a start waits while another process holds --data: a killed process may take seconds to end. 0: do not wait."`

	MaxMemory Size   `group:"State" default:"0" help:"Memory for keys, for example 256mb. 0: no bound."`
	OnFull    string `group:"State" default:"refuse" enum:"refuse,evict" help:"Policy when --max-memory is reached and no key is fully reset: refuse (reject new keys with OOM) or evict (drop the key that is fully reset soonest)."`
	TestClock bool   `group:"State" help:"Use a clock that only DEBUG ADVANCE-TIME moves. For tests."`

	Raft            string        `group:"Cluster" placeholder:"HOST:PORT" help:"Address of this node for the other nodes of its cluster. Needs --data, and on a new node --peers or --join."`
	RaftBind        string        `group:"Cluster" placeholder:"HOST:PORT" help:"Address to listen on for other nodes, if different from --raft."`
	Front           []string      `group:"Cluster" placeholder:"A,B" help:"Be a front of a cluster: a node without state that forwards requests to the leader. These are the --raft of some of its nodes. Needs no --data."`
	Peers           []string      `group:"Cluster" placeholder:"A,B,C" help:"--raft of all initial nodes of a new cluster, including this one, the same list on each. They bootstrap the cluster when all of them are up."`
	Slots           string        `group:"Cluster" placeholder:"A-B,..." help:"Slots of the new group, for example 0-5460,9000, of 0 to 16383. For a cluster of several groups that share the keys. The same on all --peers. Needs --cluster-mode on. Without --slots the group owns all slots."`
	GroupOf         []string      `group:"Cluster" placeholder:"A,B" help:"--raft of some nodes of the first group, which gives this new group its --slots. Without --group-of the new group is the first."`
	Join            []string      `group:"Cluster" placeholder:"A,B" help:"--raft of members of the cluster that this node is to join."`
	Advertise       string        `group:"Cluster" placeholder:"HOST:PORT" help:"Address of this node for clients, as other nodes report it. Empty: --listen, with the host of --raft if --listen is a wildcard address."`
	Ack             string        `group:"Cluster" default:"disk" enum:"disk,memory" help:"A decision is answered when a majority of nodes has synced it to disk (disk), or has written it to the operating system, which syncs according to --fsync (memory)."`
	NoQuorum        string        `group:"Cluster" default:"error" enum:"error,allow,deny,local" help:"Reply when no majority can be reached: error (CLUSTERDOWN), allow, deny, or local (decide on this node's state)."`
	ElectionTimeout time.Duration `group:"Cluster" default:"1s" help:"How long a leader may stall and keep its leadership. Another leader is elected after 1.4 times this without a message from it, or at once if its process has ended. Clients wait for a leader for at most 2.5 times this. At least ten times the latency of a message between nodes."`
	DeadAfter       time.Duration `group:"Cluster" default:"24h" help:"Time after which an unreachable node is removed, if three healthy voters remain. 0: never."`
	RaftTLSCert     string        `group:"Cluster" name:"raft-tls-cert" placeholder:"FILE" help:"Certificate of this node for other nodes, as PEM. With it, other nodes must have a certificate too."`
	RaftTLSKey      string        `group:"Cluster" name:"raft-tls-key" placeholder:"FILE" help:"Private key of --raft-tls-cert."`
	RaftTLSCA       string        `group:"Cluster" name:"raft-tls-ca" placeholder:"FILE" help:"CA of the certificates of all nodes. All three files are reloaded when they change."`
	ClusterMode     string        `group:"Cluster" default:"off" enum:"off,emulated,on" help:"Redis Cluster protocol. emulated: one node with all slots. on, with --raft: the leader has all slots of its group, and the other nodes reply MOVED. off: no cluster."`

	ClusterSecret     string `group:"Cluster" secret:"" help:"Shared secret that authenticates the nodes of a cluster to each other and encrypts their links: at least 16 bytes, for example of openssl rand -hex 32. Prefer the environment. Beyond loopback, and with --password or --users, nodes need it, --cluster-secret-file or --raft-tls-*."`
	ClusterSecretFile string `group:"Cluster" placeholder:"FILE" help:"File of cluster secrets, one per line: outgoing links use the first, incoming links may use any. The line none stands for no secret, and beyond loopback, and with --password or --users, needs --unprotected. Reloaded when it changes."`

	MaxClients     int           `group:"Limits" default:"${maxClients}" help:"Maximum number of connections."`
	IdleTimeout    time.Duration `group:"Limits" default:"0" help:"Time after which a connection is closed that sends nothing and waits for no reply. 0: never."`
	WriteTimeout   time.Duration `group:"Limits" default:"${writeTimeout}" help:"Time after which a connection that does not read its replies is closed."`
	Drain          time.Duration `group:"Limits" default:"10s" help:"Time limit of a shutdown. Clients are answered until a fifth of it (at most 2s) is left; closing the files then has at least 2s, after which the process ends."`
	IOThreads      int           `group:"Limits" name:"io-threads" default:"0" help:"Event loops that serve the connections. 0: half the number of CPUs. -1: a goroutine for each connection."`
	ScriptSteps    int64         `group:"Limits" default:"5000000" help:"Steps after which a script ends with an error. A step is about a statement, a call or a turn of a loop."`
	MaxArgs        int           `group:"Limits" default:"${maxArgs}" help:"Maximum number of arguments of a command."`
	MaxArgBytes    Size          `group:"Limits" default:"${maxArgBytes}" help:"Maximum bytes of an argument."`
	MaxQueryBytes  Size          `group:"Limits" default:"${maxQueryBytes}" help:"Maximum bytes of a command on the wire."`
	MaxOutputBytes Size          `group:"Limits" default:"${maxOutputBytes}" help:"Maximum bytes of replies that a client has not read yet. With more, its commands wait, and messages close its connection. The answer of a command that only reads is no longer either, nor above 20 MB."`

	Admin           string `group:"Admin" placeholder:"HOST:PORT" help:"Address of the admin listener: metrics, probes and a status page over HTTP. Beyond loopback it requires logins for clients, or client certificates."`
	AdminTLS        bool   `group:"Admin" name:"admin-tls" help:"Serve --admin over TLS, with --tls-cert and --tls-key, for clients with a certificate of --tls-client-ca if that is set."`
	AdminPprof      bool   `group:"Admin" help:"Serve profiles at --admin, for users with the group admin."`
	AdminKeyMetrics bool   `group:"Admin" help:"Add metrics of the ten keys denied and requested most, by name. Off because keys may be personal data, metrics are stored for long, and each key is a time series."`

	RulesFileWins     bool `group:"Rules" help:"Load the files of --rules whenever they differ from the rules in use: also an earlier version, and in place of rules that a command loaded. All nodes of a cluster must have the same files."`
	RulesShadow       bool `group:"Rules" help:"Refuse no request because of rules: every limit counts as one with shadow: true, no penalty box closes, and deny lists, DENY and unmatched: deny let pass. Each node follows its own option."`
	RulesMetricSeries int  `group:"Rules" default:"${ruleSeries}" help:"Maximum number of limits, with the values of detailed_metric and value_to_metric, that have metrics of their own. The others are counted together."`

	EventsURL        string `group:"Rules" name:"events-url" placeholder:"URL" help:"Address, https:// or on this machine http://, to which events at thresholds are sent: of limits and penalty boxes with the word events. Needs --events-secret-file. All nodes of a cluster must have the same options of events."`
	EventsSecretFile string `group:"Rules" placeholder:"FILE" help:"File of 1 to 4 secrets of at least 16 bytes, each in a line, for example of openssl rand -hex 32. Every delivery has a signature by each. Reloaded when it changes."`
	EventsList       bool   `group:"Rules" help:"Keep events in the list limitsrv:events, for clients that take them by BLPOP, instead of sending them to --events-url."`

	RLS         string `group:"Rules" name:"rls" placeholder:"HOST:PORT" help:"Address of Envoy's rate limit service over gRPC, or unix:PATH. Beyond loopback it requires logins for clients, or client certificates."`
	RLSHTTP     string `group:"Rules" name:"rls-http" placeholder:"HOST:PORT" help:"Address of /v1/check, /v1/forward and /json over HTTP, or unix:PATH, as for --rls."`
	RLSTLS      bool   `group:"Rules" name:"rls-tls" help:"Serve --rls and --rls-http over TLS, with --tls-cert and --tls-key, for clients with a certificate of --tls-client-ca if that is set."`
	RLSHeaders  string `group:"Rules" name:"rls-headers" default:"off" enum:"off,x,ratelimit,draft" help:"Headers in the responses to Envoy: x (X-RateLimit-Limit, -Remaining, -Reset), ratelimit (the same without X-), draft (RateLimit-Policy and RateLimit), each with Retry-After, or off."`
	RLSMetadata bool   `group:"Rules" name:"rls-metadata" help:"Send the request and the metadata of its rules in the responses to Envoy, as dynamic metadata."`

	LogLevel  slog.Level `group:"Log" default:"info" help:"Minimum level of log messages: debug, info, warn or error."`
	LogFormat string     `group:"Log" default:"text" enum:"text,json" help:"Format of the log, which is written to standard error: text or json."`
	LogValues bool       `group:"Log" help:"Log the values of attributes in messages about overrides and penalty boxes as they are. They may be personal data, so by default the first 8 digits of their SHA-256 are logged."`

	HelpCommands bool `env:"-" help:"Show the commands for clients."`
	Version      bool `env:"-" short:"v" help:"Show the version."`
}
