package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/respclient"
	"limitsrv/internal/testing/testwait"
)

var loadCount = flag.Int("loads", 20, "number of loads of rules of TestFaultsWhileRulesLoad")

// loadsPerKill is the number of loads of rules while one leader is killed.
const loadsPerKill = 5

// TestFaultsWhileRulesLoad loads rules into a cluster of processes while clients ask by
// them at all peers and its leaders are killed. No answer may come from older rules than an
// answered load or an earlier answer, no permit may be given twice, and all peers must end
// with the same history of loads. All peers have an old file of --rules, which no leader
// may load.
func TestFaultsWhileRulesLoad(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.yaml")
	if err := os.WriteFile(old, []byte(ruleText(1)), 0o600); err != nil {
		t.Fatal(err)
	}
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	var (
		rng      = rand.New(rand.NewPCG(seed, 0))
		c        = startTrio(t, directories(t), "--fsync", "always", "--rules", old)
		versions = newRuleVersions(*loadCount)
		p        = newLoadClients(func(number int) history { return newRuleHistory(versions, fmt.Sprint("client", number)) })
		l        = ruleLoader{c: c, p: p, versions: versions, loaded: 1}
	)
	c.awaitRecovery(t)
	c.awaitRules(t, 1)
	p.start(c.addresses(), seed)
	for l.loaded < *loadCount && !t.Failed() {
		l.loadAndKill(t, rng)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	c.awaitSameState(t)
	for _, m := range c.peers {
		if err := p.audit(wired(t, m.client)); err != nil {
			t.Errorf("audit of %s: %v", m.host, err)
		}
		if err := m.checkRuleHistory(*loadCount); err != nil {
			t.Error(err)
		}
	}
	granted, denied := 0, 0
	for _, h := range p.all {
		granted, denied = granted+len(h.(*ruleHistory).by), denied+len(h.(*ruleHistory).empty)
	}
	t.Logf("%d loads; %d permits of %d clients, %d denials; the longest time without a decision was %v", l.loaded, granted,
		len(p.all), denied, p.longestGap())
	if granted == 0 || denied == 0 {
		t.Error("no permits were granted, or none denied")
	}
}

// awaitRules waits until all peers have a version of the rules.
func (c *trio) awaitRules(t *testing.T, version int64) {
	t.Helper()
	for _, m := range c.peers {
		await(t, "the rules are loaded", func() bool {
			replies, err := m.ask("READONLY", "RL.RULES VERSION")
			if err != nil {
				return false
			}
			list, ok := replies[1].([]any)
			return ok && list[0] == version
		})
	}
}

// A ruleLoader loads one version of the rules after the other into a trio.
type ruleLoader struct {
	c        *trio
	p        *loadClients
	versions *ruleVersions
	loaded   int // the last load
}

// loadAndKill loads some versions while the leader is killed, and waits until the trio has
// recovered and its leader has left its old file alone.
func (l *ruleLoader) loadAndKill(t *testing.T, rng *rand.Rand) {
	t.Helper()
	victim := -1
	await(t, "a peer leads", func() bool {
		victim = l.c.leader()
		return victim >= 0
	})
	done := make(chan error)
	last, each := min(l.loaded+loadsPerKill, l.versions.most()), rand.New(rand.NewPCG(rng.Uint64(), 0))
	go func() {
		for l.loaded < last {
			if err := l.load(l.loaded+1, each); err != nil {
				done <- err
				return
			}
			l.loaded++
			l.versions.saw(l.loaded, l.p.clock.Add(1))
		}
		done <- nil
	}()
	time.Sleep(time.Duration(rng.Int64N(int64(100 * time.Millisecond))))
	l.c.peers[victim].kill()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	l.c.awaitRecovery(t)
	await(t, "the leader finds that its file has earlier rules", func() bool {
		leader := l.c.leader()
		return leader >= 0 && strings.Contains(l.c.peers[leader].logged(), "have an earlier version of the rules")
	})
}

// load loads a version at random peers until one of them answers that it is loaded.
func (l *ruleLoader) load(version int, rng *rand.Rand) error {
	command := fmt.Sprintf(`RL.RULES LOAD EXPECT %d "%s"`, version-1, ruleText(version))
	there := fmt.Sprintf("ERR rules are at version %d, not %d", version, version-1) // an earlier try did it
	for until := testwait.Soon(recoverWait); ; {
		replies, err := l.c.peers[rng.IntN(len(l.c.peers))].ask(command)
		if err != nil {
			replies = []any{nil} // it may be loaded
		}
		if list, ok := replies[0].([]any); ok && list[0] == int64(version) || replies[0] == respclient.Error(there) {
			return nil
		}
		if outcomeOf(replies[0]) == done || time.Now().After(until) {
			return fmt.Errorf("the load of version %d is answered %v, %v", version, replies[0], err)
		}
		time.Sleep(takePause)
	}
}

// checkRuleHistory returns an error unless a peer's own history has the loads of versions 1
// to most in order.
func (m *peer) checkRuleHistory(most int) error {
	replies, err := m.ask("READONLY", "RL.RULES HISTORY")
	if err != nil {
		return err
	}
	rows, _ := replies[1].([]any)
	var got, want []string
	for _, row := range rows {
		fields, ok := row.([]any)
		if !ok || len(fields) != 5 {
			return fmt.Errorf("the history of rules of %s is %v", m.host, replies[1])
		}
		got = append(got, fmt.Sprint(fields[:2]))
	}
	for version := most; version > max(0, most-33); version-- {
		want = append(want, fmt.Sprint([]any{version, ruleSHA(version)}))
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the history of rules of %s is\n%s\nwant\n%s", m.host, strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
	return nil
}
