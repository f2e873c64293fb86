package commands

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/redistest"
	"limitsrv/internal/testing/testwait"
)

// waitFor repeats line until Redis' answer contains text.
func (p *pair) waitFor(line, text string) {
	p.t.Helper()
	for deadline := testwait.Soon(3 * redistest.Patience); ; time.Sleep(20 * time.Millisecond) {
		_, reply := p.ask("PING", line)
		if strings.Contains(reply[0], text) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: no %q in %s", line, text, reply[0])
		}
	}
}

// infoNames returns the names of the fields of INFO, in order, with their values if these
// are words.
func infoNames(reply string) []string {
	var names []string
	for _, line := range strings.Split(strings.Trim(reply, `"`), `\r\n`) {
		name, value, ok := strings.Cut(line, ":")
		switch {
		case !ok || messagesOfKind.MatchString(name):
		case strings.HasPrefix(name, "slave0"):
			names = append(names, anyAddress.ReplaceAllString(anyDigits.ReplaceAllString(line, "0"), "ip=,"))
		case strings.ContainsAny(value, "0123456789"):
			names = append(names, name)
		default:
			names = append(names, line)
		}
	}
	return names
}

var (
	anyDigits  = regexp.MustCompile(`\b\d+\b`)
	anyAddress = regexp.MustCompile(`ip=[^,]*,`)
	// Redis counts messagesOfKind for each kind of message that occurred.
	messagesOfKind = regexp.MustCompile(`^cluster_stats_messages_\w+_(sent|received)$`)
	anyID          = regexp.MustCompile(`[0-9a-f]{40}`)
)

// nodeShape returns the lines of CLUSTER NODES without ids, addresses and times.
func nodeShape(reply string) []string {
	reply = anyID.ReplaceAllString(reply, "id")
	var shapes []string
	for _, line := range strings.Split(strings.Trim(reply, `"[]`), `\n`) {
		words := strings.Fields(strings.Trim(line, `"`))
		for i := range words {
			switch i {
			case 1:
				words[i] = regexp.MustCompile(`^[^:]+:\d+@\d+$`).ReplaceAllString(words[i], "address")
			case 4, 5, 6:
				words[i] = anyDigits.ReplaceAllString(words[i], "0")
			}
		}
		shapes = append(shapes, strings.Join(words, " "))
	}
	slices.Sort(shapes) // Redis' order varies
	return shapes
}

// TestReplicasLikeRedis compares a leader and a follower with a Redis cluster of a master
// and a replica.
func TestReplicasLikeRedis(t *testing.T) {
	hasty := []string{"--repl-diskless-sync-delay", "0", "--cluster-node-timeout", "1000"}
	master, bus := startRedisNode(t, hasty...)
	replica, _ := startRedisNode(t, hasty...)
	leads, follows := newFakeCluster(status.Leader), newFakeCluster(status.Follower)
	for _, c := range []*fakeCluster{leads, follows} {
		c.enabled, c.pair = true, true
	}
	m, r := master.pair(newTestHandlerWith(session.Config{Cluster: leads})),
		replica.pair(newTestHandlerWith(session.Config{Cluster: follows}))
	m.ask("PING", "CLUSTER ADDSLOTSRANGE 0 16383")
	_, id := m.ask("PING", "CLUSTER MYID")
	host, port, _ := net.SplitHostPort(master.address)
	r.ask("PING", fmt.Sprintf("CLUSTER MEET %s %s %s", host, port, bus))
	r.waitFor("CLUSTER NODES", "0-16383")
	r.ask("PING", "CLUSTER REPLICATE "+strings.Trim(id[0], `"`))
	r.waitFor("INFO replication", "master_link_status:up")
	r.waitFor("CLUSTER INFO", "cluster_state:ok")
	m.waitFor("INFO replication", "state=online")
	m.waitFor("CLUSTER INFO", "cluster_state:ok")
	m.waitFor("SET foo v", "OK") // CLUSTER SLOTS lists a replica only after it has received data
	m.waitFor("CLUSTER SLOTS", strings.TrimPrefix(replica.address, "127.0.0.1:"))
	for _, p := range []*pair{m, r} {
		for line, see := range map[string]func(string) []string{
			"ROLE":             func(s string) []string { return []string{shape(s)} },
			"CLUSTER SLOTS":    func(s string) []string { return []string{shape(s)} },
			"CLUSTER SHARDS":   func(s string) []string { return []string{shape(s)} },
			"CLUSTER INFO":     infoNames,
			"CLUSTER NODES":    nodeShape,
			"INFO replication": infoNames,
			"INFO cluster":     func(s string) []string { return []string{s} },
		} {
			got, want := p.ask(line, line)
			if ours, theirs := see(got[0]), see(want[0]); !slices.Equal(ours, theirs) {
				t.Errorf("%s of %s\n got %q\nRedis %q", line, roleOf(p.ours.Handler()), ours, theirs)
			}
		}
	}
	_, leader := m.ask("PING", "CLUSTER MYID")
	got, want := r.ask("CLUSTER REPLICAS "+fakeNodeID("b"), "CLUSTER REPLICAS "+strings.Trim(leader[0], `"`))
	if ours, theirs := nodeShape(got[0]), nodeShape(want[0]); !slices.Equal(ours, theirs) {
		t.Errorf("CLUSTER REPLICAS\n got %q\nRedis %q", ours, theirs)
	}
	got, want = m.ask("CLUSTER LINKS", "CLUSTER LINKS")
	first := func(links string) string {
		link, _, _ := strings.Cut(links, "]")
		return anyMember.ReplaceAllString(shape(link), "")
	}
	if first(got[0]) != first(want[0]) {
		t.Errorf("CLUSTER LINKS\n got %s\nRedis %s", got[0], want[0])
	}
	_, moved := r.ask("PING", "GET foo")
	follows.moved = master.address
	if got, _ := r.ask("EXISTS foo", "PING"); got[0] != moved[0] {
		t.Errorf("a key of the leader's\n got %s\nRedis %s", got[0], moved[0])
	}
}
