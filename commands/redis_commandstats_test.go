package commands

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/scripts"
	"limitsrv/commands/session"
)

// countedScripts call commands with and without errors. TestCountsLikeRedis compares their counts.
var countedScripts = []string{
	"for i = 1, 10 do redis.call('INCR', KEYS[1]) end",
	"redis.call('SET', KEYS[1], 'x') redis.pcall('INCR', KEYS[1])",
	"redis.call('LPUSH', KEYS[1], 1)",
	"redis.call('SET', KEYS[1], 'x') redis.call('LPUSH', KEYS[1], 1)",
	"redis.pcall('GET') redis.pcall('GET', 'a', 'b')",
	"redis.pcall('NOPE') redis.pcall() redis.pcall({})",
	"redis.pcall('SUBSCRIBE', 'c') redis.pcall('MULTI')",
	"redis.call('SELECT', 1) redis.pcall('SELECT', 99) redis.pcall('SELECT')",
	"redis.call('OBJECT', 'ENCODING', KEYS[1]) redis.call('MEMORY', 'USAGE', KEYS[1])",
	"redis.call('DBSIZE') redis.call('INFO', 'server') redis.call('TIME') redis.call('ECHO', 1) redis.call('PING')",
	"local f = redis.call f('DEL', KEYS[1]) f('del', KEYS[1]) f('UNLINK', KEYS[1])",
	"redis.call('PUBLISH', 'c', 'm')",
}

var (
	commandStatLine = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+),usec=[^,]*,usec_per_call=[^,]*,(rejected_calls=\d+,failed_calls=\d+)`)
	// ownStats are the lines of commands that the test sends outside of scripts.
	ownStats = []string{"info", "config|resetstat", "hello", "eval", "eval_ro"}
)

// statsOf returns the lines of INFO commandstats in order, without times.
func statsOf(reply string) (lines []string) {
	for _, m := range commandStatLine.FindAllStringSubmatch(reply, -1) {
		if !slices.Contains(ownStats, m[1]) {
			lines = append(lines, m[1]+" calls="+m[2]+" "+m[3])
		}
	}
	slices.Sort(lines)
	return lines
}

// TestCountsLikeRedis compares INFO commandstats with Redis' after scripts.
func TestCountsLikeRedis(t *testing.T) {
	p := startRedis(t).pair(newTestHandler(""))
	for _, run := range []string{"EVAL", "EVAL_RO"} {
		for _, text := range countedScripts {
			p.ask("FLUSHALL", "FLUSHALL")
			p.ask("CONFIG RESETSTAT", "CONFIG RESETSTAT")
			line := run + ` "` + text + `" 1 k`
			p.ask(line, line)
			ours, redis := p.ask("INFO commandstats", "INFO commandstats")
			if got, want := statsOf(ours[0]),
				statsOf(redis[0]); !slices.Equal(got, want) || len(got) == 0 && !strings.Contains(text, "NOPE") {
				t.Errorf("%s %s\n got %q\nRedis %q", run, text, got, want)
			}
		}
	}
}

// TestEachCommandOfScriptsIsCounted calls each command that scripts know once, and expects it in the
// counts, by the name that clients know.
func TestEachCommandOfScriptsIsCounted(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	found := 0
	for _, c := range h.Registry().All {
		// which the test sends itself
		if _, counted := scripts.Counter(c.Name); !counted || c.Name == "EVAL" || c.Name == "CONFIG" {
			continue
		}
		found++
		ask(s, "CONFIG RESETSTAT")
		evaluate(s, "redis.pcall('"+c.Name+"', 'x', 'x')")
		n := int64(0)
		for _, count := range h.CommandCounts() {
			if name, _, _ := strings.Cut(count.Name, "|"); name == strings.ToLower(c.Name) {
				n += count.Calls + count.Rejected
			}
		}
		if n != 1 {
			t.Errorf("%s is counted %d times", c.Name, n)
		}
	}
	if found < 100 {
		t.Errorf("%d commands of scripts", found)
	}
}

func evaluate(s *session.Session, text string) {
	s.Do([][]byte{[]byte("EVAL"), []byte(text), []byte("0")})
	s.Flush()
	s.Out = nil
}
