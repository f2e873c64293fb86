package main

import (
	"errors"
	"fmt"
	"net"

	"limitsrv/certs"
)

// checkCluster holds the options of a cluster against each other.
func (o *options) checkCluster() error {
	tls := 0
	for _, file := range []string{o.RaftTLSCert, o.RaftTLSKey, o.RaftTLSCA} {
		if file != "" {
			tls++
		}
	}
	switch {
	case o.Raft == "" && (len(o.Peers) > 0 || len(o.Join) > 0 || o.RaftBind != "" || o.Advertise != "" || tls > 0):
		return errors.New("--peers, --join, --raft-bind, --advertise and --raft-tls-* are for a node of a cluster: give it --raft HOST:PORT")
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
	}
	_, err := o.advertised()
	return err
}

// linkFiles are what nodes know each other by; nil: nothing is.
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
