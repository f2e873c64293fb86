package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/testwait"
)

// dearLines has a line with more than session.MostWork for each command that can have so much work.
// The values are those of fillDear.
var dearLines = map[string]string{
	"HGETALL": "h", "HKEYS": "h", "HVALS": "h", "HRANDFIELD": "h -60000", "HSCAN": "h 0 COUNT 280000 MATCH *x*",
	"SMEMBERS": "t", "SRANDMEMBER": "t 200000", "SPOP": "t 200000", "SSCAN": "t 0 COUNT 280000 MATCH *x*",
	"SINTER": "t t", "SUNION": "t none", "SDIFF": "t none", "SINTERSTORE": "k t t", "SUNIONSTORE": "k t",
	"SDIFFSTORE": "k t none", "SINTERCARD": "2 t t LIMIT 5",
	"ZRANGE": "z 0 -1", "ZREVRANGE": "z 0 -1", "ZRANGEBYSCORE": "z -inf +inf", "ZREVRANGEBYSCORE": "z +inf -inf",
	"ZRANGEBYLEX": "z - +", "ZREVRANGEBYLEX": "z + -", "ZREMRANGEBYRANK": "z 1 -1", "ZREMRANGEBYSCORE": "z 1 +inf",
	"ZREMRANGEBYLEX": "z (! +", "ZPOPMIN": "z 200000", "ZPOPMAX": "z 200000", "ZRANDMEMBER": "z 200000",
	"ZRANGESTORE": "k z 0 -1", "ZSCAN": "z 0 COUNT 280000",
	"LRANGE": "l 0 -1", "LPOP": "l 1000000", "RPOP": "l 1000000", "LREM": "l 0 y", "LINSERT": "l BEFORE y z",
	"LPOS": "l y", "LTRIM": "l 1 1", "RENAME": "h h2", "RENAMENX": "h h2",
}

// boundedWork are the commands with at most session.MostWork of work, because a string has at most
// engine.MaxValueBytes.
var boundedWork = strings.Fields("LINDEX LSET LMOVE RPOPLPUSH GETRANGE SUBSTR BITCOUNT BITFIELD SETRANGE SETBIT")

// fillDear stores a hash h, a set t, a sorted set z and a list l.
func fillDear(s *session.Session) {
	add := func(n int, words func(i int) string) {
		var line strings.Builder
		for i := range n {
			if line.WriteString(words(i)); (i+1)%1000 == 0 {
				ask(s, line.String())
				line.Reset()
			}
		}
	}
	start := func(i int, line string) string {
		if i%1000 > 0 {
			return ""
		}
		return line
	}
	add(280_000, func(i int) string { return fmt.Sprintf("%s f%d v", start(i, "HSET h"), i) })
	add(280_000, func(i int) string { return fmt.Sprintf("%s %d", start(i, "SADD t"), i) })
	add(280_000, func(i int) string { return fmt.Sprintf("%s 5 %d", start(i, "ZADD z"), i) })
	ask(s, "ZADD z 0 !")
	add(1_060_000, func(i int) string { return start(i, "RPUSH l") + " x" })
}

// TestDearCommands: each command with more than session.MostWork is refused, with the work that it
// asks for, the bound and a way out, and changes nothing.
func TestDearCommands(t *testing.T) {
	testwait.Sequential(t)
	h := newTestHandler("")
	s := h.NewSession(session.Client{Wake: func() {}})
	h.Drain() // no rests between turns
	fillDear(s)
	sizes := func() string { return ask(s, "HLEN h", "SCARD t", "ZCARD z", "LLEN l", "EXISTS k h2") }
	before := sizes()
	for _, c := range datatypes.All() {
		call, _ := c.Body.(*spec.Call)
		line, has := dearLines[c.Name]
		if call == nil || call.Work == nil {
			if has {
				t.Errorf("%s has a line and no work", c.Name)
			}
			continue
		}
		if bounded := slices.Contains(boundedWork, c.Name); has == bounded {
			t.Errorf("%s: in dearLines %v, in boundedWork %v, want one", c.Name, has, bounded)
		}
		if !has {
			continue
		}
		got := ask(s, c.Name+" "+line)
		for _, part := range []string{"-ERR the command would visit elements", fmt.Sprint(session.MostWork), "in parts"} {
			if !strings.Contains(got, part) {
				t.Errorf("%s %s: %.200s, want an error with %q", c.Name, line, got, part)
			}
		}
		if after := sizes(); after != before {
			t.Fatalf("%s %s: answers %.200s, and the sizes are %s instead of %s", c.Name, line, got, after, before)
		}
	}
	for _, line := range []string{"ZREMRANGEBYSCORE z -inf +inf", "DEL h", "LRANGE l 0 1000", "HSCAN h 0 COUNT 1000"} {
		if got := ask(s, line); strings.HasPrefix(got, "-") {
			t.Errorf("%s: %.200s", line, got)
		}
	}
}

// TestDearTurns: commands with much work, many words, or an answer that was long the last time wait
// for a turn, also on a node that another node decides for. Nothing else waits.
func TestDearTurns(t *testing.T) {
	much := "LREM list 0 " + strings.Repeat("x", 60_000)
	for _, tt := range []struct {
		name  string
		lines []string
		waits bool
	}{
		{"much work", []string{much}, true},
		{"much work in MULTI", []string{"MULTI", much, "EXEC"}, true},
		{"little work", []string{"LREM list 0 x"}, false},
		{"many words", []string{"SADD set" + members(5000)}, true},
		{"fewer words", []string{"SADD set" + members(2000)}, false},
		{"fewer words several times", []string{"SADD set" + members(2000), "SADD set" + members(2000)}, false},
		{"fewer words several times in MULTI",
			[]string{"MULTI", "SADD set" + members(3000), "SADD set" + members(3000), "EXEC"}, true},
		{"the first long answer", []string{"GET long"}, false},
		{"the next long answer", []string{"GET long", "*", "GET long"}, true},
		{"after a short answer", []string{"GET long", "*", "GET short", "*", "GET short"}, false},
	} {
		for _, follows := range []bool{false, true} {
			c := newFakeCluster(status.Leader)
			var waiting []func()
			h := newTestHandlerWith(session.Config{Cluster: c, Spawn: func(f func()) { waiting = append(waiting, f) }})
			h.Drain() // no rests between turns
			s := h.NewSession(session.Client{Wake: func() {}})
			ask(s, "RPUSH list"+members(40), "SET short x", "SETRANGE long 600000 x")
			ask(s, "SETRANGE long 1100000 x")
			if follows {
				c.moved = "127.0.0.1:1"
			}
			serve := func() (waited bool) {
				for !s.Flush() || s.Paused() {
					waited = waited || len(waiting) > 0
					for _, f := range waiting {
						f()
					}
					waiting = nil
					s.Resume()
					s.Continue()
				}
				return waited
			}
			for _, line := range tt.lines {
				if line == "*" { // the client reads
					serve()
					s.Out = s.Out[:0]
					continue
				}
				if !s.Do(words(line)) {
					t.Errorf("%s: %.40s is not taken", tt.name, line)
				}
			}
			if waits := serve(); waits != tt.waits {
				t.Errorf("%s (of a follower: %v): waits %v, want %v; %.100q", tt.name, follows, waits, tt.waits, s.Out)
			}
		}
	}
}

// TestLongAnswersOfSlowBatches: they have the same form, and the same place among the replies, as short
// answers.
func TestLongAnswersOfSlowBatches(t *testing.T) {
	const n, value = 9000, 40
	list := fmt.Sprintf("*%d|%s", n, strings.Repeat(fmt.Sprintf("$%d|%s|", value, strings.Repeat("v", value)), n))
	for _, tt := range []struct {
		name, want string
		lines      []string
	}{
		{"alone", list, []string{"LRANGE l 0 -1"}},
		{"in a pipeline", "+OK|" + list + "$1|1|", []string{"SET a 1", "LRANGE l 0 -1", "GET a"}},
		{"in a transaction", "+OK|+QUEUED|+QUEUED|+QUEUED|*3|" + list + "+OK|" + list,
			[]string{"MULTI", "LRANGE l 0 -1", "SET a 1", "LRANGE l 0 -1", "EXEC"}},
		{"of RESP3", "_|" + list + "_|", []string{"GET none", "LRANGE l 0 -1", "GET none"}},
		{"that are not wanted", "$1|1|", []string{"CLIENT REPLY SKIP", "LRANGE l 0 -1", "GET a"}},
	} {
		h := newTestHandler("")
		s := h.NewSession(session.Client{Wake: func() {}})
		h.Drain() // no rests between turns
		for range n / 1000 {
			ask(s, "RPUSH l"+strings.Repeat(" "+strings.Repeat("v", value), 1000))
		}
		ask(s, "SET a 1")
		if strings.Contains(tt.name, "RESP3") {
			ask(s, "HELLO 3")
		}
		_, before := h.Turns()
		got := ""
		settle := func() {
			for !s.Flush() || s.Paused() {
				got, s.Out = got+string(s.Out), s.Out[:0] // the client reads
				s.Resume()
				s.Continue()
			}
			got, s.Out = got+string(s.Out), s.Out[:0]
		}
		for _, line := range tt.lines {
			for !s.Do(words(line)) {
				settle()
			}
		}
		settle()
		if got = strings.ReplaceAll(got, "\r\n", "|"); got != tt.want {
			t.Errorf("%s: %d bytes, %.60q...%q, want %d", tt.name, len(got), got, got[max(0, len(got)-60):], len(tt.want))
		}
		if _, after := h.Turns(); after == before {
			t.Errorf("%s: it has no turn", tt.name)
		}
	}
}

// TestDearForwardedBatches: the node that decides refuses a batch of a node without keys if a command,
// or a transaction, has more than session.MostWork. It executes many smaller commands.
func TestDearForwardedBatches(t *testing.T) {
	c := newFakeCluster(status.Leader)
	s := newTestHandlerWith(session.Config{Cluster: c}).NewSession(session.Client{Wake: func() {}})
	ask(s, "RPUSH list"+members(2000))
	find := &datatypes.All()[slices.IndexFunc(datatypes.All(), func(c spec.Command) bool { return c.Name == "LREM" })]
	half, dear := strings.Repeat("x", 20_000), strings.Repeat("x", 60_000)
	for _, tt := range []struct {
		name   string
		atomic bool
		words  []string
		want   string
	}{
		{"a small command", false, []string{"x"}, "<nil>"},
		{"a pipeline of smaller commands", false, []string{half, half, half, half}, "<nil>"},
		{"a dear command", false, []string{dear}, "the command would visit elements"},
		{"a dear command in a pipeline", false, []string{"x", dear, "x"}, "the command would visit elements"},
		{"a pipeline of too many", false, slices.Repeat([]string{half}, 100), "the command would visit elements"},
		{"a small transaction", true, []string{"x", half}, "<nil>"},
		{"a dear transaction", true, []string{half, half, half}, "Transaction discarded because its commands would visit"},
	} {
		b := engine.Batch{Atomic: tt.atomic}
		for _, word := range tt.words {
			find.SetCall(b.AddCall(0), [][]byte{[]byte("list"), []byte("0"), []byte(word)})
		}
		var got error
		refused := c.review(&b, func(err error) { got = err }) == nil
		if refused != (got != nil) || !strings.Contains(fmt.Sprint(got), tt.want) {
			t.Errorf("%s: refused %v: %v, want %s", tt.name, refused, got, tt.want)
		}
	}
}
