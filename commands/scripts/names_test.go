package scripts

import (
	"strings"
	"testing"
)

// runAt runs a script at a level, and returns the answer in RESP2.
func (n *node) runAt(level uint8, text string, args ...string) string {
	s, wrong := Compile([]byte(text))
	if wrong != "" {
		return "-" + wrong
	}
	n.batch.Reset()
	n.add(s.Modes(), DefaultSteps, text, args...)
	n.batch.Level = level
	n.e.Apply(n.now, &n.batch)
	return respOf(&n.batch.Calls[0])
}

// TestBothNames: from level 2 on the functions and constants of scripts have the table server too, as in
// Valkey. It is the table redis, so scripts can change neither. At level 1 there is no such variable.
func TestBothNames(t *testing.T) {
	const missing = "Script attempted to access nonexistent global variable 'server'"
	for _, tt := range []struct{ text, want string }{
		{"return rawequal(server, redis) and _G.server == redis", ":1|"},
		{"for name, v in pairs(redis) do if server[name] ~= v then return name end end return 'all'", "$3|all|"},
		{"local n = 0 for name in pairs(server) do n = n + 1 if redis[name] == nil then return name end end return n > 10",
			":1|"},
		{"return server.call('INCR', KEYS[1])", ":2|"},
		{"return server.call('INCR', redis.call('GET', KEYS[1]) and KEYS[1])", ":2|"},
		{"return server.pcall('INCR', KEYS[1], 'x').err", "$"},
		{"local s = server return s.call('GET', KEYS[1])", "$1|1|"},
		{"return loadstring('return server.sha1hex(\"\")')()", "$40|da39a3ee5e6b4b0d3255bfef95601890afd80709|"},
		{"return server.error_reply('MY error')", "-MY error|"},
		{"return server.status_reply('FINE')", "+FINE|"},
		{"server.log(server.LOG_WARNING, 'x') return server.REPL_ALL", ":3|"},
		{"server.call = 1", "Attempt to modify a readonly table"},
		{"server = 1", "Attempt to modify a readonly table"},
		{"function server.more() end", "Attempt to modify a readonly table"},
		{"rawset(server, 'x', 1)", "Attempt to modify a readonly table"},
		{"return server.none", "$-1|"},
	} {
		n := newNode()
		n.run("redis.call('SET', KEYS[1], 1)", "1", "key")
		if got := n.runAt(2, tt.text, "1", "key"); !strings.Contains(got, tt.want) {
			t.Errorf("%s answers %s, want %s", tt.text, got, tt.want)
		}
		if got := n.runAt(1, tt.text, "1", "key"); !strings.Contains(got, missing) &&
			!strings.HasPrefix(tt.text, "return rawequal") && tt.text != "server = 1" {
			t.Errorf("at level 1 %s answers %s, want an error", tt.text, got)
		}
	}
	if got := newNode().runAt(1, "return _G.server == nil", "0"); !strings.Contains(got, missing) {
		t.Errorf("at level 1 _G.server answers %s", got)
	}
}

// TestModesOfBothNames: scripts have the same modes by both names of the table.
func TestModesOfBothNames(t *testing.T) {
	for _, text := range []string{
		"return redis.call('GET', KEYS[1])", "return redis.call('SET', KEYS[1], 1)", "return redis.call('SET', 'any', 1)",
		"return redis.pcall('PUBLISH', 'c', 1)", "local call = redis.call return 1", "return redis",
		"return redis.sha1hex('')", "return redis[KEYS[1]]",
	} {
		one, _ := Compile([]byte(text))
		other, _ := Compile([]byte(strings.ReplaceAll(text, "redis", "server")))
		if one.Modes() != other.Modes() || one.uses.constant != other.uses.constant ||
			len(one.uses.names) != len(other.uses.names) {
			t.Errorf("%s has modes %b, with the other name %b", text, one.Modes(), other.Modes())
		}
	}
}

// TestLibrariesByBothNames loads and calls a library by the name server. At level 1 it does not load.
func TestLibrariesByBothNames(t *testing.T) {
	const text = "#!lua name=l\nserver.register_function('f', function(keys) return server.call('INCR', keys[1]) end)"
	for _, level := range []uint8{1, 2} {
		n := newNode()
		n.batch.Level = level
		SetLoad(n.batch.AddCall(0), []byte(text), false)
		n.e.Apply(n.now, &n.batch)
		got := respOf(&n.batch.Calls[0])
		if loaded := got == "$1|l|"; loaded != (level == 2) {
			t.Errorf("at level %d the library answers %s", level, got)
		}
		if level == 1 {
			continue
		}
		if got := n.fcall("f", "1", "key"); got != ":1|" {
			t.Errorf("the function answers %s", got)
		}
	}
}
