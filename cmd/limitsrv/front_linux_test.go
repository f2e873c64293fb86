package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// startFront starts a front before a trio, and waits until it is ready.
func startFront(t *testing.T, c *trio, options ...string) *running {
	t.Helper()
	nodes := c.peers[0].raft + "," + c.peers[1].raft
	front := serve(t, append([]string{"--front", nodes, "--cluster-secret", testSecret, "--election-timeout",
		testwait.Scaled(electionTimeout).String()}, options...)...)
	await(t, "the front is ready", func() bool {
		return strings.Contains(fmt.Sprint(wired(t, front.address).do(t, "INFO server")), "\r\nready:1\r\n")
	})
	return front
}

// frontFaults are the faults of TestFrontUnderFaults. The simulations of package replication have others.
var frontFaults = []string{"the leader is killed", "the leader is stopped", "the leader is isolated"}

// TestFrontUnderFaults applies faults to the leader of a trio while clients take permits through a
// front. All replies must be consistent with a single server without failures.
func TestFrontUnderFaults(t *testing.T) {
	seed := testwait.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := startTrio(t, directories(t))
	c.awaitRecovery(t)
	front := startFront(t, c)
	p := newLoadClients(limiterHistory)
	p.start([]string{front.address}, seed)
	seen := gaps{}
	for _, f := range faults {
		if slices.Contains(frontFaults, f.name) {
			c.apply(t, f, rng, p, seen)
		}
	}
	p.awaitDenial(t)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	c.awaitSameState(t)
	if err := p.audit(wired(t, front.address)); err != nil {
		t.Errorf("audit at the front: %v", err)
	}
	seen.report(t)
	if given, denied, _ := p.counts(); len(seen) != len(frontFaults) || given == 0 || denied == 0 {
		t.Errorf("%d kinds of faults, want %d; %d permits and %d denials, want some", len(seen), len(frontFaults), given,
			denied)
	}
}

// TestRulesThroughFront loads rules and asks by them, over HTTP too, through a front. No front decides
// by rules that are older than an answered load at a node.
func TestRulesThroughFront(t *testing.T) {
	c := startTrio(t, directories(t))
	c.awaitRecovery(t)
	address := freeAddress(t)
	front := startFront(t, c, "--rls-http", address)
	w := wired(t, front.address)
	if got := fmt.Sprint(w.do(t, "CONFIG SET maxmemory 1mb")); !strings.Contains(got, "ERR") {
		t.Errorf("the bound of a front's keys is set: %s", got)
	}
	for limit := range 20 {
		load := fmt.Sprintf(`RL.RULES LOAD "domain: api\nrules:\n  - {name: one, per: [ip], limits: %d/hour}\n"`, limit+1)
		at := []string{front.address, c.peers[limit%len(c.peers)].client}[limit%2]
		if got := fmt.Sprint(wired(t, at).do(t, load)); !strings.HasPrefix(got, fmt.Sprintf("[%d ", limit+1)) {
			t.Fatalf("a load at %s is answered %s", at, got)
		}
		want := fmt.Sprintf(`"limit":%d,`, limit+1)
		if got := checkOver(t, address, fmt.Sprint(limit)); !strings.Contains(got, want) {
			t.Errorf("a request after a load is answered %s, want %s", got, want)
		}
		if got := fmt.Sprint(w.do(t, fmt.Sprintf("RL.CHECK api ip n%d", limit))); !strings.HasPrefix(got, "[1 ") {
			t.Errorf("RL.CHECK is answered %s", got)
		}
	}
	weigh := `RL.RULES LOAD "domain: llm\nrules:\n  - {name: spend, per: [user], limits: 900/3650d weights in=2.5 out=10}\n"`
	if got := fmt.Sprint(w.do(t, weigh)); !strings.HasPrefix(got, "[21 ") {
		t.Fatalf("a load of weights is answered %s", got)
	}
	if got := fmt.Sprint(w.do(t, "RL.CHECK llm user u HITS in=3 out=20")); !strings.HasPrefix(got, "[1 900 692 ") {
		t.Errorf("amounts at a front are answered %s", got)
	}
	for i, want := range []string{"[1 900 702 ", "[1 900 712 ", "[1 900 722 "} {
		got := fmt.Sprint(wired(t, c.peers[i].client).do(t, "RL.SETTLE llm user u BY out=-1"))
		if !strings.HasPrefix(got, want) {
			t.Errorf("a settlement at node %d is answered %s, want %s", i, got, want)
		}
	}
	got := postCheck(t, address, `{"domain": "llm", "attributes": {"user": "u"}, "hits": {"in": 1}}`)
	if want := `"remaining":719,`; !strings.Contains(got, want) {
		t.Errorf("amounts over HTTP are answered %s, want %s", got, want)
	}
}

// checkOver asks by the rules over HTTP.
func checkOver(t *testing.T, address, ip string) string {
	t.Helper()
	return postCheck(t, address, fmt.Sprintf(`{"domain": "api", "descriptors": [[["ip", %q]]]}`, ip))
}

// postCheck posts a body to /v1/check.
func postCheck(t *testing.T, address, body string) string {
	t.Helper()
	reply, err := http.Post("http://"+address+"/v1/check", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
