package options

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"

	"limitsrv/engine/slots"
	"limitsrv/internal/certs"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
	"limitsrv/server"
)

// checkCluster checks the options of a cluster.
func (o *Options) checkCluster() (all []error) {
	if len(o.Front) > 0 {
		return o.checkFront()
	}
	if o.Raft == "" {
		return o.checkSingle()
	}
	tls := len(o.raftTLSFiles())
	for _, c := range []struct {
		wrong bool
		text  string
	}{
		{o.Data == "", "--raft needs --data DIR: decisions that this node acknowledged must survive a restart"},
		{o.ClusterMode == "emulated", "--cluster-mode emulated is for a single server; with --raft it is on or off"},
		{len(o.Peers) > 0 && len(o.Join) > 0,
			"--peers bootstraps a new cluster and --join joins an existing one: give one of them"},
		{tls != 0 && tls != 3, "--raft-tls-cert, --raft-tls-key and --raft-tls-ca go together"},
		{o.isProtected() && !o.hasSecret() && tls == 0,
			"--raft with --password or --users needs " + raftProtection +
				" as well, on any address: otherwise a process that reaches the port for nodes joins, reads all keys and leads"},
		{o.ClusterSecret != "" && o.ClusterSecretFile != "", "--cluster-secret and --cluster-secret-file exclude each other"},
		{o.Data != "" && len(o.Peers) == 0 && len(o.Join) == 0 && isNewMember(o.Data),
			"--raft needs --peers, the --raft of all initial nodes, or --join, the --raft of members of a cluster: --data " +
				o.Data + " belongs to no cluster yet"},
	} {
		if c.wrong {
			all = append(all, errors.New(c.text))
		}
	}
	_, err := o.Advertised()
	return append(append(all, o.checkDivision()...), o.checkSecret(), err)
}

// OwnedSlots returns the set of --slots; nil: the cluster owns all slots.
func (o *Options) OwnedSlots() (slots.Set, error) {
	if o.Slots == "" {
		return nil, nil
	}
	owned, err := slots.Parse(o.Slots)
	if err != nil {
		return nil, fmt.Errorf("--slots: %w", err)
	}
	return owned, nil
}

// NeedsAllSlots reports whether the options can't be used in a group that owns only some slots.
func (o *Options) NeedsAllSlots() bool {
	return o.ClusterMode != "on" || o.Rules != "" || o.RLS != "" || o.RLSHTTP != "" || o.EventsList
}

// checkDivision checks the options of a cluster of several groups.
func (o *Options) checkDivision() (all []error) {
	if _, err := o.OwnedSlots(); err != nil {
		all = append(all, err)
	}
	for _, address := range o.GroupOf {
		all = append(all, link.CheckAddress("--group-of", address))
	}
	const needed = "rules, Envoy's service, and the list of events need a cluster of one group"
	for _, c := range []struct {
		wrong bool
		text  string
	}{
		{o.Slots == "" && len(o.GroupOf) > 0, "--group-of needs --slots: the slots that the new group is to own"},
		{o.Slots != "" && len(o.Join) > 0,
			"--slots is for the --peers that create a group; a node with --join learns its slots"},
		{o.Slots != "" && o.ClusterMode != "on", "--slots needs --cluster-mode on: clients must be sent to other groups"},
		{o.Slots != "" && o.Rules != "", "--slots excludes --rules: " + needed},
		{o.Slots != "" && (o.RLS != "" || o.RLSHTTP != ""), "--slots excludes --rls and --rls-http: " + needed},
		{o.Slots != "" && o.EventsList, "--slots excludes --events-list: " + needed},
	} {
		if c.wrong {
			all = append(all, errors.New(c.text))
		}
	}
	return all
}

// checkSecret checks --cluster-secret.
func (o *Options) checkSecret() error {
	if o.ClusterSecret == "" {
		return nil
	}
	if _, err := link.OneSecret(o.ClusterSecret); err != nil {
		return fmt.Errorf("--cluster-secret: %w", err)
	}
	return nil
}

// checkSingle checks that a single server has no options of a cluster.
func (o *Options) checkSingle() (all []error) {
	if len(o.Peers) > 0 || len(o.Join) > 0 || o.Slots != "" || len(o.GroupOf) > 0 ||
		o.RaftBind != "" || o.Advertise != "" || len(o.raftTLSFiles()) > 0 ||
		o.hasSecret() {
		all = append(all, errors.New("--peers, --join, --slots, --group-of, --raft-bind, --advertise, --cluster-secret, "+
			"--cluster-secret-file and --raft-tls-* are for a node of a cluster: give it --raft HOST:PORT"))
	}
	if o.ClusterMode == "on" {
		all = append(all,
			errors.New("--cluster-mode on is for a node of a cluster (--raft); a single server has --cluster-mode emulated"))
	}
	return all
}

// raftTLSFiles returns the files of --raft-tls-* that are set.
func (o *Options) raftTLSFiles() []string {
	return slices.DeleteFunc([]string{o.RaftTLSCert, o.RaftTLSKey, o.RaftTLSCA},
		func(name string) bool { return name == "" })
}

// isNewMember reports whether the data directory belongs to no cluster yet. It returns
// false if the directory can't be read; the start then fails with the error.
func isNewMember(dir string) bool {
	member, err := storage.InCluster(dir)
	return err == nil && !member
}

// raftProtection names the options that protect the port for links between nodes.
const raftProtection = "--cluster-secret-file, --cluster-secret or --raft-tls-cert, -key and -ca"

// hasSecret reports whether nodes authenticate each other by a secret.
func (o *Options) hasSecret() bool { return o.ClusterSecret != "" || o.ClusterSecretFile != "" }

// OpenSecrets reads the secrets of the cluster. It returns nil if no secrets are
// configured.
func (o *Options) OpenSecrets(log *slog.Logger) (*link.Secrets, error) {
	switch {
	case o.ClusterSecretFile != "":
		return link.OpenSecrets(o.ClusterSecretFile,
			o.Unprotected || o.RaftTLSCert != "" || o.raftOnLoopback() && !o.isProtected(), log)
	case o.ClusterSecret != "":
		return link.OneSecret(o.ClusterSecret)
	}
	return nil, nil
}

// raftOnLoopback reports whether only processes of this machine can reach the port for
// nodes.
func (o *Options) raftOnLoopback() bool {
	return server.RequireProtection("--raft", o.Raft, false, "") == nil &&
		server.RequireProtection("--raft-bind", o.RaftBind, false, "") == nil
}

// LinkFiles returns the certificate files of nodes, or nil if no files are configured.
func (o *Options) LinkFiles() *certs.Files {
	if o.RaftTLSCert == "" {
		return nil
	}
	return &certs.Files{Cert: o.RaftTLSCert, Key: o.RaftTLSKey, CA: o.RaftTLSCA}
}

// Advertised returns the address of this node for Redis clients. It is empty if the node has no
// listener for them.
func (o *Options) Advertised() (string, error) {
	if o.Advertise != "" {
		host, _, err := net.SplitHostPort(o.Advertise)
		if err != nil || host == "" {
			return "", fmt.Errorf("--advertise must be HOST:PORT, got %q", o.Advertise)
		}
		return o.Advertise, nil
	}
	if !o.servesRedis() && o.ClusterMode != "on" {
		return "", nil
	}
	if o.Listen == "" {
		return "", errors.New("--raft and --front need --listen, or --advertise HOST:PORT, for clients that other " +
			"nodes redirect here")
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return "", fmt.Errorf("--listen must be HOST:PORT, got %q", o.Listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if len(o.Front) > 0 {
			host, err = os.Hostname()
		} else {
			host, _, err = net.SplitHostPort(o.Raft)
		}
	}
	return net.JoinHostPort(host, port), err
}
