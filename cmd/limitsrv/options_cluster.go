package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"

	"limitsrv/certs"
	"limitsrv/replication"
	"limitsrv/server"
)

// linkOptions say how nodes know each other, besides by certificates.
type linkOptions struct {
	ClusterSecret     string `group:"Cluster" secret:"" help:"A secret that the nodes of a cluster prove to each other, and encrypt their links with: 16 bytes or more, such as openssl rand -hex 32 makes; better set in the environment. Beyond loopback nodes need it, --cluster-secret-file or --raft-tls-*."`
	ClusterSecretFile string `group:"Cluster" placeholder:"FILE" help:"A file of such secrets, one in each line: the first is given, all are taken. The line none stands for no secret, and beyond loopback needs --unprotected. Read again when it changes."`
}

// checkCluster holds the options of a cluster against each other.
func (o *options) checkCluster() (all []error) {
	if o.Raft == "" {
		return o.checkAlone()
	}
	tls := len(o.raftTLSFiles())
	for _, c := range []struct {
		wrong bool
		text  string
	}{
		{o.Data == "", "--raft needs --data DIR: what this node has acknowledged must outlive it"},
		{o.ClusterMode == "emulated", "--cluster-mode emulated is for a server by itself; with --raft it is on or off"},
		{len(o.Peers) > 0 && len(o.Join) > 0, "--peers founds a cluster and --join enters one: give one of them"},
		{tls != 0 && tls != 3, "--raft-tls-cert, --raft-tls-key and --raft-tls-ca go together"},
		{o.ClusterSecret != "" && o.ClusterSecretFile != "", "--cluster-secret is in --cluster-secret-file, or there is no such file: give one of them"},
		{o.Data != "" && len(o.Peers) == 0 && len(o.Join) == 0 && isNewMember(o.Data),
			"--raft needs --peers, with the --raft of all founding nodes, or --join, with those of nodes of a cluster: --data " + o.Data + " is of no cluster yet"},
	} {
		if c.wrong {
			all = append(all, errors.New(c.text))
		}
	}
	if o.ClusterSecret != "" {
		if _, err := replication.OneSecret(o.ClusterSecret); err != nil {
			all = append(all, fmt.Errorf("--cluster-secret: %w", err))
		}
	}
	_, err := o.advertised()
	return append(all, err)
}

// checkAlone is checkCluster for a server by itself.
func (o *options) checkAlone() (all []error) {
	if len(o.Peers) > 0 || len(o.Join) > 0 || o.RaftBind != "" || o.Advertise != "" || len(o.raftTLSFiles()) > 0 || o.hasSecret() {
		all = append(all, errors.New("--peers, --join, --raft-bind, --advertise, --cluster-secret, --cluster-secret-file and --raft-tls-* are for a node of a cluster: give it --raft HOST:PORT"))
	}
	if o.ClusterMode == "on" {
		all = append(all, errors.New("--cluster-mode on is for a node of a cluster (--raft); a server by itself has --cluster-mode emulated"))
	}
	return all
}

// raftTLSFiles are those of --raft-tls-* that are given.
func (o *options) raftTLSFiles() []string {
	return slices.DeleteFunc([]string{o.RaftTLSCert, o.RaftTLSKey, o.RaftTLSCA}, func(name string) bool { return name == "" })
}

// isNewMember says whether a node on a data directory would be of no cluster. Where the
// directory can't be read the start says so.
func isNewMember(dir string) bool {
	member, err := replication.InCluster(dir)
	return err == nil && !member
}

// raftProtection names the options that protect nodes beyond loopback.
const raftProtection = "--cluster-secret-file, --cluster-secret or --raft-tls-cert, -key and -ca"

// hasSecret says whether nodes know each other by a secret.
func (o *options) hasSecret() bool { return o.ClusterSecret != "" || o.ClusterSecretFile != "" }

// openSecrets reads the secrets of the cluster; nil: there are none.
func (o *options) openSecrets(log *slog.Logger) (*replication.Secrets, error) {
	switch {
	case o.ClusterSecretFile != "":
		return replication.OpenSecrets(o.ClusterSecretFile, o.Unprotected || o.RaftTLSCert != "" || o.raftOnLoopback(), log)
	case o.ClusterSecret != "":
		return replication.OneSecret(o.ClusterSecret)
	}
	return nil, nil
}

// raftOnLoopback says whether only processes of this machine reach the port for nodes.
func (o *options) raftOnLoopback() bool {
	return server.RequireProtection("--raft", o.Raft, false, "") == nil && server.RequireProtection("--raft-bind", o.RaftBind, false, "") == nil
}

// linkFiles are the certificates of nodes; nil: there are none.
func (o *options) linkFiles() *certs.Files {
	if o.RaftTLSCert == "" {
		return nil
	}
	return &certs.Files{Cert: o.RaftTLSCert, Key: o.RaftTLSKey, CA: o.RaftTLSCA}
}

// advertised is where clients reach this node.
func (o *options) advertised() (string, error) {
	if o.Advertise != "" {
		host, _, err := net.SplitHostPort(o.Advertise)
		if err != nil || host == "" {
			return "", fmt.Errorf("--advertise must be HOST:PORT, got %q", o.Advertise)
		}
		return o.Advertise, nil
	}
	if o.Listen == "" {
		return "", errors.New("--raft needs --listen, or --advertise HOST:PORT, for clients that other nodes send here")
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return "", fmt.Errorf("--listen must be HOST:PORT, got %q", o.Listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _, err = net.SplitHostPort(o.Raft)
	}
	return net.JoinHostPort(host, port), err
}
