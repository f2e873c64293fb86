package commands

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/testing/testwait"
)

const auditedRules = `domain: api
rules: [{name: login, per: [ip], limits: [1/minute], penalty: {after: 1, within: 1m, block: 1m, growth: 2}}]`

// TestAudit: loads, overrides and closed boxes have a line each, with values only if they are
// wanted.
func TestAudit(t *testing.T) {
	for _, values := range []bool{false, true} {
		var log testwait.Log
		h := newTestHandlerWith(session.Config{Log: log.Logger(), LogValues: values})
		do := func(args ...string) {
			t.Helper()
			s := h.NewSession(session.Client{Wake: func() {}, Close: func() {}, Addr: "192.0.2.1:4"})
			defer s.Close()
			var line [][]byte
			for _, arg := range args {
				line = append(line, []byte(arg))
			}
			if !s.Do(line) { // it waits for the rules
				testwait.Until(t, 10*time.Second, "the rules are compiled", s.Resume)
				s.Do(line)
			}
			s.Flush()
		}
		do("RL.RULES", "LOAD", "NOTE", "first", auditedRules)
		log.Await(t, "rules changed")
		do("RL.RULES", "LOAD", auditedRules) // no change
		do("RL.CHECK", "api", "ip", "203.0.113.7")
		do("RL.CHECK", "api", "ip", "203.0.113.7")
		do("RL.CHECK", "api", "ip", "203.0.113.7")
		do("RL.OVERRIDE", "SET", "api", "ip", "203.0.113.7", "DENY", "EX", "60")
		do("RL.OVERRIDE", "DEL", "api", "ip", "203.0.113.7")
		do("RL.OVERRIDE", "DEL", "api", "ip", "203.0.113.7") // there is no override
		value := "#fec52565"
		if values {
			value = "203.0.113.7"
		}
		path := fmt.Sprintf(`domain=api rule=login path="ip=%s"`, value)
		for _, want := range []string{
			`msg="rules changed" version=1 from=0 added=1 changed=0 removed=0 restarted=0 sha=`,
			` user=default addr=192.0.2.1:4 source=command`,
			`msg="penalty box closed" ` + path + ` level=1 for=1m0s until=`,
			fmt.Sprintf(`msg="override set" domain=api path="ip=%s" rule="" user=default addr=192.0.2.1:4 effect=DENY limit="" ttl=1m0s`, value),
			fmt.Sprintf(`msg="override removed" domain=api path="ip=%s" rule="" user=default addr=192.0.2.1:4`, value),
		} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("values: %t: the log has %d times %s:\n%s", values, n, want, log.String())
			}
		}
	}
}

// TestAuditIsBounded closes more boxes at once than have lines: the next line tells the
// number of omitted boxes, which a flood does not suppress for lines of other kinds.
func TestAuditIsBounded(t *testing.T) {
	var log testwait.Log
	h := newTestHandlerWith(session.Config{Log: log.Logger()})
	s := h.NewSession(session.Client{Wake: func() {}, Close: func() {}})
	defer s.Close()
	do := func(args ...string) {
		var line [][]byte
		for _, arg := range args {
			line = append(line, []byte(arg))
		}
		if !s.Do(line) { // it waits for the rules
			testwait.Until(t, 10*time.Second, "the rules are compiled", s.Resume)
			s.Do(line)
		}
		s.Flush()
	}
	do("RL.RULES", "LOAD", auditedRules)
	log.Await(t, "rules changed")
	for i := range 150 {
		do("RL.CHECK", "api", "ip", fmt.Sprint(i))
		do("RL.CHECK", "api", "ip", fmt.Sprint(i))
	}
	do("RL.OVERRIDE", "SET", "api", "ALLOW")
	if boxes, overrides := strings.Count(log.String(), "penalty box closed"),
		strings.Count(log.String(), "override set"); boxes != 100 || overrides != 1 {
		t.Errorf("%d lines about boxes and %d about overrides, want 100 and 1", boxes, overrides)
	}
	if n := h.Config().Rules.Current().Penalties(); n != 150 {
		t.Errorf("%d boxes closed, want 150", n)
	}
}

// TestAuditBadAddresses: addresses that can't be parsed are counted and logged, with values in the same
// form as other values.
func TestAuditBadAddresses(t *testing.T) {
	for _, values := range []bool{false, true} {
		var log testwait.Log
		h := newTestHandlerWith(session.Config{Log: log.Logger(), LogValues: values})
		s := h.NewSession(session.Client{Wake: func() {}, Close: func() {}})
		defer s.Close()
		do := func(args ...string) {
			var line [][]byte
			for _, arg := range args {
				line = append(line, []byte(arg))
			}
			s.Do(line)
			s.Flush()
		}
		do("RL.RULES", "LOAD",
			"domain: api\nlists: {l: {key: ip, cidr: [192.0.2.0/24]}}\ndeny: [l]\nrules: [{name: r, per: [ip], limits: 5/m}]")
		log.Await(t, "rules changed")
		for range 150 {
			do("RL.CHECK", "api", "user", "u", "ip", "unknown")
		}
		do("RL.CHECK", "api", "user", "u", "ip", "192.0.2.7:80")
		do("RL.SETTLE", "api", "ip", "x", "BY", "1")
		value := "#b23a6a84"
		if values {
			value = "unknown"
		}
		if n := strings.Count(log.String(), `msg="address can't be parsed" domain=api path="ip=`+value+`"`); n != 100 {
			t.Errorf("values: %t: %d lines, want 100:\n%s", values, n, log.String())
		}
		if n := h.Config().Rules.Current().BadAddresses(); n != 151 {
			t.Errorf("%d bad addresses, want 151", n)
		}
	}
}
