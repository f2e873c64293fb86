package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

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
func (o *options) checkCluster() error {
	tls := 0
	for _, file := range []string{o.RaftTLSCert, o.RaftTLSKey, o.RaftTLSCA} {
		if file != "" {
			tls++
		}
	}
	switch {
	case o.Raft == "" && (len(o.Peers) > 0 || len(o.Join) > 0 || o.RaftBind != "" || o.Advertise != "" || tls > 0 || o.hasSecret()):
		return errors.New("--peers, --join, --raft-bind, --advertise, --cluster-secret, --cluster-secret-file and --raft-tls-* are for a node of a cluster: give it --raft HOST:PORT")
	case o.Raft == "" && o.ClusterMode == "on":
		return errors.New("--cluster-mode on is for a node of a cluster (--raft); a server by itself has --cluster-mode emulated")
	case o.Raft == "":
		return nil
	case o.Data == "":
		return errors.New("--raft needs --data DIR: what this node has acknowledged must outlive it")
	case o.ClusterMode == "emulated":
		return errors.New("--cluster-mode emulated is for a server by itself; with --raft it is on or off")
	case len(o.Peers) > 0 && len(o.Join) > 0:
		return errors.New("--peers founds a cluster and --join enters one: give one of them")
	case tls != 0 && tls != 3:
		return errors.New("--raft-tls-cert, --raft-tls-key and --raft-tls-ca go together")
	case o.ClusterSecret != "" && o.ClusterSecretFile != "":
		return errors.New("--cluster-secret is in --cluster-secret-file, or there is no such file: give one of them")
	case len(o.Peers) == 0 && len(o.Join) == 0 && isNewMember(o.Data):
		return fmt.Errorf("--raft needs --peers, with the --raft of all founding nodes, or --join, with those of nodes of a cluster: --data %s is of no cluster yet", o.Data)
	}
	if o.ClusterSecret != "" {
		if _, err := replication.OneSecret(o.ClusterSecret); err != nil {
			return fmt.Errorf("--cluster-secret: %w", err)
		}
	}
	_, err := o.advertised()
	return err
}

// isNewMember says whether a node on a data directory would be of no cluster. Where the
// directory can't be read the start says so.
func isNewMember(dir string) bool {
	member, err := replication.InCluster(dir)
	return err == nil && !member
}

// raftProtection is what nodes beyond loopback are to be given.
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
