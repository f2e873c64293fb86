package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// sentinelDownAfter is the failure timeout of Sentinel: much shorter than its
	// default of 30 s.
	sentinelDownAfter = 500 * time.Millisecond
	// sentinelMaster is the sentinels' name of the primary.
	sentinelMaster = "limits"
	// neverRefilled is a rate in tokens per millisecond: a token takes 11 days.
	neverRefilled = "0.000000001"
)

// startRedisTrio starts a primary, two replicas and three sentinels, without
// persistence. extra are options of the servers.
func (e *env) startRedisTrio(ctx context.Context, dir string, extra ...string) (*trio, error) {
	t := &trio{network: newTrioNetwork()}
	e.atEnd(t.network.Close)
	var advertised []string // public address of each server
	for i, host := range hosts {
		address, public, err := t.expose(i)
		if err != nil {
			return t, err
		}
		advertised = append(advertised, public)
		args := append([]string{"redis-server", "--dir", dir}, redisAddress(address)...)
		args = append(args, "--save", "", "--appendonly", "no", "--loglevel", "warning",
			"--repl-diskless-sync-delay", "0", "--replica-announce-ip", host, "--replica-announce-port", portOf(public))
		if i > 0 {
			args = append(args, "--replicaof", hosts[0]+" "+portOf(advertised[0]))
		}
		p, err := e.launch(ctx, address, "PING", append(args, extra...)...)
		if err != nil {
			return t, err
		}
		t.servers = append(t.servers, p)
	}
	for i := range hosts {
		p, err := e.startSentinel(ctx, t, i, advertised[0], dir)
		if err != nil {
			return t, err
		}
		t.sentinels = append(t.sentinels, p)
	}
	t.route = func(reachable []int, try int) (int, error) {
		return t.askSentinel(reachable[try%len(reachable)], advertised)
	}
	if err := eventually(ctx, t.checkSentinels); err != nil {
		return t, err
	}
	return t, t.loadScript()
}

// redisAddress returns the options of a server that listens at an address and dials
// from its host.
func redisAddress(address string) []string {
	host, port, _ := net.SplitHostPort(address)
	return []string{"--bind", host, "--port", port, "--bind-source-addr", host, "--protected-mode", "no"}
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// startSentinel starts the sentinel of a host. primary is the public address of the
// primary.
func (e *env) startSentinel(ctx context.Context, t *trio, i int, primary, dir string) (*process, error) {
	address, public, err := t.expose(i)
	if err != nil {
		return nil, err
	}
	// Sentinel rewrites its configuration file, which also holds its state.
	file := filepath.Join(dir, fmt.Sprintf("sentinel-%s.conf", portOf(public)))
	lines := []string{
		"sentinel monitor " + sentinelMaster + " " + strings.Replace(primary, ":", " ", 1) + " 2",
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", sentinelMaster, sentinelDownAfter.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s %d", sentinelMaster, (10 * sentinelDownAfter).Milliseconds()),
		"sentinel announce-ip " + hosts[i],
		"sentinel announce-port " + portOf(public),
		"loglevel warning",
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	args := append([]string{"redis-server", file, "--sentinel", "--dir", dir}, redisAddress(address)...)
	return e.launch(ctx, address, "PING", args...)
}

// askSentinel returns the server that the sentinel of host i names as the primary.
func (t *trio) askSentinel(i int, advertised []string) (int, error) {
	reply, err := askOnce(t.sentinels[i].address, clientWait, "SENTINEL", "get-master-addr-by-name", sentinelMaster)
	if err != nil {
		return 0, err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return 0, fmt.Errorf("the sentinel of %s answered %v", hosts[i], reply)
	}
	address := fmt.Sprintf("%v:%v", parts[0], parts[1])
	if at := slices.Index(advertised, address); at >= 0 {
		return at, nil
	}
	return 0, fmt.Errorf("the sentinel of %s names the unknown server %s", hosts[i], address)
}

// checkSentinels returns an error unless replication works and every sentinel has found the
// other sentinels.
func (t *trio) checkSentinels() error {
	if err := t.checkReplication(); err != nil {
		return err
	}
	for i, guard := range t.sentinels {
		reply, err := askOnce(guard.address, clientWait, "SENTINEL", "ckquorum", sentinelMaster)
		if err != nil {
			return fmt.Errorf("the sentinel of %s: %w", hosts[i], err)
		}
		if text := fmt.Sprint(reply); !strings.HasPrefix(text, "OK 3 ") {
			return fmt.Errorf("the sentinel of %s: %s", hosts[i], text)
		}
		if reply, err = askOnce(guard.address, clientWait, "SENTINEL", "replicas", sentinelMaster); err != nil {
			return fmt.Errorf("the sentinel of %s: %w", hosts[i], err)
		}
		if replicas, ok := reply.([]any); !ok || len(replicas) != 2 {
			return fmt.Errorf("the sentinel of %s knows %d replicas, want 2", hosts[i], len(replicas))
		}
	}
	return nil
}

// loadScript loads the script on every server, because each may become the leader.
func (t *trio) loadScript() error {
	var sha any
	for _, p := range t.servers {
		var err error
		if sha, err = askOnce(p.address, clientWait, "SCRIPT", "LOAD", tokenScript); err != nil {
			return err
		}
	}
	t.take = []string{"EVALSHA", fmt.Sprint(sha), "1", keyPlace, capacityPlace, neverRefilled, permitsPlace}
	t.peek = []string{"HGET", keyPlace, "tokens"}
	t.used = func(reply any, capacity int64) (int64, error) {
		if reply == nil {
			return 0, nil
		}
		tokens, err := strconv.ParseFloat(fmt.Sprint(reply), 64)
		return capacity - int64(tokens), err
	}
	return nil
}
