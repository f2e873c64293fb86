package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"limitsrv/internal/testing/faultnet"
	"limitsrv/internal/testing/freeport"
)

// A trio is three servers, one leader with two replicas, each on a host of its own.
// Their traffic with each other goes through a network that can be broken; clients
// reach them directly.
type trio struct {
	network   *faultnet.Network // nil: direct connections
	servers   []*process
	sentinels []*process // one for each server, if sentinels elect the leader
	take      []string   // requests permits, with placeholders for key, capacity and permits
	peek      []string   // reads a bucket
	// used returns the number of used permits of capacity from a reply to peek.
	used func(reply any, capacity int64) (int64, error)
	// route returns the server that a client uses for its try-th attempt if it can
	// reach only some.
	route func(reachable []int, try int) (int, error)
}

// Placeholders in a command of a trio, besides keyPlace.
const (
	capacityPlace = "__capacity__"
	permitsPlace  = "__permits__"
)

// clientWait is the timeout of a client's requests.
const clientWait = time.Second

// hosts are the addresses of the servers of a trio.
var hosts = []string{"127.77.2.1", "127.77.2.2", "127.77.2.3"}

// hostDelay is the delay of a packet from one host to another. The zones of a data center have such
// delays.
const hostDelay = 500 * time.Microsecond

// newTrioNetwork returns the network of hosts.
func newTrioNetwork() *faultnet.Network {
	n := faultnet.New(hosts...)
	for _, from := range hosts {
		for _, to := range hosts {
			if from != to {
				n.Delay(from, to, hostDelay)
			}
		}
	}
	return n
}

// everyHost is the indexes of all hosts.
var everyHost = []int{0, 1, 2}

// expose makes the network listen for server i. It returns the address for the server's own
// listener, and the address for the other servers to reach it.
func (t *trio) expose(i int) (address, public string, err error) {
	if address, err = freeport.Address(t.host(i)); err != nil || t.network == nil {
		return address, address, err
	}
	public, err = t.network.Expose(t.host(i)+":0", address)
	return address, public, err
}

// host returns the host of server i. Without a network all servers are on 127.0.0.1,
// which every machine has.
func (t *trio) host(i int) string {
	if t.network == nil {
		return "127.0.0.1"
	}
	return hosts[i]
}

// replication returns the section replication of INFO of server i.
func (t *trio) replication(i int) (info, error) { return t.servers[i].info("replication", clientWait) }

// leader returns the only server among some that reports itself as leader.
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

// checkReplication returns an error unless a server leads and all other servers follow it.
func (t *trio) checkReplication() error {
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

// trioWait bounds the time until servers are ready.
const trioWait = time.Minute

// eventually waits until check returns nil.
func eventually(ctx context.Context, check func() error) error {
	for deadline := time.Now().Add(trioWait); ; {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", trioWait, err)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
