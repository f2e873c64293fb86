package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"limitsrv/faultnet"
	"limitsrv/freeport"
)

// A trio is three servers of which one leads and the others stand in for it, each
// on a host of its own. What they send each other goes through a network that can
// be broken; clients reach them at their own addresses.
type trio struct {
	name    string
	network *faultnet.Network // nil: they reach each other directly
	servers []*process
	guards  []*process // one beside each server, if that is what finds a new leader
	take    []string   // asks for permits, with placeholders for key, capacity and permits
	peek    []string   // shows a bucket
	// used is how many permits of capacity are gone, by what peek was answered.
	used func(reply any, capacity int64) (int64, error)
	// route is the server that a client asks which reaches only some, at its
	// try-th attempt.
	route func(reachable []int, try int) (int, error)
}

// What stands in a command of a trio for what it asks, besides keyPlace.
const (
	capacityPlace = "__capacity__"
	permitsPlace  = "__permits__"
)

// clientWait is when a client of a trio gives up a server that does not answer.
const clientWait = time.Second

// hosts are where the servers of a trio are.
var hosts = []string{"127.77.2.1", "127.77.2.2", "127.77.2.3"}

// distance is how long what a host sends another takes, as between the zones of a
// data center.
const distance = 500 * time.Microsecond

// newTrioNetwork is the network of hosts.
func newTrioNetwork() *faultnet.Network {
	n := faultnet.New(hosts...)
	for _, from := range hosts {
		for _, to := range hosts {
			if from != to {
				n.Delay(from, to, distance)
			}
		}
	}
	return n
}

// everyHost is the numbers of all hosts.
var everyHost = []int{0, 1, 2}

// stop ends all servers.
func (t *trio) stop() {
	for _, p := range slices.Concat(t.guards, t.servers) {
		p.stop()
	}
	if t.network != nil {
		t.network.Close()
	}
}

// expose has the network listen for server i. It gives where the server itself is to
// listen, and where the others reach it.
func (t *trio) expose(i int) (address, public string, err error) {
	if address, err = freeport.Address(t.host(i)); err != nil || t.network == nil {
		return address, address, err
	}
	public, err = t.network.Expose(t.host(i)+":0", address)
	return address, public, err
}

// host is that of server i. Without a network all are on one that every machine has.
func (t *trio) host(i int) string {
	if t.network == nil {
		return "127.0.0.1"
	}
	return hosts[i]
}

// replication is what INFO of server i tells about it.
func (t *trio) replication(i int) (info, error) {
	reply, err := askOnce(t.servers[i].address, clientWait, "INFO", "replication")
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, fmt.Errorf("INFO replication was answered %v", reply)
	}
	return parseInfo(text), nil
}

// leader is the one server among some that says it leads.
func (t *trio) leader(among []int) (int, error) {
	found := -1
	for _, i := range among {
		fields, err := t.replication(i)
		switch {
		case err != nil:
			return 0, err
		case fields["role"] != "master":
		case found >= 0:
			return 0, fmt.Errorf("both %s and %s lead", hosts[found], hosts[i])
		default:
			found = i
		}
	}
	if found < 0 {
		return 0, errors.New("none leads")
	}
	return found, nil
}

// whole says whether one server leads and the others follow it.
func (t *trio) whole() error {
	leader, err := t.leader(everyHost)
	if err != nil {
		return err
	}
	fields, err := t.replication(leader)
	if err != nil {
		return err
	}
	if n := fields["connected_slaves"]; n != "2" {
		return fmt.Errorf("%s has %q followers, want 2", hosts[leader], n)
	}
	for _, i := range everyHost {
		fields, err := t.replication(i)
		if err != nil {
			return err
		}
		if i != leader && fields["master_link_status"] != "up" {
			return fmt.Errorf("%s is not connected to its leader", hosts[i])
		}
	}
	return nil
}

// trioWait is how long a trio may take to find together.
const trioWait = time.Minute

// eventually waits until check finds nothing wrong any more.
func eventually(ctx context.Context, check func() error) error {
	for deadline := time.Now().Add(trioWait); ; {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", trioWait, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
