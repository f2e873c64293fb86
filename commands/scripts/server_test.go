package scripts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// serverWant has scripts that call SELECT, INFO and MEMORY USAGE, and their answers. Before each, key
// is set in databases 0 and 2.
var serverWant = []struct{ text, want string }{
	{"return redis.call('SELECT', 2)", "+OK|"},
	{"redis.call('SELECT', 2) return redis.call('GET', KEYS[1])", "$3|two|"},
	{"redis.call('GET', KEYS[1]) redis.call('SELECT', 2) return redis.call('GET', KEYS[1])", "$3|two|"},
	{"redis.call('GET', KEYS[1]) redis.call('SELECT', 2) redis.call('DEL', KEYS[1]) redis.call('SELECT', 0) return " +
		"redis.call('GET', KEYS[1])", "$4|zero|"},
	{"redis.call('SELECT', 3) redis.call('INCR', 'n') redis.call('SELECT', '3') return redis.call('INCR', 'n')", ":2|"},
	{"redis.call('SELECT', 3) redis.call('RL.TOKEN', KEYS[1], 5, 1, 5) return {redis.call('TYPE', KEYS[1]).ok, " +
		"redis.call('DBSIZE')}", "*2|$5|token|:1|"},
	{"redis.call('SELECT', 2) redis.call('RENAME', KEYS[1], 'b') return {redis.call('KEYS', '*'), redis.call('SCAN', " +
		"0)[2], redis.call('RANDOMKEY'), redis.call('DBSIZE')}",
		"*4|*1|$1|b|*1|$1|b|$1|b|:1|"},
	{"redis.pcall('SELECT', 99) redis.pcall('SELECT', 'x') return redis.call('GET', KEYS[1])", "$4|zero|"},
	{"return redis.pcall('SELECT', 16).err", "$31|ERR DB index is out of range|"},
	{"return redis.pcall('SELECT', 'x').err", "$43|ERR value is not an integer or out of range|"},
	{"return redis.call('INFO', 'keyspace')",
		"$76|# Keyspace||db0:keys=1,expires=0,avg_ttl=0||db2:keys=1,expires=1,avg_ttl=0|||"},
	{"redis.call('SELECT', 9) return redis.call('INFO', 'replication', 'KEYSPACE')",
		"$107|# Replication||role:master||||# Keyspace||db0:keys=1,expires=0,avg_ttl=0||db2:keys=1,expires=1,avg_ttl=0|||"},
	{"return string.match(redis.call('INFO'), 'redis_version:%d+')", "$15|redis_version:7|"},
	{"return redis.call('INFO', 'commandstats')", "$0||"},
	{"return redis.call('MEMORY', 'USAGE', 'missing')", "$-1|"},
	{"return redis.pcall('MEMORY', 'DOCTOR').err", "$44|ERR Unknown Redis command called from script|"},
	{"return redis.pcall('MEMORY', 'USAGE').err", "$55|ERR Wrong number of args calling Redis command from script|"},
	{"return redis.pcall('MEMORY', 'USAGE', 'k', 'SAMPLES').err", "$16|ERR syntax error|"},
	{"return redis.pcall('MEMORY', 'USAGE', 'k', 'SAMPLES', -1).err", "$16|ERR syntax error|"},
}

// TestServerCommands: the answers are the same in engines with different tables, and the next run
// begins in the database of its call.
func TestServerCommands(t *testing.T) {
	for _, shards := range []int{1, 4, 64} {
		for _, tt := range serverWant {
			n := &node{e: engine.New(engine.Options{Shards: shards, Seed: [16]byte{1}, Commands: allCalls}), now: start}
			n.run("redis.call('SET', KEYS[1], 'zero') redis.call('SELECT', 2) redis.call('SET', KEYS[1], 'two', 'PX', 60000)",
				"1", "k")
			want := strings.ReplaceAll(tt.want, "|", "\r\n")
			got := strings.ReplaceAll(n.run(tt.text, "1", "k"), "|", "\r\n")
			if want, got = withoutLengths(want), withoutLengths(got); got != want {
				t.Errorf("%d shards: %s answers %q, want %q", shards, tt.text, got, want)
			}
			if got := n.run("return redis.call('EXISTS', KEYS[1])", "1", "k"); got != ":1|" {
				t.Errorf("%d shards: after %s the next run finds %s keys", shards, tt.text, got)
			}
		}
	}
}

// withoutLengths removes the lengths of strings and joins the line ends.
func withoutLengths(reply string) string {
	lines := strings.FieldsFunc(reply, func(c rune) bool { return c == '\r' || c == '\n' })
	for i, line := range lines {
		if strings.HasPrefix(line, "$") && line != "$-1" {
			lines[i] = "$"
		}
	}
	return strings.Join(lines, "|")
}

// TestSizesAgree: MEMORY USAGE answers the same in engines with different tables, for each type of
// value and each algorithm of scripts' commands.
func TestSizesAgree(t *testing.T) {
	kinds := map[string]string{
		"number": "SET k 12", "text": "SET k short", "blob": "SET k " + strings.Repeat("x", 5000),
		"hash": "HSET k a 1 b " + strings.Repeat("x", 100), "list": "RPUSH k a bb ccc", "set": "SADD k 1 2 x",
		"zset":  "ZADD k 1 a 2 b",
		"lease": "RL.ACQUIRE k 10 1m me",
	}
	for a := range engine.Algs() {
		if a.IsCounted() {
			kinds[a.String()] = "RL." + a.String() + " k 10 60 3"
		}
	}
	for kind, line := range kinds {
		var all []string
		for _, shards := range []int{1, 64} {
			n := &node{e: engine.New(engine.Options{Shards: shards, Seed: [16]byte{1}, Commands: allCalls}), now: start}
			n.run("for i = 1, 300 do redis.call('SET', 'other' .. i, i) end", "0")
			words := strings.Fields(line)
			if got :=
				n.run(`return {redis.call(unpack(ARGV)), redis.call('MEMORY', 'USAGE', KEYS[1]), redis.call('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 0)}`, append([]string{"1", "k"}, words...)...); strings.Contains(got, "-") {
				t.Errorf("%s: %s", line, got)
			} else {
				all = append(all, got)
			}
		}
		if len(slices.Compact(all)) != 1 {
			t.Errorf("%s: %q", kind, all)
		}
	}
}

// TestNewCommandsAtLevel1: commands with a level are unknown below it.
func TestNewCommandsAtLevel1(t *testing.T) {
	for name, c := range commands {
		if c.own == nil || c.own.since == 0 {
			continue
		}
		text := fmt.Sprintf("return redis.call('%s'%s)", name, strings.Repeat(", '0'", c.least-1))
		if got := newNode().runAt(c.own.since-1, text, "0"); !strings.HasPrefix(got, "-"+unknownCommand) {
			t.Errorf("%s at level %d: %s", text, c.own.since-1, got)
		}
	}
}

// TestOtherDatabasesArePaid: a key of another database costs a step too.
func TestOtherDatabasesArePaid(t *testing.T) {
	n := newNode()
	n.run("for i = 1, 5000 do redis.call('SET', 'key' .. i, 1) end", "0")
	for name, c := range commands {
		if c.Flags&spec.AllKeys == 0 || name == "SELECT" {
			continue
		}
		text := fmt.Sprintf("redis.call('SELECT', 7) return redis.pcall('%s'%s)", name, strings.Repeat(", '0'", c.least-1))
		if got := n.runAs(Looks, 4000, text, "0"); !strings.Contains(got, "script takes more than 4000 steps") {
			t.Errorf("%s answers %.100s", text, got)
		}
	}
}

// TestSamplesArePaid: each element that MEMORY USAGE looks at costs steps.
func TestSamplesArePaid(t *testing.T) {
	n := newNode()
	n.run("for i = 1, 5000 do redis.call('HSET', 'h', i, i) redis.call('RPUSH', 'l', i) redis.call('SADD', 's', i) "+
		"redis.call('ZADD', 'z', i, i) end", "0")
	for _, key := range strings.Fields("h l s z") {
		if got := n.runAs(Looks, 4000, "return redis.pcall('MEMORY', 'USAGE', '"+key+"', 'SAMPLES', 0)",
			"0"); !strings.Contains(got, "script takes more than 4000 steps") {
			t.Errorf("all elements of %s: %.100s", key, got)
		}
		if got := n.runAs(Looks, 4000, "return redis.pcall('MEMORY', 'USAGE', '"+key+"') > 5000 * 8", "0"); got != ":1|" {
			t.Errorf("some elements of %s: %.100s", key, got)
		}
	}
}

// TestKeyOfMemory: a run that may touch declared keys only gets the size of no other key.
func TestKeyOfMemory(t *testing.T) {
	const text = "return redis.call('MEMORY', 'USAGE', KEYS[1])"
	s, _ := Compile([]byte(text))
	if s.Modes()&(Declared|Looks) != Declared|Looks {
		t.Errorf("modes %b", s.Modes())
	}
	if got := newNode().runAs(Declared|Looks, DefaultSteps, "return redis.call('MEMORY', 'USAGE', 'o' .. 'ther')", "1",
		"k"); !strings.Contains(got, "not declared") {
		t.Errorf("an undeclared key: %s", got)
	}
}
