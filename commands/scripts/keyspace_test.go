package scripts

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// TestAllKeys calls the commands on all keys in engines with different tables, and in an engine with
// expired keys that were not forgotten: the answers are the same.
func TestAllKeys(t *testing.T) {
	scriptsWant := []struct{ text, want string }{
		{"return redis.call('KEYS', '*')", "*3|$1|a|$2|b1|$2|b2|"},
		{"return redis.call('KEYS', 'b?')", "*2|$2|b1|$2|b2|"},
		{"return redis.call('KEYS', 'x')", "*0|"},
		{"return redis.call('SCAN', 0, 'MATCH', 'b*', 'COUNT', 1, 'TYPE', 'STRING')", "*2|$1|0|*1|$2|b1|"},
		{"return redis.call('SCAN', 77)[2][3]", "$2|b2|"},
		{"return redis.pcall('SCAN', 'x').err", "$18|ERR invalid cursor|"},
		{"return redis.pcall('SCAN', 0, 'COUNT', 0).err", "$16|ERR syntax error|"},
		{"return redis.pcall('SCAN', 0, 'MATCH').err", "$16|ERR syntax error|"},
		{"return redis.call('DBSIZE')", ":3|"},
		{"local key = redis.call('RANDOMKEY') return redis.call('EXISTS', key)", ":1|"},
		{"redis.call('SET', 'new', 1) redis.call('DEL', 'a') return redis.call('KEYS', '*')", "*3|$2|b1|$2|b2|$3|new|"},
		{"redis.call('GET', 'a') redis.call('DBSIZE') redis.call('APPEND', 'a', 'x') return redis.call('GET', 'a')",
			"$2|1x|"},
		{"local n = 0 for _, key in ipairs(redis.call('KEYS', 'b*')) do n = n + redis.call('DEL', key) end return n", ":2|"},
	}
	for _, shards := range []int{1, 4, 64} {
		for _, tt := range scriptsWant {
			n := &node{e: engine.New(engine.Options{Shards: shards, Seed: [16]byte{1}, Commands: allCalls}), now: start}
			if got := n.run("for i = 1, 500 do redis.call('SET', 'old' .. i, 1, 'PX', 1) end return 1", "0"); got != ":1|" {
				t.Fatal(got)
			}
			n.now += 1e9
			n.run("redis.call('SET', 'a', 1) redis.call('SET', 'b1', 1) redis.call('SADD', 'b2', 1)", "0")
			if got := n.run(tt.text, "0"); got != tt.want {
				t.Errorf("%d shards: %s answers %s, want %s", shards, tt.text, got, tt.want)
			}
		}
	}
}

// TestAllKeysAtLevel1: the commands are unknown at level 1.
func TestAllKeysAtLevel1(t *testing.T) {
	for name, c := range commands {
		if c.Flags&spec.AllKeys == 0 {
			continue
		}
		text := "return redis.call('" + name + "', '0')"
		if c.most == 1 {
			text = "return redis.call('" + name + "')"
		}
		if got := newNode().runAt(2, text, "0"); strings.HasPrefix(got, "-") {
			t.Errorf("%s answers %s", name, got)
		}
		if got := newNode().runAt(1, text, "0"); !strings.HasPrefix(got, "-ERR Unknown Redis command called from script") {
			t.Errorf("at level 1 %s answers %s", name, got)
		}
		s, _ := Compile([]byte(text))
		if s.Modes()&Declared != 0 || s.Modes()&Looks == 0 {
			t.Errorf("%s has modes %b", name, s.Modes())
		}
		if got := newNode().runAs(Declared|Looks, DefaultSteps, text, "0"); !strings.Contains(got, "not declared") {
			t.Errorf("a run that may touch declared keys only calls %s: %s", name, got)
		}
	}
}

// TestAllKeysArePaid: each key costs a step, and a run without steps for all keys ends, with any
// order of the table.
func TestAllKeysArePaid(t *testing.T) {
	for _, shards := range []int{1, 64} {
		n := &node{e: engine.New(engine.Options{Shards: shards, Seed: [16]byte{1}, Commands: allCalls}), now: start}
		n.run("for i = 1, 5000 do redis.call('SET', 'key' .. i, 1) end", "0")
		for _, call := range []string{"'KEYS', '*'", "'KEYS', 'none'", "'SCAN', 0", "'DBSIZE'", "'RANDOMKEY'"} {
			got := n.runAs(Looks, 4000, fmt.Sprintf("return redis.pcall(%s)", call), "0")
			if !strings.Contains(got, "script takes more than 4000 steps") {
				t.Errorf("%d shards: %s answers %.100s", shards, call, got)
			}
		}
	}
}

// TestRandomKeys draws many keys: all of a few are drawn.
func TestRandomKeys(t *testing.T) {
	n := newNode()
	n.run("for i = 1, 5 do redis.call('SET', 'key' .. i, 1) end", "0")
	got := n.run("local seen, n = {}, 0 for i = 1, 200 do local k = redis.call('RANDOMKEY') if not seen[k] then seen[k] "+
		"= true n = n + 1 end end return n", "0")
	if got != ":5|" {
		t.Errorf("%s of 5 keys are drawn", got)
	}
}

// TestBlockingCommands: commands that block wait for nothing in a script, and were not there at level 1.
func TestBlockingCommands(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"redis.call('RPUSH', 'l', 'a', 'b') return {redis.call('BLPOP', 'none', 'l', 0), redis.call('BRPOP', 'l', '0.5')}",
			"*2|*2|$1|l|$1|a|*2|$1|l|$1|b|"},
		{"return redis.call('BLPOP', 'none', 0)", "$-1|"},
		{"return redis.pcall('BRPOP', 'none', -1).err", "$23|ERR timeout is negative|"},
		{"redis.call('SET', 's', 1) return redis.pcall('BLPOP', 's', 0).err",
			"$65|WRONGTYPE Operation against a key holding the wrong kind of value|"},
		{"return redis.call('WAIT', 1, 0)", ":0|"},
		{"return redis.pcall('WAIT', 'x', 0).err", "$43|ERR value is not an integer or out of range|"},
		{"return redis.pcall('WAIT', 1, -1).err", "$23|ERR timeout is negative|"},
		{"return redis.pcall('WAIT', 1, 'x').err", "$45|ERR timeout is not an integer or out of range|"},
	} {
		if got := newNode().runAt(2, tt.text, "0"); got != tt.want {
			t.Errorf("%s answers %s, want %s", tt.text, got, tt.want)
		}
	}
	for name, c := range commands {
		text := "return redis.pcall('" + name + "', 'k', '0').err"
		switch got := newNode().runAt(1, text, "0"); {
		case c.Flags&spec.Blocking != 0 && !strings.Contains(got, "not allowed from script"):
			t.Errorf("at level 1 %s answers %s", name, got)
		case name == "WAIT" && !strings.Contains(got, "Unknown Redis command"):
			t.Errorf("at level 1 %s answers %s", name, got)
		}
	}
}
