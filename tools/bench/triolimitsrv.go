package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"limitsrv/internal/testing/faultnet"
	"limitsrv/internal/testing/freeport"
)

// electionTimeout is the --election-timeout of a node.
const electionTimeout = "300ms"

// startLimitsrvTrio starts three nodes of limitsrv, each with its state in a directory of
// its own in dir. They reach each other through network, or directly if that is nil.
// extra are options of each node.
func (e *env) startLimitsrvTrio(ctx context.Context, dir string, network *faultnet.Network,
	extra ...string) (*trio, error) {
	t := &trio{
		network: network,
		take:    []string{"RL.TOKEN", keyPlace, capacityPlace, "1/3650d", permitsPlace},
		peek:    []string{"RL.PEEK", keyPlace},
		used:    usedOfPeek,
		// Every node accepts requests, and forwards them to the leader.
		route: func(reachable []int, try int) (int, error) { return reachable[try%len(reachable)], nil },
	}
	if network != nil {
		e.atEnd(network.Close)
	}
	var bound, public []string
	for i := range hosts {
		inside, outside, err := t.expose(i)
		if err != nil {
			return t, err
		}
		bound, public = append(bound, inside), append(public, outside)
	}
	for i := range hosts {
		address, err := freeport.Address(t.host(i))
		if err != nil {
			return t, err
		}
		args := append([]string{
			e.binary, "--listen", address, "--log-level", "warn", "--raft", public[i], "--raft-bind", bound[i],
			"--peers", strings.Join(public, ","), "--data", filepath.Join(dir, fmt.Sprintf("node-%d", i+1)),
			"--election-timeout", electionTimeout,
		}, extra...)
		p, err := e.launch(ctx, address, "PING", args...)
		if err != nil {
			return t, err
		}
		t.servers = append(t.servers, p)
	}
	return t, eventually(ctx, t.checkReplication)
}

// usedOfPeek parses [algorithm limit remaining ...], or nil for a key that does not
// exist.
func usedOfPeek(reply any, capacity int64) (int64, error) {
	if reply == nil {
		return 0, nil
	}
	if fields, ok := reply.([]any); ok && len(fields) > 2 {
		if remaining, ok := fields[2].(int64); ok {
			return capacity - remaining, nil
		}
	}
	return 0, fmt.Errorf("RL.PEEK was answered %v", reply)
}
