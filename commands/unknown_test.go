package commands

import (
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/engine/enginetest"
)

// Errors suggest the nearest name, or a replacement, after Redis' own text.
func TestAdvice(t *testing.T) {
	h := newTestHandlerWith(session.Config{LimitsOnly: true})
	for _, tt := range []struct{ line, want string }{
		{"RL.TOKEN k",
			"-ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] " +
				"[SHADOW] [ONCE id [FOR duration]]"},
		{"CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command"},
		{"CLIENT", "-ERR wrong number of arguments for 'client' command"},
		{"CLIENT LSIT", "-ERR unknown subcommand 'LSIT'. Try CLIENT HELP."},
		{"CLIENT SETNAM x", "-ERR unknown subcommand 'SETNAM'. Try CLIENT HELP.; did you mean SETNAME?"},
		{"RL.TOKN k 1 1", "-ERR unknown command 'RL.TOKN', with args beginning with: 'k' '1' '1' ; did you mean RL.TOKEN?"},
		{"NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: "},
		{"EVAL x 0",
			`-ERR unknown command 'EVAL', with args beginning with: 'x' '0' ; one command replaces a Lua limiter, RL.TOKEN for most: see "Moving here" in its README`},
		{"incr k",
			`-ERR unknown command 'incr', with args beginning with: 'k' ; RL.FIXED counts in a window that expires: see "Moving here" in its README`},
		{"GET k",
			`-ERR unknown command 'GET', with args beginning with: 'k' ; this server stores limits, not values: see "Moving here" in its README`},
		{"RL.TOKEN k 1 1 1 PARTAIL", "-ERR syntax error, after the parameters only n, then PARTIAL and SHADOW, each once " +
			"in any order, are allowed, and at the end ONCE id [FOR duration], got 'PARTAIL'; did you mean PARTIAL?"},
		{"RL.TOKEN k 1 1 1 SHADOW SHADOW", "-ERR syntax error, after the parameters only n, then PARTIAL and SHADOW, each " +
			"once in any order, are allowed, and at the end ONCE id [FOR duration], got 'SHADOW'"},
		{"RL.ACQUIRE k 1 1 a SHADW",
			"-ERR syntax error, after id only SHADOW is allowed, once, got 'SHADW'; did you mean SHADOW?"},
		{"RL.ALL TOKEN a 1 1 1 TOKN b 1 1 1",
			"-ERR alg must be {algorithms}, got 'TOKN'; did you mean TOKEN?, in limit 2"},
	} {
		if got := enginetest.HideAlgorithms(ask(h.NewSession(session.Client{}), tt.line)); got != tt.want+"|" {
			t.Errorf("%s\n got %s\nwant %s", tt.line, got, tt.want)
		}
	}
}

// Every command of Redis is either supported with --limits-only or listed in missing.
func TestMissing(t *testing.T) {
	p := startRedis(t).pair(newTestHandlerWith(session.Config{LimitsOnly: true}))
	r := p.ours.Handler().Registry()
	known := map[string]bool{}
	for _, m := range missing {
		for name := range strings.FieldsSeq(m.names) {
			if known[strings.ToLower(name)] = true; r.Find([]byte(name), nil) != nil {
				t.Errorf("%s is supported", name)
			}
		}
	}
	_, names := p.ask("PING", "COMMAND LIST")
	for name := range strings.FieldsSeq(strings.Trim(names[0], "[]")) {
		if name = strings.Trim(name, `"`); r.Find([]byte(name), nil) == nil && !known[name] &&
			!strings.ContainsAny(name, ".|-") {
			t.Errorf("Redis has %s, which is neither supported nor in missing", name)
		}
	}
}
