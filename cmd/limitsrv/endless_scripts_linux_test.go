package main

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/internal/respclient"
)

// TestEndlessScriptsByFollower: endless scripts that write nothing, which the leader evaluates
// for its followers, soon end at the budget that heavy scripts get, as by the leader, and other
// clients are answered. EVALSHA is used because an EVAL may put the text into the log, and the
// run with it.
func TestEndlessScriptsByFollower(t *testing.T) {
	c := startTrio(t, directories(t), "--script-steps", "30000")
	c.awaitRecovery(t)
	leader := c.leader()
	if leader < 0 {
		t.Fatal("nobody leads")
	}
	m, hash := c.peers[(leader+1)%peerCount], ""
	await(t, "a script is loaded", func() bool {
		replies, err := m.ask(`SCRIPT LOAD "while true do end"`)
		if err != nil {
			return false
		}
		hash = fmt.Sprint(replies[0])
		return len(hash) == 40
	})
	await(t, "an endless script ends at 10000 steps", func() bool {
		replies, err := m.ask("EVALSHA " + hash + " 0")
		return err == nil && strings.Contains(fmt.Sprint(replies[0]), "script takes more than 10000 steps")
	})
	for _, line := range []string{"RL.TOKEN limit 10 10/s", "GET none", `EVAL "return 1" 0`} {
		replies, err := m.ask(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if wrong, ok := replies[0].(respclient.Error); ok {
			t.Errorf("%s answers %s", line, wrong)
		}
	}
}
